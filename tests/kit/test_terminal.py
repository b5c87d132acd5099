"""`./kit emulate` at a terminal: a line below the program's output says how far the emulator is, and leaves nothing behind."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support

# Runs a program under the kit's terminal; shows the line at once instead of after three seconds.
KIT = """
import os, sys
from pathlib import Path
from kit.emulate import terminal
terminal.AFTER = 0.0
sys.exit(terminal.run([sys.executable, "-u", "-c", sys.argv[1]], dict(os.environ), Path(sys.argv[2])))
"""
TELL = """
import json, sys, time, os, signal
from pathlib import Path
def progress(**known):
    Path(PROGRESS).write_text(json.dumps({"launches": 0, "blocks_done": 0, "blocks": 0} | known))
"""


def on_screen(written: str) -> str:
    """What a terminal shows in the end: a carriage return goes back to the beginning of the line."""
    lines = []
    for line in written.replace("\r\n", "\n").split("\n"):
        shown: list[str] = []
        for piece in line.split("\r"):
            shown[: len(piece)] = piece
        lines.append("".join(shown).rstrip())
    return "\n".join(lines)


class Terminal(unittest.TestCase):
    def run_at_terminal(self, program: str, stdout=None) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder:
            progress = Path(folder) / "progress.json"
            words = [sys.executable, "-c", KIT, TELL.replace("PROGRESS", repr(str(progress))) + program, str(progress)]
            own, other = pty.openpty()
            environment = os.environ | {"PYTHONPATH": str(support.ROOT / "common")}
            with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=stdout or other, stderr=other, env=environment) as process:
                os.close(other)
                written = b""
                with contextlib.suppress(OSError):  # the other end is closed
                    while part := os.read(own, 4096):
                        written += part
            os.close(own)
            return process.returncode, written.decode()

    def test_the_line_shows_how_far_it_is_and_is_cleared_before_output(self):
        code, written = self.run_at_terminal("""
progress(launches=1234, blocks_done=40, blocks=100)
time.sleep(1)
print("one")
progress(launches=1234)
time.sleep(1)
print("two", file=sys.stderr)
sys.exit(3)
""")
        self.assertEqual(code, 3)
        self.assertRegex(written, r"kit: \d s, 1,234 launches, 40% of the blocks of what runs now")
        self.assertRegex(written, r"kit: \d s, 1,234 launches, no kernel runs now")
        self.assertEqual(on_screen(written), "one\ntwo\n")

    def test_no_line_where_the_program_has_begun_one(self):
        _, written = self.run_at_terminal('print("how many? ", end=""); time.sleep(1); print("none"); time.sleep(0.5)')
        self.assertEqual(on_screen(written), "how many? none\n")
        self.assertRegex(written, r"how many\? none\r\n")

    def test_the_program_finds_a_terminal_of_the_same_size(self):
        ask = "print(sys.stdout.isatty(), sys.stderr.isatty(), os.get_terminal_size(2) == os.get_terminal_size(1))"
        _, written = self.run_at_terminal(ask)
        self.assertIn("True True True", written)

    def test_output_to_a_file_stays_there(self):
        with tempfile.TemporaryFile() as file:
            _, written = self.run_at_terminal('time.sleep(0.5); print("result"); time.sleep(0.5)', file)
            file.seek(0)
            self.assertEqual(file.read(), b"result\n")
        self.assertRegex(written, "no CUDA call yet")
        self.assertEqual(on_screen(written), "")

    def test_all_output_of_a_program_that_writes_much_and_ends(self):
        _, written = self.run_at_terminal("for i in range(20000): print(i)")
        self.assertEqual(re.findall(r"\d+", on_screen(written)), [str(i) for i in range(20000)])

    def test_a_signal_that_ends_the_program_is_its_result(self):
        code, _ = self.run_at_terminal("os.kill(os.getpid(), signal.SIGABRT)")
        self.assertEqual(code, (-signal.SIGABRT) % 256)


if __name__ == "__main__":
    unittest.main()
