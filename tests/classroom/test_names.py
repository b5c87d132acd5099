"""Who is who: names keep their characters, no two students share a folder, and every system's own export is a roster."""

import csv
import io
import unittest

import support
from classroom.course import config, course_folder
from classroom.course.roster import Roster, Student, folded, read, safe_id
from classroom.feedback import pages
from classroom.marking import exports, marks
from collecting import STUB, TREE, Case
from kit.errors import KitError


class Folders(Case):
    def clones(self, *names: str) -> dict:
        """Each hands in a text of their own."""
        return self.gather(self.zip({f"{name}/tree.cu": f"{TREE}// {name}\n" for name in names}))

    def assert_each_has_their_own(self, *names: str) -> None:
        self.clones(*names)
        self.assertEqual(self.folders(), sorted(names))
        for name in names:
            self.assertEqual(self.taken(name), f"{TREE}// {name}\n")

    def test_names_stay_what_they_are(self):
        self.assert_each_has_their_own("王小明", "李华", "Αλέξης", "Søren", "محمد", "ज्योति", "O'Brien-Smith", "José")

    def test_names_that_only_look_alike_are_different(self):
        self.assert_each_has_their_own("josé", "jose", "o'brien", "obrien", "anna-lee", "annalee")

    def test_names_that_would_share_a_folder_are_an_error_with_both(self):
        for one, other in (
            ("Ali", "ALI"),
            ("a b", "A B"),
            ("a b", "a_b"),
            ("jose\u0301", "jos\u00e9"),
            ("\uff21\uff4c\uff49", "ali"),
            ("Straße", "STRASSE"),
        ):
            with self.subTest(one=one, other=other):
                self.setUp()
                now = self.clones(one, other, "zoe")
                self.assertEqual(self.folders(), ["zoe"])
                for name in (one, other):
                    said = " ".join(each["why"] for each in now["refused"] if each["path"].startswith(name + "/"))
                    self.assertIn(f"{one} and {other}" if f"{one} and" in said else f"{other} and {one}", said)
                    self.assertIn("would share a folder", said)

    def test_a_name_from_an_earlier_collection_is_not_overwritten_by_its_like(self):
        self.clones("Ali")
        now = self.clones("ALI")
        self.assertEqual((self.folders(), self.taken("Ali")), (["Ali"], f"{TREE}// Ali\n"))
        self.assertIn("ALI and Ali would share a folder", now["refused"][0]["why"])
        self.clones("Ali")
        self.assertEqual(self.folders(), ["Ali"])

    def test_the_command_fails_and_names_both(self):
        for name in ("Ali", "ALI", "zoe"):
            (self.folder / "in" / name).mkdir(parents=True)
            (self.folder / "in" / name / "tree.cu").write_text(TREE)
        said = support.kit("collect", str(self.folder / "in"), "--class", str(self.into))
        self.assertEqual(said.returncode, 1)
        self.assertRegex(said.stderr, "kit: error: A[Ll][Ii] and A[Ll][Ii] would share a folder, so nothing was taken: rename one of them")
        self.assertEqual(self.folders(), ["zoe"])

    def test_with_a_roster_the_exact_name_goes_before_a_similar_one(self):
        class_of = [Student("josé", "José"), Student("ob", "O'Brien Pat")]
        now = self.gather(self.zip({"jose/tree.cu": STUB, "josé/tree.cu": TREE, "obrienpat/tree.cu": TREE}), *class_of)
        self.assertEqual((self.taken("josé"), self.taken("ob")), (TREE, TREE))
        self.assertEqual((now["strangers"], self.taken("jose")), (["jose"], STUB))
        self.assertIn("kept apart as jose", now["namesakes"][0])

    def test_two_folders_of_one_student_are_an_error_with_both(self):
        ann = Student("ann", "Ann Lee", {"email": "ann@x.org", "canvas": "101"})
        for other in ("ANN", "ann@x.org", "101"):
            with self.subTest(other):
                self.setUp()
                now = self.gather(
                    self.zip({"ann/tree.cu": TREE, f"{other}/tree.cu": STUB + "// Eve's", "zoe/tree.cu": TREE}), ann, Student("zoe")
                )
                self.assertEqual(self.folders(), ["zoe"])
                said = now["refused"][0]["why"]
                self.assertTrue("ann and " in said or " and ann " in said, said)
                self.assertIn(other, said)

    def test_a_folder_with_the_name_of_somebody_who_has_another_is_kept_apart(self):
        now = self.gather(self.zip({"ann/tree.cu": TREE, "Ann Lee/tree.cu": STUB}), Student("ann", "Ann Lee"))
        self.assertEqual((self.taken("ann"), self.taken("Ann_Lee"), now["strangers"]), (TREE, STUB, ["Ann_Lee"]))

    def test_ids_are_safe_as_folders(self):
        for text in ("../../etc", "a/b", "..", ".", "", "-rf", "CON:", "a\0b", "x" * 500, "王" * 500, "\ud800", "a\u202eb", "<b>&\"'"):
            made = safe_id(text)
            self.assertRegex(made, r"^[^/\\\0<>:\"&]+$", text)
            self.assertFalse(made.startswith((".", "-")) or made.endswith("."), made)
            self.assertLessEqual(len(f"{made}.html".encode()), 255)

    def test_pages_of_all_names_have_links_that_lead_to_them(self):
        student = Student("o'brien 100%#?", 'Pat "O\'Brien"')
        made = [marks.Mark(student, "02_tree", 1, 1.0, "graded")]
        self.assertIn('href="feedback/o%27brien%20100%25%23%3F.html#02_tree"', pages.overview(config.Course(), made, {}))


CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,02_tree (555),Final Score\r\n"
    ",,,,,Manual Posting,\r\n"
    '"    Points Possible",,,,,6,(read only)\r\n'
    '"Lee, Ann",101,"0071",ann,Monday,,80\r\n'
    '"García Márquez, José",102,"0072",jose,Monday,,70\r\n'
    '"O\'Brien, Pat",103,"0073",pat,"Monday, and Friday",,60\r\n'
    '"Kim, Alex",104,"0074",ak1,Monday,,50\r\n'
    '"Kim, Alex",105,"0075",ak2,Monday,,40\r\n'
    '"Student, Test",199,,0a1b2c3d4e5f60718293a4b5c6d7e8f901234567,Monday,,\r\n'
)  # fmt: skip
WORKSHEET = (
    "\ufeffIdentifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Last modified (grade),Feedback comments\n"
    'Participant 4711,Ann Lee,ann@x.org,Submitted,,6.00,Yes,-,\nParticipant 4712,José García Márquez,jose@x.org,,,6.00,Yes,-,\n'
)  # fmt: skip
MOODLE_REPORT = (
    '"First name",Surname,"ID number",Institution,Department,"Email address","Assignment: 02_tree (Real)","Course total (Real)","Last downloaded from this course"\n'
    "Ann,Lee,0071,,,ann@x.org,6.00,6.00,1764500000\nJosé,García Márquez,'0072,,,jose@x.org,-,-,1764500000\n"
)  # fmt: skip
GRADESCOPE = (
    "First Name,Last Name,SID,Email,Sections,Total Score,Max Points,Status,Submission ID,Submission Time,Lateness (H:M:S)\n"
    "Ann,Lee,0071,ann@x.org,Monday,5.0,6.0,Graded,700001,2026-11-20 10:00:00 +0000,00:00:00\n"
    'José,García Márquez,"=""0072""",jose@x.org,Monday,,6.0,Missing,,,\n'
)
GRADESCOPE_ROSTER = (
    "First Name,Last Name,SID,Email,Role,Sections,Submissions\nAnn,Lee,0071,ann@x.org,Student,Monday,3\n"
    "Prof,Essor,9,prof@x.org,Instructor,,0\nTee,Ay,8,ta@x.org,TA,,0\nJosé,García Márquez,0072,jose@x.org,Student,Monday,1\n"
)


class Rosters(Case):
    def read(self, text: str, encoding: str = "utf-8") -> Roster:
        path = self.folder / "roster.csv"
        path.write_bytes(text.encode(encoding))
        return read(path)

    def test_canvas(self):
        roster = self.read(CANVAS)
        self.assertEqual(
            [student.name for student in roster.students.values()],
            ["Ann Lee", "José García Márquez", "Pat O'Brien", "Alex Kim", "Alex Kim"],
        )
        self.assertEqual(list(roster.students), ["0071", "0072", "0073", "0074", "0075"])
        self.assertEqual(roster.by_id("6"), None)  # points are nobody's id
        self.assertEqual(roster.by_id("101", "canvas").id, "0071")
        self.assertIsNone(roster.by_id("101", "moodle"))

    def test_canvas_from_download_to_import(self):
        """Every row is filled in, and nobody else's."""
        roster = self.read(CANVAS)
        students = list(roster.students.values())
        download = {
            "leeann_101_1_tree.cu": 1,
            "garcíamárquezjosé_102_2_tree.cu": 2,
            "obrienpat_LATE_103_3_tree.cu": 3,
            "kimalex_104_4_tree.cu": 4,
            "kimalex_105_5_tree.cu": 5,
        }
        now = self.gather(self.zip({name: f"{TREE}// {number}\n" for name, number in download.items()}), *students)
        self.assertEqual((now["strangers"], now["namesakes"], now["refused"]), ([], [], []))
        self.assertEqual([self.taken(student.id)[-3:-1] for student in students], [" 1", " 2", " 3", " 4", " 5"])
        made = [marks.Mark(student, "02_tree", 6, float(number), "graded") for number, student in enumerate(students, 1)]
        (self.folder / "export.csv").write_bytes(CANVAS.encode())
        text, problems = exports.filled_in(self.folder / "export.csv", made, roster, {}, exports.SYSTEMS["canvas"])
        self.assertEqual(
            [row[5] for row in csv.reader(io.StringIO(text))], ["02_tree (555)", "Manual Posting", "6", "1", "2", "3", "4", "5", ""]
        )
        self.assertEqual(problems, [])

    def test_names_are_in_the_order_in_which_they_are_spoken(self):
        rows = {
            "Lee, Ann": "Ann Lee",
            "王, 小明": "王小明",
            "김, 민준": "김민준",
            "van Dyk, Bo": "Bo van Dyk",
            "Παππάς, Άρης": "Άρης Παππάς",
            "Ann Lee": "Ann Lee",
        }
        roster = self.read("id,name\n" + "".join(f'{number},"{name}"\n' for number, name in enumerate(rows)))
        self.assertEqual([student.name for student in roster.students.values()], list(rows.values()))

    def test_canvas_without_a_system_of_the_universitys(self):
        roster = self.read(
            'Student,ID,SIS Login ID,Section,Lab (1)\n"    Points Possible",,,,10\n"Lee, Ann",101,ann@x.org,A,\n"Kim, Bo",102,,A,3\n'
        )
        self.assertEqual({student.id: student.name for student in roster.students.values()}, {"ann@x.org": "Ann Lee", "102": "Bo Kim"})

    def test_moodles_worksheet(self):
        roster = self.read(WORKSHEET)
        self.assertEqual(list(roster.students), ["ann@x.org", "jose@x.org"])
        now = self.gather(
            self.zip({"Ann Lee_4711_assignsubmission_file_/tree.cu": TREE, "Somebody_4712_assignsubmission_file_/tree.cu": STUB}),
            *roster.students.values(),
        )
        self.assertEqual((self.folders(), now["strangers"]), (["ann@x.org", "jose@x.org"], []))
        made = [marks.Mark(student, "02_tree", 6, 4.0, "graded") for student in roster.students.values()]
        text, problems = exports.filled_in(self.folder / "roster.csv", made, roster, {}, exports.SYSTEMS["moodle"])
        self.assertEqual([row[4] for row in csv.reader(io.StringIO(text))][1:], ["4", "4"])
        self.assertEqual(problems, [])

    def test_moodles_report_and_gradescopes_exports(self):
        for text in (MOODLE_REPORT, GRADESCOPE, GRADESCOPE_ROSTER):
            for changed in (text, text.replace(",", ";"), "\ufeff" + text.replace("\n", "\r\n")):
                with self.subTest(text[:30], changed=changed[:12]):
                    roster = self.read(changed)
                    self.assertEqual(
                        {each.id: each.name for each in roster.students.values()}, {"0071": "Ann Lee", "0072": "José García Márquez"}
                    )
                    self.assertEqual(roster.by_id("jose@x.org").id, "0072")
                    self.assertEqual([roster.by_id(value) for value in ("6.00", "3", "5.0", "700001", "-", "Graded")], [None] * 6)

    def test_canvas_with_semicolons_and_quoted_ids(self):
        quoted = CANVAS.replace("; ", " ").replace('"0071"', '"=""0071"""').replace('"0072"', "'0072")
        rows = list(csv.reader(io.StringIO(quoted)))
        out = io.StringIO()
        csv.writer(out, delimiter=";").writerows(rows)
        self.assertEqual(list(self.read(out.getvalue()).students), ["0071", "0072", "0073", "0074", "0075"])

    def test_a_title_above_and_a_heading_that_is_repeated(self):
        for text in ("Course 101, winter\nid,name\nann,Ann Lee\n", "\nid,name\nann,Ann Lee\n", "id,name\nid,name\n\nann,Ann Lee\n"):
            self.assertEqual(list(self.read(text).students), ["ann"], text)

    def test_ids_that_would_share_a_folder_are_an_error_with_both_and_their_lines(self):
        for one, other in (("Ali", "ALI"), ("a b", "A B"), ("jose\u0301", "jos\u00e9")):
            with self.assertRaisesRegex(KitError, r"occurs more than once \(lines 2 and 4\)") as raised:
                self.read(f"id,name\n{one},One\nann,Ann\n{other},Other\n")
            self.assertIn(safe_id(other), str(raised.exception))
        self.assertEqual(
            list(self.read("id,name\njosé,A\njose,B\no'brien,C\nobrien,D\n王小明,E\n").students),
            ["josé", "jose", "o'brien", "obrien", "王小明"],
        )

    def test_a_column_of_marks_is_nobodys_number(self):
        """Ten points are not the number of the student who has them."""
        roster = self.read(CANVAS.replace(",,80", ",10,80"))
        self.assertIsNone(roster.by_id("10"))
        self.assertIsNone(roster.by_id("80"))

    def test_a_class_keeps_the_export_as_its_roster(self):
        (self.folder / "export.csv").write_bytes(CANVAS.encode())
        course_folder.open(self.into, self.folder / "export.csv")
        self.assertEqual(len(course_folder.open(self.into).roster.students), 5)


class Comparing(unittest.TestCase):
    def test_folded_is_case_and_composition_and_nothing_else(self):
        self.assertEqual(folded("JOSÉ"), folded("jose\u0301"))
        self.assertNotEqual(folded("José"), folded("Jose"))


if __name__ == "__main__":
    unittest.main()
