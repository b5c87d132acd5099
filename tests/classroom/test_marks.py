"""From results to marks, and from marks to what others take."""

import csv
import io
import json
import re
import tempfile
import unittest
from datetime import datetime, timezone
from pathlib import Path
from xml.etree import ElementTree

import support
from classroom.commands import grades
from classroom.course import config, course_folder
from classroom.course.roster import Roster, Student
from classroom.feedback import pages, similar
from classroom.grading import index, results
from classroom.marking import exports, formats, marks
from kit.errors import KitError

ANN, BO, EVE = (
    Student("ann", "Ann Lee", {"canvas": "101", "email": "ann@x.org"}),
    Student("bo", "Bo Dyk", {"canvas": "102"}),
    Student("eve", '=HYPERLINK("x")<script>', {"canvas": "103"}),
)
LABS = {"02_tree": ("one", "two"), "05_grid_stride": ("three",)}


def rung(name: str, state: str, reason: str = "") -> dict:
    return {"name": name, "state": state, "reason": reason, "checks": [], "hazards": []}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.into = Path(folder.name)
        self.pieces = {}
        self.course = config.Course(points={"default": 2, "02_tree": {"two": 4, "default": 2}})
        self.students = [ANN, BO, EVE]
        self.result("ann", "02_tree", [rung("one", "pass"), rung("two", "pass")])
        self.result("ann", "05_grid_stride", [rung("three", "hazard", "right, but by luck")])
        self.result("bo", "02_tree", [rung("one", "wrong", "n = 1: expected 2, got 3"), rung("two", "off-technique", "=1+1")])
        self.result("eve", "02_tree", None, why="the machine burnt down")

    def result(self, student: str, lab: str, rungs: list | None, why: str = "", unsafe: bool = False) -> None:
        piece = index.Found(self.into, lab, f"key-{student}")
        self.pieces[student, lab] = piece
        place = results.place(self.into, lab, piece.key) if rungs is not None else results.failure_place(self.into, lab, piece.key)
        about = {"format": results.FORMAT, "lab": lab, "unsafe": unsafe, "flags": []}
        results.write(place, about | {"graded": rungs is not None, "why": why, "rungs": rungs or []})

    def about(self, student: str, lab: str, when: datetime) -> None:
        results.write(self.into / "submissions" / student / lab / "about.json", {"time": when.timestamp()})

    def marks(self) -> list[marks.Mark]:
        return marks.all_marks(self.into, self.course, self.students, LABS, self.pieces)

    def points(self) -> dict[tuple[str, str], float | None]:
        return {(mark.student.id, mark.lab): mark.points for mark in self.marks()}


class Marks(Case):
    def test_points_by_rung_and_state(self):
        self.assertEqual(
            self.points(),
            {
                ("ann", "02_tree"): 6,
                ("ann", "05_grid_stride"): 1,
                ("bo", "02_tree"): 2,
                ("bo", "05_grid_stride"): 0,
                ("eve", "02_tree"): None,
                ("eve", "05_grid_stride"): 0,
            },
        )

    def test_what_the_machine_could_not_do_is_no_zero_and_says_why(self):
        mark = next(mark for mark in self.marks() if mark.student.id == "eve" and mark.lab == "02_tree")
        self.assertEqual((mark.points, mark.state, mark.why), (None, "not graded", "the machine burnt down"))

    def test_late_with_grace_and_extension(self):
        self.course.due = {"02_tree": datetime(2026, 11, 30, 12, tzinfo=timezone.utc)}
        self.course.late = {"per_day": 0.25, "most_days": 3, "grace_minutes": 10}
        for day, minute, expected in ((30, 5, 6), (30, 11, 4.5), (31, 5, 4.5), (31, 11, 3)):
            month, day = (11, 30) if day == 30 else (12, 1)
            self.about("ann", "02_tree", datetime(2026, month, day, 12, minute, tzinfo=timezone.utc))
            self.assertEqual(self.points()["ann", "02_tree"], expected, (day, minute))
        self.about("ann", "02_tree", datetime(2026, 12, 9, tzinfo=timezone.utc))
        self.assertEqual(self.points()["ann", "02_tree"], 0)
        self.course.extensions = {"ann": {"02_tree": 9}}
        self.assertEqual(self.points()["ann", "02_tree"], 6)

    def test_overrides_stand_beside_what_the_machine_said_and_survive(self):
        self.marks()  # which makes the empty file
        (self.into / "overrides.csv").write_text(
            "student,lab,rung,points,comment\nbo,02_tree,one,1.5,nearly\neve,02_tree,,5,by hand\nann,05_grid_stride,,,see me\n"
        )
        before = (self.into / "overrides.csv").read_bytes()
        for _ in range(2):
            found = {(mark.student.id, mark.lab): mark for mark in self.marks()}
            self.assertEqual((found["bo", "02_tree"].points, found["bo", "02_tree"].machine), (3.5, 2))
            self.assertEqual((found["eve", "02_tree"].points, found["eve", "02_tree"].machine), (5, None))
            self.assertEqual((found["ann", "05_grid_stride"].points, found["ann", "05_grid_stride"].comments), (1, ["see me"]))
        self.assertEqual((self.into / "overrides.csv").read_bytes(), before)

    def test_what_collect_flagged_is_shown_with_what_the_grader_flagged(self):
        results.write(self.into / "submissions/ann/02_tree/about.json", {"time": 1.0, "flags": ["changed after the last commit"]})
        found = {(mark.student.id, mark.lab): mark for mark in self.marks()}["ann", "02_tree"]
        self.assertEqual(found.flags, ["changed after the last commit"])
        self.assertIn("changed after the last commit", pages.overview(self.course, [found], {}))

    def test_an_override_for_nobody_is_said(self):
        (self.into / "overrides.csv").write_text("student,lab,rung,points,comment\nnobody,02_tree,,1,\n")
        with self.assertRaisesRegex(KitError, "nobody"):
            self.marks()

    def override(self, *lines: str, heading: str = "student,lab,rung,points,comment") -> None:
        (self.into / "overrides.csv").write_text("\n".join([heading, *lines]) + "\n")

    def test_lines_about_other_labs_are_not_used(self):
        every = [path.name for path in (support.ROOT / "labs").glob("07_*")]
        self.assertEqual(len(every), 1)
        self.override("bo,02_tree,one,1,", "ann,05_grid_stride,three,2,", f"eve,{every[0]},,1,")
        made = marks.all_marks(self.into, self.course, self.students, {"02_tree": LABS["02_tree"]}, self.pieces)
        self.assertEqual({mark.student.id: mark.points for mark in made}, {"ann": 6, "bo": 3, "eve": None})
        self.override("ann,77_nothing,,1,")
        with self.assertRaisesRegex(KitError, "overrides.csv, line 2: there is no ann 77_nothing"):
            self.marks()

    def test_short_names_of_labs_and_semicolons_are_taken(self):
        self.override("bo;02;one;1,5;nearly, but no", heading="student;lab;rung;points;comment")
        self.assertEqual(self.points()["bo", "02_tree"], 3.5)

    def test_a_line_that_cannot_be_meant_is_named(self):
        for lines, said in (
            (["ann,02_tree,,nan,"], "line 2: nan is not a number of points"),
            (["ann,02_tree,,inf,"], "line 2: inf is not a number of points"),
            (["ann,02_tree,,-1,"], "line 2: -1 is not a number of points"),
            (["", "ann,02_tree,,many,"], "line 3: many is not a number of points"),
            (["ann,02_tree,,7,"], r"line 2: 7 points are more than 02_tree has \(6\)"),
            (["ann,02_tree,two,4.5,"], r"line 2: 4.5 points are more than 02_tree two has \(4\)"),
            (["ann,02_tree,three,1,"], "line 2: there is no rung three in 02_tree"),
            (["ann,02_tree,,1,", "bo,02_tree,,1,", "ann,02,,2,"], "lines 2 and 4 are both about ann 02_tree"),
            (["ann,02_tree,,1,right, but late"], "line 2: more cells"),
        ):
            with self.subTest(lines=lines):
                self.override(*lines)
                with self.assertRaisesRegex(KitError, said) as raised:
                    self.marks()
                self.assertEqual(raised.exception.code, 2)

    def test_a_header_without_a_column_and_utf_16_are_named(self):
        self.override("ann,02_tree,1", heading="student,lab,points")
        with self.assertRaisesRegex(KitError, "line 1: there is no column rung, comment"):
            self.marks()
        (self.into / "overrides.csv").write_bytes("student,lab,rung,points,comment\n".encode("utf-16"))
        with self.assertRaisesRegex(KitError, "not a text in UTF-8"):
            self.marks()
        (self.into / "overrides.csv").write_bytes("student,lab,rung,points,comment\nann,02_tree,,1,schön\n".encode("latin-1"))
        with self.assertRaisesRegex(KitError, "not a text in UTF-8"):
            self.marks()

    def test_unsafe_is_in_the_note(self):
        self.result("bo", "05_grid_stride", [rung("three", "pass")], unsafe=True)
        self.assertIn("without a sandbox", formats.as_csv(self.marks(), self.course))


class Index(Case):
    def test_what_came_after_the_last_grading_is_not_nothing(self):
        for student in ("ann", "bo"):
            (self.into / "submissions" / student / "02_tree").mkdir(parents=True)
            (self.into / "submissions" / student / "02_tree" / "tree.cu").write_text("text")
        text = index.hash_of(self.into / "submissions/ann/02_tree/tree.cu")
        index.update(self.into, {"labs": {"02_tree": ["one", "two"]}, "keys": {"ann/02_tree": ["key-ann", "tree.cu", text]}})
        labs, pieces = index.read(self.into)
        found = {mark.student.id: mark for mark in marks.all_marks(self.into, self.course, self.students, labs, pieces)}
        self.assertEqual([found[each].state for each in ("ann", "bo", "eve")], ["graded", "not graded", "missing"])
        self.assertEqual((found["bo"].points, found["bo"].why), (None, "not graded yet: ./kit class grade"))


class ByHand(Case):
    """Lab 12, which no machine grades."""

    def setUp(self):
        super().setUp()
        self.about("ann", "12_many_gpus", datetime(2026, 11, 1, tzinfo=timezone.utc))
        self.about("bo", "12_many_gpus", datetime(2026, 11, 1, tzinfo=timezone.utc))

    def by_hand(self) -> dict[str, marks.Mark]:
        rungs = {"12_many_gpus": ("peer_reads", "one_kernel")}
        return {mark.student.id: mark for mark in marks.all_marks(self.into, self.course, self.students, rungs, {})}

    def test_it_has_no_points_until_somebody_gives_them_and_is_never_0(self):
        found = self.by_hand()
        self.assertEqual((found["ann"].state, found["ann"].points, found["ann"].most), ("by hand", None, 4))
        self.assertIn("which cannot be recorded and replayed without them", found["ann"].why)
        self.assertEqual((found["eve"].state, found["eve"].points), ("missing", 0))

    def test_points_are_those_of_overrides(self):
        (self.into / "overrides.csv").write_text(
            "student,lab,rung,points,comment\nann,12_many_gpus,,3.5,good\nbo,12_many_gpus,one_kernel,1,\nbo,12_many_gpus,peer_reads,0.5,nearly\n"
        )
        found = self.by_hand()
        self.assertEqual((found["ann"].points, found["ann"].comments, found["ann"].why), (3.5, ["good"], ""))
        self.assertEqual((found["bo"].points, found["bo"].comments), (1.5, ["peer_reads: nearly"]))

    def test_a_lab_that_is_not_listed_is_named(self):
        (self.into / "overrides.csv").write_text("student,lab,rung,points,comment\nann,12_many_gpus,,3.5,good\n")
        with self.assertRaisesRegex(KitError, "there is no ann 12_many_gpus") as raised:
            self.marks()
        self.assertIn("labs in course.toml", raised.exception.advice)
        self.course.labs = ["02_tree", "12_many_gpus"]
        self.marks()  # its line is only not used here
        (self.into / "overrides.csv").write_text("student,lab,rung,points,comment\nnobody,12_many_gpus,,3.5,good\n")
        with self.assertRaisesRegex(KitError, "there is no nobody 12_many_gpus") as raised:
            self.marks()
        self.assertNotIn("course.toml", raised.exception.advice)


CANVAS = (
    'Student,ID,SIS User ID,SIS Login ID,Section,"02_tree (555)","Lab 05 (556)","Essay (557)",Final Score\r\n'
    '"    Points Possible",,,,,6,2,10,\r\n"Lee, Ann",101,,ann,A,,1.5,9,80\r\n"Dyk, Bo",102,,bo,A,3,,8,70\r\n"Eve",103,,eve,A,4,,7,60\r\n"Else, Somebody",999,,x,A,1,1,1,1\r\n'
)
MOODLE = (
    "\ufeffIdentifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Last modified (submission),Feedback comments\n"
    "Participant 101,Ann Lee,ann@x.org,Submitted,,6.00,Yes,-,\nParticipant 102,Bo Dyk,bo@x.org,Submitted,1.00,6.00,No,-,old\n"
)


class Formats(Case):
    def rows(self, text: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(text, newline="")))

    def test_the_guide_lists_each_format(self):
        rows = [f"| `{each.name}` | {each.holds} |" for each in formats.FORMATS]
        self.assertIn(
            "\n".join(["| `--to` | what the file holds |", "|---|---|", *rows, ""]), (support.ROOT / "docs/instructor/class.md").read_text()
        )

    def test_each_format_has_a_text_or_is_filled_in(self):
        for each in formats.FORMATS:
            with self.subTest(format=each.name):
                if each.written:
                    self.assertIn("02_tree", each.written(self.marks(), self.course))
                else:
                    self.assertIn(each.name, exports.SYSTEMS)

    def test_csv_holds_no_formula(self):
        for row in self.rows(formats.as_csv(self.marks(), self.course)):
            for cell in row:
                self.assertFalse(cell.startswith(formats.FORMULA), cell)

    def test_what_a_spreadsheet_takes_for_a_formula_is_marked_as_text(self):
        for text in ("=1+1", " =1+1", "\u3000=1+1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20SUM(A1)", "\t=1", "\r\n@x", "-1"):
            with self.subTest(text=text):
                self.assertTrue(formats.plain(text).startswith("'"), formats.plain(text))
        self.assertEqual(formats.plain("Ann \uff1d Lee"), "Ann \uff1d Lee")

    def filled(self, text: str, kind: str, made=None, **columns) -> tuple[str, list[str]]:
        path = self.into / "export.csv"
        path.write_bytes(text.encode())
        return exports.filled_in(path, made or self.marks(), Roster(self.students), columns, exports.SYSTEMS[kind])

    def test_canvas_is_filled_in_and_nothing_else_changes(self):
        text, problems = self.filled(CANVAS, "canvas")
        before, after = self.rows(CANVAS), self.rows(text)
        self.assertEqual(after[0], before[0])
        self.assertEqual(after[1], before[1])
        self.assertEqual([row[5] for row in after[2:]], ["6", "2", "4", "1"])  # Eve's is not graded: the cell stays
        self.assertEqual([row[6] for row in after[2:]], ["1", "", "", "1"])
        for row, old in zip(after, before, strict=True):
            self.assertEqual(
                [cell for place, cell in enumerate(row) if place not in (5, 6)],
                [cell for place, cell in enumerate(old) if place not in (5, 6)],
            )
        self.assertTrue(any("Else" in problem for problem in problems))
        self.assertTrue(text.endswith("\r\n"))

    def test_a_lab_without_a_column_is_left_out_and_the_others_are_filled_in(self):
        text, problems = self.filled(CANVAS.replace("Lab 05", "Nothing"), "canvas")
        self.assertEqual([row[5:7] for row in self.rows(text)[2:4]], [["6", "1.5"], ["2", ""]])
        self.assertTrue(any(problem.startswith("05_grid_stride: left out") for problem in problems), problems)
        with self.assertRaisesRegex(KitError, "no column for 02_tree, 05_grid_stride"):
            self.filled(CANVAS.replace("Lab 05", "Nothing").replace("02_tree", "Else"), "canvas")
        with self.assertRaisesRegex(KitError, 'there is no column "Other"'):
            self.filled(CANVAS, "canvas", **{"05_grid_stride": "Other"})
        text, _ = self.filled(CANVAS.replace("Lab 05", "Nothing"), "canvas", **{"05_grid_stride": "Nothing (556)"})
        self.assertEqual(self.rows(text)[2][6], "1")

    def test_two_columns_for_one_lab_are_an_error(self):
        with self.assertRaisesRegex(KitError, r'several columns for 02_tree: "02_tree \(555\)", "02_tree \(557\)"') as raised:
            self.filled(CANVAS.replace("Essay", "02_tree"), "canvas")
        self.assertIn("--column 02_tree=NAME", raised.exception.advice)
        with self.assertRaisesRegex(KitError, "would be that of"):
            self.filled(CANVAS, "canvas", **{"05_grid_stride": "02_tree (555)"})

    def test_columns_are_given_by_short_names_of_labs(self):
        self.assertEqual(grades.columns_given(["05=A (1)=x", "02_tree=B"], list(LABS)), {"05_grid_stride": "A (1)=x", "02_tree": "B"})
        for given, said in (
            (["05"], "write it as LAB=NAME"),
            (["77=A"], "no such lab"),
            (["0=A"], "several labs"),
            (["05=A", "grid=B"], "twice"),
        ):
            with self.subTest(given=given), self.assertRaisesRegex(KitError, said) as raised:
                grades.columns_given(given, list(LABS))
            self.assertEqual(raised.exception.code, 2)

    def test_a_namesake_gets_nobody_elses_mark(self):
        heading = "Student,ID,SIS User ID,SIS Login ID,Section,02_tree (1)\n"
        for name, rows, expected, said in (
            ("another id", ['"Lee, Ann",101,ann,ann,S,', '"Lee, Ann",9997,zz9,yy,S,7'], ["6", "7"], "id is 9997, and 101 in the roster"),
            ("both unknown", ['"Lee, Ann",9998,,xx,S,', '"Lee, Ann",9997,,yy,S,7'], ["", "7"], "id is 9998, and 101 in the roster"),
            ("alone, but somebody else", ['"Lee, Ann",9997,,yy,S,7'], ["7"], "id is 9997, and 101 in the roster"),
            ("no ids", ['"Lee, Ann",,,,S,', '"Lee, Ann",,,,S,7'], ["", "7"], "2 rows have this name"),
            ("twice", ['"Lee, Ann",101,,,S,', "Somebody,,ann,,S,7"], ["", "7"], "several rows are ann's"),
            ("of two", ['"Lee, Ann",101,bo,,S,'], [""], "belong to different students (ann, bo)"),
            (
                "an id by chance",
                ['"Else, Some",101,,yy,S,7', '"Lee, Ann",,,ann,S,'],
                ["7", "6"],
                "the name is another and sis login id is yy",
            ),
            ("by name", ['"Lee, Ann",,,,S,'], ["6"], "bo has no row"),
        ):
            with self.subTest(name):
                text, problems = self.filled(
                    heading + "\n".join(rows) + "\n", "canvas", [mark for mark in self.marks() if mark.lab == "02_tree"]
                )
                self.assertEqual([row[5] for row in self.rows(text)[1:]], expected)
                self.assertIn(said, "\n".join(problems))

    def test_a_namesake_in_moodle_has_another_address(self):
        other = MOODLE + "Participant 555,Ann Lee,other@x.org,Submitted,3.00,6.00,Yes,-,\n"
        text, problems = self.filled(other, "moodle", [mark for mark in self.marks() if mark.lab == "02_tree"])
        self.assertEqual([row[4] for row in self.rows(text)[1:]], ["6", "1.00", "3.00"])
        self.assertIn(
            "not filled in: Ann Lee (line 4): by its name it would be ann's, but email address is other@x.org, and ann@x.org",
            "\n".join(problems),
        )

    def test_two_students_of_one_name_are_not_told_apart_by_it(self):
        self.students = [ANN, BO, Student("ann2", "Ann Lee")]
        text, problems = self.filled("Student,02_tree\nAnn Lee,\n", "canvas", [mark for mark in self.marks() if mark.lab == "02_tree"])
        self.assertEqual(text, "Student,02_tree\nAnn Lee,\n")
        self.assertIn("several students have this name (ann, ann2)", problems[0])

    def test_semicolons_stay_semicolons(self):
        made = [mark for mark in self.marks() if mark.lab == "02_tree"]
        text, _ = self.filled("Student;ID;02_tree;Essay\r\nLee, Ann;101;;1,5\r\nDyk, Bo;102;3;\r\n", "canvas", made)
        self.assertEqual(text, "Student;ID;02_tree;Essay\r\nLee, Ann;101;6;1,5\r\nDyk, Bo;102;2;\r\n")
        made[0].points = 5.5
        self.assertIn("Lee, Ann;101;5,5;", self.filled("Student;ID;02_tree;Essay\nLee, Ann;101;;1,5\n", "canvas", made)[0])
        with self.assertRaisesRegex(KitError, "no column that says who the rows are about"):
            self.filled("Student|ID|02_tree\nAnn Lee|101|\n", "canvas", made)
        (self.into / "export.csv").write_bytes("Student,02_tree\n".encode("utf-16"))
        with self.assertRaisesRegex(KitError, "not a text in UTF-8"):
            exports.filled_in(self.into / "export.csv", made, Roster(self.students), {}, exports.SYSTEMS["canvas"])

    def test_moodle_fills_grade_and_comment_and_leaves_what_is_locked(self):
        made = [mark for mark in self.marks() if mark.lab == "02_tree"]
        text, problems = self.filled(MOODLE, "moodle", made)
        rows = self.rows(text.removeprefix("\ufeff"))
        self.assertTrue(text.startswith("\ufeff"))
        self.assertEqual(rows[1][4], "6")
        self.assertEqual((rows[2][4], rows[2][8]), ("1.00", "old"))
        self.assertIn("bo 02_tree: the grade is locked", problems)

    def test_junit_is_xml_whatever_stands_in_it(self):
        self.result("bo", "05_grid_stride", [rung("three", "wrong", "\0\033[2J<![CDATA[ ]]> \ud800")])
        root = ElementTree.fromstring(formats.as_junit(self.marks(), self.course))
        self.assertEqual(len(root.findall(".//failure")), 4)
        self.assertEqual(len(root.findall(".//error")), 1)

    def test_json_and_nbgrader(self):
        self.assertEqual(json.loads(formats.as_json(self.marks(), self.course))["marks"][0]["points"], 6)
        rows = self.rows(formats.as_nbgrader(self.marks(), self.course))
        self.assertEqual(rows[0][:4], ["assignment", "duedate", "timestamp", "student_id"])
        self.assertEqual(rows[1][9:], ["6", "6"])

    def test_pages_escape_everything_and_load_nothing(self):
        self.result("eve", "02_tree", [rung("one", "wrong", "<script>alert(1)</script>"), rung("two", "todo")])
        made = self.marks()
        for text in (
            pages.overview(self.course, made, {}),
            pages.feedback(self.course, [mark for mark in made if mark.student.id == "eve"], {"02_tree": "<b>"}),
        ):
            self.assertNotIn("<script", text)
            self.assertNotRegex(text, r"(src|href)=[\"']?(https?:|//)")
            self.assertIn("default-src &#x27;none&#x27;".replace("&#x27;", "'"), text)


class Feedback(Case):
    def test_a_rung_off_its_technique_shows_what_its_lines_cost(self):
        costs = {"warp_instructions": 4000, "bank_conflicts": 31, "barriers": 0}
        off = rung("three", "off-technique", "31 bank conflicts, 0 expected") | {"busiest": {"n": 65536, "lines": {"2": costs}}}
        self.result("bo", "05_grid_stride", [off])
        made = [mark for mark in self.marks() if mark.student.id == "bo"]
        text = pages.feedback(self.course, made, {"05_grid_stride": "one\n  partial[t] += <two>;\n"})
        self.assertIn("<code>partial[t] += &lt;two&gt;;</code>", text)
        self.assertIn('<td class="n">4,000</td><td class="n">31</td>', text)
        self.assertNotIn(">barriers<", text)

    def test_times_on_a_gpu_are_shown_as_deciding_nothing(self):
        timed = rung("three", "pass") | {"gpu": {"device": "<H200>", "time": {"median_us": 12.34, "n": 1 << 26}}}
        self.result("bo", "05_grid_stride", [timed])
        text = pages.feedback(self.course, [mark for mark in self.marks() if mark.student.id == "bo"], {})
        self.assertIn("(&lt;H200&gt;), which decide nothing: three 12.3 us for 67,108,864 elements", text)


class BuiltAlike(unittest.TestCase):
    TREE, STUB = ((support.ROOT / tree / "02_tree/tree.cu").read_text() for tree in ("solutions", "labs"))

    def overview(self, pairs: list[similar.Pair] | None) -> str:
        return pages.overview(config.Course(), [], {}, pairs)

    def test_the_overview_says_how_to_have_it(self):
        self.assertIn("./kit class feedback --alike", self.overview(None))
        self.assertNotIn("./kit class feedback --alike", self.overview([]))

    def test_pairs_with_much_in_common_are_listed(self):
        text = self.overview([similar.Pair("02_tree", ("ann", "<b>"), 70, 0.93), similar.Pair("02_tree", ("ann", "bo"), 3, 0.4)])
        self.assertIn('ann and &lt;b&gt;</td><td class="n">93 %', text)
        self.assertNotIn("ann and bo", text)

    @unittest.skipUnless(similar.is_installed(), f"compare50 is not installed: {similar.HOW} installs it")
    def test_a_copy_with_other_names_is_found_and_the_stub_is_not(self):
        renamed = re.sub(r"\bstride\b", "distance", re.sub(r"\bpartial\b", "part", self.TREE))
        other = (support.ROOT / "solutions/03_warp_unroll/warp_unroll.cu").read_text()
        texts = {"ann": self.TREE, "bo": renamed, "eve": other, "lazy": self.STUB, "broken": "// BEGIN one\n"}
        found = {pair.students: pair.share for pair in similar.pairs("02_tree", self.STUB, texts)}
        self.assertGreater(found["ann", "bo"], 0.95)
        self.assertFalse({each for pair, share in found.items() if share > pages.LEAST_SHARE for each in pair} - {"ann", "bo"})


class Settings(unittest.TestCase):
    def test_what_is_written_for_a_new_class_can_be_read(self):
        with tempfile.TemporaryDirectory() as name:
            course = config.load(Path(name))
            self.assertEqual(course.credit_for("pass"), 1)
            self.assertEqual(config.hidden(Path(name), course), config.hidden(Path(name), course))
            self.assertEqual(len(config.hidden(Path(name), course).sizes), 4)

    def test_the_seed_is_secret_if_only_sizes_are_given(self):
        """Else a program that reads its own text could compute the inputs on which it is judged."""
        with tempfile.TemporaryDirectory() as name:
            Path(name, "course.toml").write_text('[hidden]\nsizes = ["777"]\n')
            chosen = config.hidden(Path(name), config.load(Path(name)))
            self.assertEqual(chosen.sizes, ("777",))
            self.assertGreater(chosen.seed, 1 << 64)
            Path(name, "secret.txt").write_text("another one\n")
            self.assertNotEqual(config.hidden(Path(name), config.load(Path(name))).seed, chosen.seed)

    def test_every_commented_example_can_be_read(self):
        text = "\n".join(
            line.removeprefix("# ") if line.startswith("# ") and ("=" in line or line.startswith("# [")) else line
            for line in config.DEFAULT.splitlines()
        )
        with tempfile.TemporaryDirectory() as name:
            Path(name, "course.toml").write_text(text)
            course = config.load(Path(name))
        self.assertEqual(course.engine["kind"], "slurm")
        self.assertEqual(course.hidden["seed"], 4711)
        self.assertEqual(course.extensions, {"alice": 2})

    def test_a_typing_error_is_named(self):
        with tempfile.TemporaryDirectory() as name:
            for text, said in (
                ("poinst = 3", "poinst"),
                ("[credit]\nhazzard = 1", "hazzard"),
                ("[due]\n02_tree = 2026-01-01", "02_tree"),
                ("a = ", "course.toml"),
            ):
                Path(name, "course.toml").write_text(text)
                with self.assertRaisesRegex(KitError, said):
                    config.load(Path(name))

    def test_every_mistake_is_one_line_that_names_the_key_and_what_is_allowed(self):
        with tempfile.TemporaryDirectory() as name:
            for text, said in (
                ("title = 7", "title: 7 is not a text"),
                ('labs = "02_tree"', 'labs: "02_tree" is not a list'),
                ('labs = ["02_tre"]', r"labs\[0\]: .* no such lab \(did you mean 02_tree\?\); allowed: 01_naive_atomic, "),
                ('labs = ["02"]', r"labs\[0\]: .*did you mean 02_tree\?"),
                ('labs = ["02_tree", "02_tree"]', r"labs\[1\]: .* listed twice"),
                ('"ti\\ntle" = 7', r"ti\?tle: there is no such key"),
                ('labs = "a\\nb"', 'labs: "a.b" is not a list'),
                ("labs = [[]]", r"labs\[0\]: "),
                ("points = 3", "points: 3 is not a table"),
                ('[points]\ndefault = "x"', "points.default: .* a number from 0 to 1000000"),
                ("[points]\ndefault = -1", "points.default: -1 "),
                ("[points]\ndefault = nan", "points.default: nan "),
                ("[points]\ndefault = true", "points.default: True "),
                ("[points]\ndefault = 1" + 1000 * "0", "points.default: 1000"),
                ("[points]\n02_tree = inf", "points.02_tree: inf "),
                ("[points.02_tree]\nmany_passs = 3", r"points.02_tree.many_passs: .* no such rung \(did you mean many_pass\?\)"),
                ("[points.02_tre]\nmany_pass = 3", r"points.02_tre: .* no such lab \(did you mean 02_tree\?\)"),
                ("[credit]\npass = 5", "credit.pass: 5 is not allowed: give a number from 0 to 1$"),
                ("[due]\n2_tree = 2026-11-30T23:59:00Z", "due.2_tree: .*did you mean 02_tree"),
                ("[late]\nper_dya = 0.1", "late.per_dya: .*did you mean per_day"),
                ('[late]\nper_day = "x"', "late.per_day: "),
                ("[late]\nmost_days = 2.5", "late.most_days: 2.5 .* whole number"),
                ('[late]\ngrace_minutes = "q"', "late.grace_minutes: "),
                ('[extensions]\ndan = "two"', "extensions.dan: "),
                ("[extensions]\ndan = 1e300", "extensions.dan: "),
                ("[extensions]\ndan = {02_tre = 2}", "extensions.dan.02_tre: .*did you mean 02_tree"),
                ("[hidden]\nsizez = []", "hidden.sizez: .*did you mean sizes"),
                ('[hidden]\nseed = "x"', "hidden.seed: "),
                ('[hidden]\nsizes = "12345"', "hidden.sizes: .* is not a list"),
                ('[hidden]\nsizes = ["abc"]', r"hidden.sizes\[0\]: "),
                ('[hidden]\nsizes = ["5", "777:65"]', r"hidden.sizes\[1\]: "),
                ('[hidden]\nsizes = ["2^31"]', r"hidden.sizes\[0\]: .* at most 2\^24 = 16777216 elements"),
                ('[hidden]\nsizes = ["99999999999"]', r"hidden.sizes\[0\]: .* at most 2\^24"),
                ("[engine]\nworkers = 0", "engine.workers: 0 .* from 1 to"),
                ('engine = "slurm"', "engine: .* is not a table"),
                ('[engine]\nkind = "slrum"', "engine.kind: .*did you mean slurm"),
                ('[engine]\nwalltime = "an hour"', "engine.walltime: "),
                ("title = 1" + 5000 * "0", "course.toml: "),
            ):
                Path(name, "course.toml").write_text(text)
                with self.subTest(text=text[:80]), self.assertRaisesRegex(KitError, said) as raised:
                    config.load(Path(name))
                self.assertEqual((str(raised.exception).count("\n"), raised.exception.advice, raised.exception.code), (0, "", 2))

    def test_all_that_the_guide_shows_can_be_read(self):
        examples = [
            found
            for page in ("grading", "slurm")
            for found in re.findall("```toml\n(.*?)```", (support.ROOT / f"docs/instructor/{page}.md").read_text(), re.DOTALL)
        ]
        self.assertEqual(len(examples), 2)
        with tempfile.TemporaryDirectory() as name:
            for text in [
                *examples,
                '[hidden]\nsizes = [5000, "2^24", "0"]\n[points]\n10_opencl = 4',
                "[extensions]\nbob = {02_tree = 7, 10_opencl = 1}",
            ]:
                Path(name, "course.toml").write_text(text)
                config.load(Path(name))

    def test_an_extension_is_for_somebody_in_the_class(self):
        with tempfile.TemporaryDirectory() as name:
            into = Path(name)
            Path(name, "course.toml").write_text("[extensions]\nanne = 3\n")
            self.assertEqual(course_folder.open(into).config.extensions, {"anne": 3})  # without a roster, anybody may be in the class
            Path(name, "new.csv").write_text("id,name\nann,Ann Lee\n")
            with self.assertRaisesRegex(KitError, r"extensions.anne: .*did you mean ann\?"):
                course_folder.open(into, into / "new.csv")
            self.assertFalse(Path(name, "roster.csv").exists())
            Path(name, "submissions", "anne").mkdir(parents=True)
            course_folder.open(into, into / "new.csv")

    def test_an_emptied_secret_is_refused_and_left_as_it_is(self):
        with tempfile.TemporaryDirectory() as name:
            kept = config.secret(Path(name))
            self.assertEqual(config.secret(Path(name)), kept)
            Path(name, "secret.txt").write_bytes(b"")
            with self.assertRaisesRegex(KitError, "secret.txt: this file is empty"):
                config.hidden(Path(name), config.Course())
            self.assertEqual(Path(name, "secret.txt").read_bytes(), b"")


if __name__ == "__main__":
    unittest.main()
