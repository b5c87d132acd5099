"""The guide's page from release to marks: its commands typed as they stand, with a made-up class.

WARPFOLD_STUDENTS=30 WARPFOLD_KEEP=FOLDER python3 tests/classroom/test_guide.py does it with a whole class, and leaves all that came of it in
a folder for somebody to look at."""

import csv
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import made_up
import support
from kit.setup import environment

STUDENTS = int(os.environ.get("WARPFOLD_STUDENTS", "8"))
ATTACKERS = min(len(made_up.ATTACKS), STUDENTS // 3)
GUIDE = support.ROOT / "docs" / "instructor" / "class.md"


def commands() -> list[str]:
    """All that the page has typed, but for what is done once for a machine."""
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text(), re.M | re.S) for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(("sudo ", "./kit setup"))]


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@support.needs_sandbox
@unittest.skipUnless(environment.is_installed("class"), "Parsl is not in the kit's environment: ./kit class grade installs it")
class Guide(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if keep := os.environ.get("WARPFOLD_KEEP"):
            cls.folder = Path(keep)
        else:
            temporary = tempfile.TemporaryDirectory()
            cls.addClassCleanup(temporary.cleanup)
            cls.folder = Path(temporary.name)
        cls.students = made_up.write(cls.folder, STUDENTS, ATTACKERS)
        (cls.folder / "kit").unlink(missing_ok=True)
        (cls.folder / "kit").symlink_to(support.ROOT / "kit")
        cls.said = {}
        for command in commands():
            cls.said[command] = subprocess.run(["bash", "-c", command], cwd=cls.folder, text=True, capture_output=True)
        if os.environ.get("WARPFOLD_KEEP"):
            talk = "\n".join(f"$ {command}\n{said.stdout}{said.stderr}" for command, said in cls.said.items())
            (cls.folder / "said.txt").write_text(talk)

    def marks(self) -> dict[str, dict[str, str]]:
        heading, *lines = rows(self.folder / "canvas-import.csv")
        return {line[2]: dict(zip(heading, line, strict=True)) for line in lines}

    def test_every_command_does_what_it_says(self):
        self.assertGreaterEqual(len(self.said), 6)
        for command, said in self.said.items():
            with self.subTest(command=command):
                # What is "not graded" makes an instructor look: one of a large class damaged its markers.
                self.assertIn(
                    said.returncode, (0, 1) if command == "./kit class grade" and STUDENTS > 16 else (0,), said.stdout + said.stderr
                )

    def test_what_was_refused_and_who_is_unknown_is_listed(self):
        collected = (self.folder / "class" / "collected.json").read_text()
        self.assertIn("../../etc/cron.d", collected)
        self.assertIn("9999", collected)
        self.assertFalse((self.folder / "etc").exists())

    def test_the_export_is_filled_in_and_otherwise_as_it_was(self):
        before, after = rows(self.folder / "canvas-export.csv"), rows(self.folder / "canvas-import.csv")
        self.assertEqual(before[:2], after[:2])
        self.assertEqual([line[:5] for line in before], [line[:5] for line in after])
        first = self.marks()[self.students[0].id]  # who solved all of it
        self.assertEqual(first["01_naive_atomic (7000)"], "1")
        self.assertEqual(first["02_tree (7001)"], "8")
        worksheet = rows(self.folder / "moodle-import.csv")
        self.assertEqual(worksheet[0], rows(self.folder / "moodle-worksheet.csv")[0])
        self.assertEqual(worksheet[1][4], "8")

    def test_no_attack_has_a_point(self):
        marks = self.marks()
        for student in self.students[-ATTACKERS:]:
            self.assertEqual(marks[student.id]["01_naive_atomic (7000)"], "0", student)

    def test_everybody_has_a_page_that_loads_nothing(self):
        pages = [
            self.folder / "class" / "overview.html",
            *(self.folder / "class" / "feedback" / f"{each.id}.html" for each in self.students),
        ]
        for page in pages:
            text = page.read_text()
            with self.subTest(page=page.name):
                loads = re.findall(r"<(?:script|img|link|iframe|object)\b[^>]*>|url\([^)]*\)|@import[^;]*", text)
                self.assertEqual(loads, [])
                self.assertTrue(text.endswith("</html>\n"))


if __name__ == "__main__":
    unittest.main()
