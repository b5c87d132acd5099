"""The engine: a class graded over Parsl, ended by force again and again, has the marks of one that was left in peace.

WARPFOLD_ENDINGS=10 python3 tests/classroom/test_engine.py is the long campaign."""

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
from classroom.grading import engine
from kit.setup import environment

STUDENTS = 6
ENDINGS = int(os.environ.get("WARPFOLD_ENDINGS", "2"))
VICTIMS = ("everything", "a worker", "the driver")


@support.needs_sandbox
@unittest.skipUnless(environment.is_installed("class"), "Parsl is not in the kit's environment: ./kit class grade installs it")
class Engine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.into = support.small_class(Path(folder.name), STUDENTS)

    def results(self) -> int:
        return len(list((self.into / "results").glob("*/*.json")))

    def end_by_force(self, victim: str, chance: random.Random) -> None:
        """Starts a run and ends this of it, at some moment between its first process and its end."""
        command = [sys.executable, str(support.ROOT / "kit"), "class", "grade", "--class", str(self.into)]
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while driver.poll() is None and not support.workers_of(self.into):
            time.sleep(0.1)
        time.sleep(chance.uniform(0, 8))
        workers = [pid for pid in support.workers_of(self.into) if pid != driver.pid]
        chosen = {"everything": [driver.pid, *workers], "a worker": [max(workers, default=driver.pid)], "the driver": [driver.pid]}[victim]
        for pid in chosen:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if victim != "a worker":
            driver.kill()  # be it that it was done just now
        driver.wait(300)

    def test_ended_at_any_moment_it_goes_on_where_it_was(self):
        said = support.kit("grade", "--here", "--class", str(self.into))
        self.assertEqual(said.returncode, 0, said.stderr)
        expected = support.marks_of(self.into)
        self.assertIn('"pass"', expected)
        shutil.rmtree(self.into / "results")
        chance = random.Random(os.environ.get("WARPFOLD_SEED", "1"))
        for number in range(ENDINGS):
            with self.subTest(ending=number, victim=VICTIMS[number % len(VICTIMS)]):
                before = self.results()
                self.end_by_force(VICTIMS[number % len(VICTIMS)], chance)
                self.assertGreaterEqual(self.results(), before)  # what was done is done
                if self.results() == STUDENTS:
                    shutil.rmtree(self.into / "results")  # nothing is left to be disturbed: from the start
        said = support.kit("grade", "--class", str(self.into))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(support.marks_of(self.into), expected)
        self.assertEqual(support.workers_of(self.into), [])
        self.assertEqual([str(path) for path in (self.into / "results").rglob(".new-*")], [])
        self.assertEqual([str(path) for path in engine.scratch(self.into)], [])
        again = support.kit("grade", "--class", str(self.into))
        self.assertIn(f"{STUDENTS} of them graded before", again.stderr)
        self.assertNotIn("kit: graded", again.stderr)


if __name__ == "__main__":
    unittest.main()
