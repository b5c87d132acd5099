"""The engine: a class graded over Parsl, ended by force again and again, has the marks of one that was left in peace."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import support
from kit.classroom import engine
from kit.setup import environment

STUDENTS = 6
ENDINGS = int(os.environ.get("WARPFOLD_ENDINGS", "3"))


def kit(*words: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(support.ROOT / "kit"), *words], text=True, capture_output=True, timeout=500, **options)


@support.needs_sandbox
@unittest.skipUnless(environment.is_installed("class"), "Parsl is not in the kit's environment: ./kit grade installs it")
class Engine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.into = Path(folder.name) / "class"
        for number in range(STUDENTS):
            source = support.ROOT / ("solutions" if number % 2 else "labs") / "01_naive_atomic" / "naive_atomic.cu"
            target = Path(folder.name) / "in" / f"s{number}" / "naive_atomic.cu"
            target.parent.mkdir(parents=True)
            text = source.read_text().replace("// END", f"// {number}\n  // END", 1)  # each a text of its own
            target.write_text(text.replace("if (i < n)", "if (i <= n)") if number == 3 else text)
        self.assertEqual(kit("collect", str(Path(folder.name) / "in"), "--class", str(self.into)).returncode, 0)
        (self.into / "course.toml").write_text('labs = ["01_naive_atomic"]\n[hidden]\nseed = 5\nsizes = ["777"]\n[engine]\nworkers = 2\n')

    def grades(self) -> str:
        return kit("grades", "--to", "json", "--class", str(self.into)).stdout

    def test_ended_at_any_moment_it_goes_on_where_it_was(self):
        said = kit("grade", "--here", "--class", str(self.into))
        self.assertEqual(said.returncode, 0, said.stderr)
        expected = self.grades()
        self.assertIn('"pass"', expected)
        shutil.rmtree(self.into / "results")
        chance = random.Random(1)
        for _ in range(ENDINGS):
            process = subprocess.Popen(
                [sys.executable, str(support.ROOT / "kit"), "grade", "--class", str(self.into)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(chance.uniform(1, 12))
            victims = [
                process.pid,
                *(pid for pid in engine.processes() if f"{engine.MARK}={self.into.resolve()}".encode() in engine.environment_of(pid)),
            ]
            for pid in chance.choice([victims[:1], victims[1:2] or victims, victims]):  # the driver, a worker, everything
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        said = kit("grade", "--class", str(self.into))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(self.grades(), expected)
        self.assertEqual(
            [pid for pid in engine.processes() if f"{engine.MARK}={self.into.resolve()}".encode() in engine.environment_of(pid)], []
        )
        began = time.monotonic()
        self.assertIn(f"{STUDENTS} of them graded before", kit("grade", "--class", str(self.into)).stderr)
        self.assertLess(time.monotonic() - began, 60)


if __name__ == "__main__":
    unittest.main()
