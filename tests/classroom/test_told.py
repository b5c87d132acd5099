"""What an instructor is told, in the terminal and on the pages: each thing once, the important first, and nothing that is not so."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support
from classroom.collecting import collected
from classroom.commands import grade
from classroom.course import config
from classroom.course.roster import Student
from classroom.feedback import pages
from classroom.grading import index, results
from classroom.marking import marks
from classroom.submission import archive
from collecting import ANN, BO, STUBS, TREE, Case
from kit.errors import KitError

EVE = Student("eve", "Eve Adams")
ESCAPES = "\033[2J\033]0;owned\007\u202e\ud800\x9b31m"


class Renamed(Case):
    def test_what_a_browser_or_a_mail_program_renamed_is_taken_with_a_remark(self):
        notebook = '{"cells": [{"cell_type": "code", "source": ["%%lab in_place_interleaved\\n", "int x;"]}]}'
        for name, text, taken in (
            ("tree.cu.txt", TREE, "tree.cu"),
            ("Tree (1).cu.TXT", TREE, "Tree (1).cu"),
            ("02_tree.ipynb.txt", notebook, "02_tree.ipynb"),
            ("02_tree.ipynb.json", notebook, "02_tree.ipynb"),
            ("02_tree.md.txt", "```{code-cell}\n%%lab in_place_interleaved\nint x;\n```\n", "02_tree.md"),
        ):
            with self.subTest(name):
                self.setUp()
                now = self.gather(self.zip({f"leeann_101_9_{name}": text}), ANN)
                self.assertIn("int x;" if text is not TREE else TREE, self.taken("ann"))
                said = f"{name} was taken as {taken}"
                self.assertEqual(
                    (now["remarks"], self.about("ann")["flags"], now["refused"], now["ignored"]), ([f"ann 02_tree: {said}"], [said], [], [])
                )

    def test_the_file_itself_goes_before_its_copy_with_another_ending(self):
        self.gather(self.zip({"ann/tree.cu": TREE, "ann/notes.txt": "none", "ann/a.cu.txt": "no lab"}), ANN)
        self.assertEqual((self.taken("ann"), self.about("ann")["flags"]), (TREE, []))


class ToLookAt(Case):
    FILES = {"essay.pdf": "%PDF", "notes.docx": "PK", "work.rar": "Rar!", "figure.png": "x"}

    def collected(self) -> list[marks.Mark]:
        self.gather(
            self.zip({f"eve/{name}": data for name, data in self.FILES.items()} | {"ann/tree.cu": TREE, "ann/report.pdf": "%PDF"}),
            ANN,
            BO,
            EVE,
        )
        rungs = {stub.name: ("one",) for stub in STUBS} | {f"{number:02}_more": ("one",) for number in range(3, 10)}
        return marks.all_marks(
            self.into, config.Course(), [ANN, BO, EVE], rungs, {("ann", "02_tree"): index.Found(self.into, "02_tree", "k")}
        )

    def summary(self, made: list[marks.Mark]) -> list[str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            grade.summary(made, collected.refused(self.into))
        return out.getvalue().splitlines()

    def test_one_line_for_each_file_with_archives_first(self):
        lines = [line for line in self.summary(self.collected()) if line.startswith("to look at")]
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[0], r"^to look at: eve: eve/work.rar: files of the type .rar are not read")

    def test_the_reason_on_every_page_is_the_archive(self):
        made = {(mark.student.id, mark.lab): mark for mark in self.collected()}
        self.assertIn("work.rar", made["eve", "02_tree"].why)

    def test_a_students_own_page_says_it_once(self):
        text = pages.feedback(config.Course(), [mark for mark in self.collected() if mark.student.id == "eve"], {})
        self.assertEqual((text.count("work.rar"), text.count("nothing that could be read")), (1, 9))

    def test_on_the_page_too(self):
        made = self.collected()
        text = pages.overview(config.Course(), made, {}, files=collected.refused(self.into))
        listed = text[text.index("Refused, to look at") :]
        self.assertEqual([listed.count(name) for name in self.FILES], [1] * 4)
        self.assertLess(listed.index("work.rar"), listed.index("essay.pdf"))
        self.assertNotIn("report.pdf", listed)

    def test_of_a_lab_that_has_come_since_nothing_is_to_look_at(self):
        made = self.collected()
        self.assertEqual({each.student for each in marks.to_look_at(made, collected.refused(self.into))}, {"eve"})
        self.assertEqual(marks.to_look_at([mark for mark in made if mark.student.id != "eve"], collected.refused(self.into)), [])

    def test_what_claims_to_be_anothers_is_told(self):
        self.gather(self.zip({"ann/tree.cu": TREE, "eve/leeann_101_1_tree.cu": TREE}), ANN, EVE)
        lines = self.summary([marks.Mark(EVE, "02_tree", 1, 1.0, "graded")])
        self.assertTrue(
            any(line.startswith("to look at: eve: eve/leeann_101_1_tree.cu: its name is that of another") for line in lines), lines
        )


class Folded(Case):
    def made(self) -> list[marks.Mark]:
        labs = ["01_naive_atomic", *(f"{number:02}_more" for number in range(3, 10))]
        done = [marks.Mark(each, labs[0], 1, 1.0, "graded", rungs=[marks.RungMark("r", "pass", "", 1, 1)]) for each in (ANN, BO)]
        return [*done, *(marks.Mark(each, lab, 1, 0.0, "missing", handed_in=False) for each in (ANN, BO) for lab in labs[1:])]

    def test_labs_that_nobody_handed_in_fold_away(self):
        text = pages.overview(config.Course(), self.made(), {})
        self.assertIn("<h2>01_naive_atomic</h2>", text)
        self.assertIn("<summary>03_more, 04_more, 05_more, 06_more, 07_more, 08_more, 09_more</summary>", text)
        self.assertNotIn("<h2>03_more</h2>", text)

    def test_in_the_terminal_too(self):
        lines = ToLookAt.summary(self, self.made())
        self.assertEqual(
            [line for line in lines if "_more" in line],
            ["handed in by nobody: 03_more, 04_more, 05_more, 06_more, 07_more, 08_more, 09_more"],
        )

    def test_a_lab_that_one_person_handed_in_does_not(self):
        made = self.made()
        made[-1].state, made[-1].handed_in = "not graded", True
        self.assertIn("<h2>09_more</h2>", pages.overview(config.Course(), made, {}))


class Texts(unittest.TestCase):
    def test_identical_texts_are_said_to_share_a_result(self):
        piece = lambda key, result: mock.Mock(key=key, result=result)  # noqa: E731
        of = {(f"s{number}", "01"): piece(f"k{number // 2}", None) for number in range(8)}
        self.assertEqual(
            grade.how_many(of, 8),
            "8 submissions from 8 students (4 different texts: identical ones share a result), 0 of them graded before",
        )
        self.assertEqual(
            grade.how_many({("a", "01"): piece("k", {}), ("b", "01"): piece("l", None)}, 2),
            "2 submissions from 2 students, 1 of them graded before",
        )


class Group(unittest.TestCase):
    def test_the_text_of_a_group_is_not_alike_to_itself(self):
        with tempfile.TemporaryDirectory() as name:
            into = Path(name)
            for student in ("ann", "bo", "eve"):
                place = into / "submissions" / student / "02_tree"
                place.mkdir(parents=True)
                (place / "tree.cu").write_text(TREE)
                results.write(place / "about.json", {"time": 1.0} | ({"group": ["ann", "bo"]} if student != "eve" else {}))
            results.write(into / "index.json", {"labs": {"02_tree": ["interleaved"]}, "keys": {}})
            (into / "roster.csv").write_text("id,name\nann,Ann\nbo,Bo\neve,Eve\n")
            self.assertEqual(support.kit("feedback", "--class", name).returncode, 0)
            alike = (into / "overview.html").read_text().partition("Looks alike")[2]
            self.assertIn("ann and bo, eve</td>", alike)


class Escapes(unittest.TestCase):
    """Characters that act on a terminal reach neither a page nor a line in the terminal, wherever they come from."""

    def test_every_text_of_every_page(self):
        student = Student("eve", f"Eve{ESCAPES}")
        detail = {
            "diagnosis": {"kind": ESCAPES, "text": ESCAPES},
            "hazards": [
                {"kind": ESCAPES, "message": ESCAPES, "file": "tree.cu", "line": 2, "why": ESCAPES, "advice": ESCAPES, "read": ESCAPES}
            ],
            "busiest": {"n": 1, "lines": {"2": {"barriers": 1}}},
            "gpu": {"device": ESCAPES, "time": {"median_us": 1.0, "n": 1}},
        }
        made = marks.Mark(
            student,
            "02_tree",
            1,
            0.0,
            "graded",
            ESCAPES,
            [marks.RungMark("r", "wrong", ESCAPES, 0, 1, detail=detail)],
            comments=[ESCAPES],
            flags=[ESCAPES],
        )
        other = marks.Mark(student, "03_x", 1, None, "not graded", ESCAPES)
        source = f"one\n\t{ESCAPES}\nthree"
        files = [collected.RefusedFile(ESCAPES, ESCAPES, "eve", "", "claim")]
        course = config.Course(title=ESCAPES)
        for text in (
            pages.feedback(course, [made, other], {"02_tree": source}),
            pages.overview(course, [made, other], {(ESCAPES, "02_tree"): TREE, ("b", "02_tree"): TREE}, files=files),
        ):
            self.assertTrue(text.replace("\n", "").replace("\t", "").isprintable())
            self.assertIn("?[2J", text)
            self.assertIn("\t" if "three" in text else "\n", text)  # what a source is indented with stays

    def test_shown_is_one_line(self):
        self.assertTrue(archive.shown(f"a\n{ESCAPES}" * 100).isprintable())


class Released(unittest.TestCase):
    def test_a_release_of_some_labs_says_what_the_class_counts(self):
        with tempfile.TemporaryDirectory() as name:
            said = support.kit("release", f"{name}/course.tar.gz", "--labs", "01,02", "--class", f"{name}/class")
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertEqual(config.load(Path(name, "class")).labs, ["01_naive_atomic", "02_tree"])
            said = support.kit("release", f"{name}/course.tar.gz", "--labs", "01,05", "--class", f"{name}/class")
            self.assertIn("course.toml does not count 05_grid_stride: add what the class is to do to its labs", said.stderr)
            self.assertEqual(config.load(Path(name, "class")).labs, ["01_naive_atomic", "02_tree"])

    def test_what_the_instructor_wrote_stays(self):
        with tempfile.TemporaryDirectory() as name:
            into = Path(name)
            for text, said in (
                ("labs = []\n", 'counts all labs; to count those of this release: labs = ["01_naive_atomic"]'),
                ('labs = ["01_naive_atomic", "02_tree"]\n', ""),
                ('labs = ["02_tree"]\n', "does not count 01_naive_atomic"),
            ):
                (into / "course.toml").write_text(text)
                self.assertIn(said, config.preset(into, ["01_naive_atomic"]))
                self.assertEqual((into / "course.toml").read_text(), text)
            (into / "course.toml").write_text("labs = 3\n")
            with self.assertRaises(KitError):
                config.preset(into, ["01_naive_atomic"])

    def test_of_all_labs_it_says_nothing(self):
        with tempfile.TemporaryDirectory() as name:
            self.assertEqual(support.kit("release", f"{name}/course.tar.gz", "--class", f"{name}/class").returncode, 0)
            self.assertFalse(Path(name, "class").exists())


if __name__ == "__main__":
    unittest.main()
