"""What the emulator takes beside the program's own memory: at most 64 MiB, and with checks 2 bytes more per byte."""

import os
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
ELEMENTS = 1 << 24
DATA = 4 * ELEMENTS


def peak(pattern: str, **variables: str) -> int:
    """Bytes that the process had resident at most."""
    process = subprocess.Popen([PROGRAM, pattern, str(ELEMENTS)], env=os.environ | variables, stderr=subprocess.PIPE)
    talk = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise AssertionError(f"{pattern} ended with {process.returncode}: {talk.decode()}")
    return used.ru_maxrss * 1024


class Memory(unittest.TestCase):
    def test_without_checks_it_adds_little(self):
        for pattern in ("rows", "phases", "every_other"):
            with self.subTest(pattern):
                self.assertLess(peak(pattern) - DATA, 64 << 20)

    def test_checks_take_at_most_two_bytes_a_byte(self):
        for pattern, most in {"rows": 0.5, "phases": 1, "every_other": 2, "handed_on": 2}.items():
            with self.subTest(pattern):
                added = peak(pattern, WARPFOLD_CHECKS="all") - peak(pattern)
                print(f"{pattern}: {added / DATA:.2f} bytes per byte")
                self.assertLess(added / DATA, most)


unittest.main()
