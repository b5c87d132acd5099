"""A clock that goes backwards, or a copy with other dates, neither stops a run nor moves a deadline."""

import os
import shutil
import subprocess
import tempfile
import time
import unittest
from datetime import datetime, timezone
from pathlib import Path
from unittest import mock

import support  # noqa: F401 (makes the kit importable)
from classroom.course import config
from collecting import ANN, STUB, TREE, Case
from kit.programs import ninja
from kit.setup import environment

NINJA = next((each for each in (environment.VENV / "bin" / "ninja", shutil.which("ninja")) if each and Path(each).exists()), None)
MESON = next((each for each in (environment.VENV / "bin" / "meson", shutil.which("meson")) if each and Path(each).exists()), None)


class Deadlines(Case):
    DUE = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)

    def collected(self, text: str, when: float) -> int:
        """Days late, after a collection from a folder whose file has this time."""
        file = self.folder / "in" / "ann" / "tree.cu"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (when, when))
        self.take(self.folder / "in", ANN)
        return config.Course(due={"02_tree": self.DUE}).days_late("ann", "02_tree", self.about("ann")["time"])

    def test_the_same_text_with_a_later_date_is_not_late(self):
        due = self.DUE.timestamp()
        self.assertEqual(self.collected(TREE, due - 60), 0)
        self.assertEqual(self.collected(TREE, due + 3 * 86400), 0)
        self.assertEqual(self.about("ann")["time"], due - 60)

    def test_another_text_is(self):
        due = self.DUE.timestamp()
        self.collected(STUB, due - 60)
        self.assertEqual(self.collected(TREE, due + 60), 1)
        self.assertEqual(self.collected(TREE, due - 3600), 0)

    def test_nothing_that_collects_or_marks_asks_what_time_it_is(self):
        source = self.zip({"ann/tree.cu": TREE})
        for asked in ("time", "time_ns"):
            with mock.patch.object(time, asked, side_effect=AssertionError("the clock was asked")):
                self.gather(source, ANN)
                self.marks(ANN)


@unittest.skipUnless(NINJA, "there is no Ninja: ./kit setup installs it")
class Builds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.later = time.time() + 7200

    def built(self, folder: Path, target: str) -> None:
        ninja.run([str(NINJA), "-C", str(folder), target], dict(os.environ), lambda done, of: None)

    def test_a_build_file_that_is_older_than_what_it_is_made_from_for_ever(self):
        (self.folder / "in put.txt").touch()
        os.utime(self.folder / "in put.txt", (self.later, self.later))
        (self.folder / "build.ninja").write_text(
            "rule again\n  command = touch build.ninja\n  generator = 1\nrule copy\n  command = touch $out\n"
            "build build.ninja: again in$ put.txt\nbuild made: copy\n"
        )
        self.built(self.folder, "made")
        self.assertTrue((self.folder / "made").exists())
        self.assertLessEqual((self.folder / "in put.txt").stat().st_mtime, time.time())

    @unittest.skipUnless(MESON, "there is no Meson: ./kit setup installs it")
    def test_meson_refuses_files_from_the_future_and_is_asked_again(self):
        (self.folder / "meson.build").write_text("project('p')\ncustom_target('made', output: 'made', command: ['touch', '@OUTPUT@'])\n")
        subprocess.run([str(MESON), "setup", "build"], cwd=self.folder, check=True, capture_output=True)
        os.utime(self.folder / "meson.build", (self.later, self.later))
        self.built(self.folder / "build", "made")
        self.assertTrue((self.folder / "build" / "made").exists())

    def test_a_build_that_fails_for_another_reason_fails_at_once(self):
        (self.folder / "build.ninja").write_text("rule fail\n  command = echo x >> tries; false\nbuild made: fail\n")
        with self.assertRaises(ninja.BuildFailed):
            self.built(self.folder, "made")
        self.assertEqual((self.folder / "tries").read_text(), "x\n")


if __name__ == "__main__":
    unittest.main()
