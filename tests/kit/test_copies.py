"""A student's copies of the handouts: git does not see them, nothing written in them is lost, and the course's changes arrive."""

import contextlib
import io
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support
from kit import handouts
from kit.handouts import copies

TEXT = "# One\n\nFirst.\n\na\n\nb\n\nc\n\nLast.\n"


class Copies(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.handouts = self.root / "docs" / "handouts"
        self.handouts.mkdir(parents=True)
        for name in ("00_start", "01_one"):
            (self.handouts / f"{name}.md").write_text(TEXT)
        (self.handouts / "jupytext.toml").write_text("x = 1\n")
        self.work = self.root / "docs" / "work"
        for module, name, value in [
            (handouts, "FOLDER", self.handouts),
            (copies, "FOLDER", self.work),
            (copies, "BASES", self.root / ".kit" / "handouts"),
        ]:
            patched = mock.patch.object(module, name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def open(self) -> tuple[Path, str]:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            return copies.of(self.handouts / "01_one.md"), said.getvalue()

    def test_all_are_copied_with_what_jupytext_is_told(self):
        own, _ = self.open()
        self.assertEqual(own, self.work / "01_one.md")
        self.assertEqual(sorted(path.name for path in self.work.iterdir()), ["00_start.md", "01_one.md", "jupytext.toml"])
        self.assertEqual(own.read_text(), TEXT)

    def test_what_is_written_stays(self):
        own, _ = self.open()
        own.write_text(TEXT.replace("a\n", "mine\n"))
        self.assertIn("mine", self.open()[0].read_text())

    def test_the_courses_changes_arrive_beside_the_students(self):
        own, _ = self.open()
        own.write_text(TEXT.replace("First.", "First, mine."))
        (self.handouts / "01_one.md").write_text(TEXT.replace("Last.", "Last, new."))
        own, said = self.open()
        self.assertEqual(own.read_text(), TEXT.replace("First.", "First, mine.").replace("Last.", "Last, new."))
        self.assertIn("now has the course's changes", said)

    def test_where_both_changed_the_students_stays_and_it_is_said_once(self):
        own, _ = self.open()
        own.write_text(TEXT.replace("First.", "First, mine."))
        (self.handouts / "01_one.md").write_text(TEXT.replace("First.", "First, new."))
        own, said = self.open()
        self.assertEqual(own.read_text(), TEXT.replace("First.", "First, mine."))
        self.assertIn("your text stays as it is", said)
        self.assertEqual(self.open()[1], "")

    def test_without_a_memory_nothing_is_overwritten(self):
        own, _ = self.open()
        own.write_text("mine\n")
        shutil.rmtree(self.root / ".kit")
        self.assertEqual(self.open()[0].read_text(), "mine\n")

    def test_git_does_not_see_them(self):
        result = subprocess.run(["git", "-C", support.ROOT, "check-ignore", "docs/work/01_one.md"], text=True, capture_output=True)
        if result.returncode == 128:
            self.skipTest("this is no clone")
        self.assertEqual(result.stdout.strip(), "docs/work/01_one.md")

    def test_they_lie_as_deep_as_the_handouts_so_that_links_hold(self):
        self.assertEqual(copies.FOLDER.parent, handouts.FOLDER.parent)


if __name__ == "__main__":
    unittest.main()
