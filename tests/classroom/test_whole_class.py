"""Half a class on a Saturday: a release, two downloads with all that goes wrong in one, marks and pages, and nothing lost on the way.

WARPFOLD_KEEP=FOLDER python3 tests/classroom/test_whole_class.py leaves everything in a folder for somebody to look at."""

import csv
import os
import tempfile
import unittest
import zipfile
from pathlib import Path

import made_up
import support
from classroom.course import roster
from collecting import packed

# By id: Canvas's number, and the name as Canvas sorts it.
STUDENTS = {
    "ann": (101, "Lee, Ann"), "jose": (102, "García Márquez, José"), "joseb": (103, "Garcia Marquez, Jose"), "pat": (104, "O'Brien, Pat"),
    "obrien": (105, "Obrien, Pat"), "ak1": (106, "Kim, Alex"), "ak2": (107, "Kim, Alex"), "王小明": (108, "王, 小明"), "alexis": (109, "Παπαδόπουλος, Αλέξης"),
    "eve": (110, "Adams, Eve"), "rar": (111, "Archer, Rae"), "lazy": (112, "Zed, Lazy"),
}  # fmt: skip
SOLVED, STUB = made_up.solved("01_naive_atomic"), made_up.text_of("labs", "01_naive_atomic")
TREE = made_up.solved("02_tree", lambda rung: rung == "interleaved")
WRONG = SOLVED.replace("if (i < n) atomicAdd", "if (i <= n) atomicAdd")
ATTACK = '{"cells": [{"cell_type": "code", "source": ["%%lab naive_atomic\\n", "\\ud800"]}]}'
ESCAPES = SOLVED.replace("  // BEGIN naive_atomic\n", "  // BEGIN naive_atomic\n  // \033[2J\033]0;owned\007\u202e</pre><script>\n")


def canvas() -> dict[str, str | bytes]:
    """The first lab's download."""

    def name(student: str, file: str, late: bool = False) -> str:
        number, sorted_name = STUDENTS[student]
        letters = "".join(each for each in sorted_name.casefold() if each.isalnum())
        return f"{letters}{'_LATE' if late else ''}_{number}_{7000 + number}_{file}"

    return {
        name("ann", "naive_atomic.cu"): SOLVED,
        name("jose", "naive_atomic.cu.txt"): SOLVED,  # the same text
        name("joseb", "naive_atomic-1.cu", late=True): SOLVED,
        name("pat", "naive_atomic.cu"): WRONG,
        name("obrien", "naive_atomic.cu"): STUB,
        name("ak1", "work.zip"): packed({"labs/naive_atomic.cu": SOLVED}),
        name("ak2", "naive_atomic.cu"): ESCAPES,
        name("王小明", "01_naive_atomic.md"): made_up.as_handout("01_naive_atomic", SOLVED, False),
        name("alexis", "bomb.zip"): packed({f"f{number}.cu": "x" for number in range(30_000)} | {"naive_atomic.cu": SOLVED}),
        name("eve", "leeann_101_9999_naive_atomic-99.cu"): STUB,
        name("eve", "01_naive_atomic.ipynb"): ATTACK,
        name("rar", "essay.pdf"): "%PDF",
        name("rar", "work.rar"): "Rar!",
    }  # fmt: skip


def gradescope() -> dict[str, str]:
    """The second lab's: a group of three, and somebody who would be another."""
    top, lines = "assignment_7_export", ["---"]
    for number, people in ((1, ("ann", "王小明", "lazy")), (2, ("eve",))):
        lines += [f"submission_{number}:", "  :submitters:"]
        for each in people:
            lines += [f"  - :name: {STUDENTS[each][1]}", f"    :sid: '{each}'", f"    :email: {number}@x.org"]
        lines += ["  :created_at: 2026-11-20 10:00:00.000000000 Z"]
    return {
        f"{top}/submission_metadata.yml": "\n".join(lines) + "\n",
        f"{top}/submission_1/tree.cu": TREE,
        f"{top}/submission_2/submission_1/tree-99.cu": made_up.text_of("labs", "02_tree"),
        f"{top}/submission_2/submission_metadata.yml": "submission_1:\n  :submitters:\n  - :sid: eve\n",
    }


def write(folder: Path) -> None:
    for name, entries in (("canvas.zip", canvas()), ("gradescope.zip", gradescope())):
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as file:
            for entry, data in entries.items():
                file.writestr(entry, data)
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab 01 (1)", "Lab 02 (2)", "Final Score"]]
    rows += [["", "", "", "", "", "Manual Posting", "", ""], ["    Points Possible", "", "", "", "", "1", "10", "(read only)"]]
    rows += [[name, str(number), student, student, "Saturday", "", "", "10"] for student, (number, name) in STUDENTS.items()]
    rows += [["Student, Test", "999", "", "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", "Saturday", "", "", ""]]
    made_up.table(folder / "export.csv", rows)


@support.needs_sandbox
class WholeClass(unittest.TestCase):
    COMMANDS = (
        "release edition.tar.gz --labs 01,02,05",
        "collect canvas.zip --roster export.csv",
        "collect gradescope.zip",
        "grade --here",
        "grades --to canvas --export export.csv --out import.csv",
        "feedback",
    )

    @classmethod
    def setUpClass(cls):
        if keep := os.environ.get("WARPFOLD_KEEP"):
            cls.folder = Path(keep)
        else:
            temporary = tempfile.TemporaryDirectory()
            cls.addClassCleanup(temporary.cleanup)
            cls.folder = Path(temporary.name)
        write(cls.folder)
        cls.said = {words: support.kit(*words.split(), cwd=cls.folder) for words in cls.COMMANDS}
        (cls.folder / "said.txt").write_text("\n".join(f"$ ./kit {words}\n{said.stdout}{said.stderr}" for words, said in cls.said.items()))
        cls.into = cls.folder / "class"

    def out(self, command: str) -> str:
        said = next(said for words, said in self.said.items() if words.startswith(command))
        return said.stdout + said.stderr

    def points(self) -> dict[str, tuple[str, str]]:
        with (self.folder / "import.csv").open(newline="", encoding="utf-8") as file:
            return {row[2]: (row[5], row[6]) for row in list(csv.reader(file))[3:-1]}

    def test_every_command_goes_to_its_end(self):
        for words, said in self.said.items():
            self.assertEqual(said.returncode, 0, f"{words}\n{said.stdout}{said.stderr}")
            self.assertNotIn("Traceback", said.stderr)

    def test_everybody_has_the_points_of_what_they_handed_in(self):
        self.assertEqual(
            self.points(),
            {
                "ann": ("1", "1"), "jose": ("1", ""), "joseb": ("1", ""), "pat": ("0", ""), "obrien": ("0", ""), "ak1": ("1", ""), "ak2": ("1", ""),
                "王小明": ("1", "1"), "alexis": ("", ""), "eve": ("0", ""), "rar": ("", ""), "lazy": ("", "1"),
            },
        )  # fmt: skip

    def test_nobody_is_a_stranger_and_nothing_is_mislaid(self):
        self.assertNotIn("not in the roster", self.out("collect"))
        self.assertEqual(sorted(path.name for path in (self.into / "submissions").iterdir()), sorted(set(STUDENTS) - {"alexis", "rar"}))
        self.assertNotIn("not filled in", self.out("grades"))
        self.assertNotIn("has no row", self.out("grades"))

    def test_the_class_counts_what_was_released(self):
        self.assertIn("05_grid_stride", self.out("grade --here"))
        self.assertNotIn("03_warp_unroll", self.out("grade --here"))
        self.assertIn("handed in by nobody: 05_grid_stride", self.out("grade --here"))

    def test_what_is_to_look_at_is_said_once(self):
        lines = [line for line in self.out("grade --here").splitlines() if line.startswith("to look at")]
        told = ["leeann_101_9999", "submission_1/tree-99.cu", "submission_metadata.yml", "work.rar", "essay.pdf"]
        self.assertEqual([sum(each in line for line in lines) for each in told], [1] * len(told), lines)
        self.assertLess(*(next(at for at, line in enumerate(lines) if each in line) for each in ("work.rar", "essay.pdf")))
        self.assertIn("identical ones share a result", self.out("grade --here"))
        self.assertIn("naive_atomic.cu.txt was taken as naive_atomic.cu", self.out("collect canvas"))

    def test_everybody_has_a_page_without_a_character_that_acts(self):
        for page in [self.into / "overview.html", *(self.into / "feedback" / f"{roster.safe_id(student)}.html" for student in STUDENTS)]:
            text = page.read_text("utf-8")
            self.assertTrue(text.replace("\n", "").replace("\t", "").isprintable(), page)
            self.assertNotIn("<script", text)
        self.assertIn("400 files per student", (self.into / "feedback" / "alexis.html").read_text("utf-8"))
        overview = (self.into / "overview.html").read_text("utf-8")
        self.assertIn("feedback/%E7%8E%8B%E5%B0%8F%E6%98%8E.html", overview)
        self.assertIn("<summary>05_grid_stride</summary>", overview)
        for namesake in (">Alex Kim (ak1)<", ">Alex Kim (ak2)<", ">Ann Lee<"):
            self.assertIn(namesake, overview)


if __name__ == "__main__":
    unittest.main()
