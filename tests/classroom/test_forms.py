"""Whose a file is: only the names at the top of a source say it, and Gradescope's metadata beside them. Students write everything else."""

import unittest

import support  # noqa: F401 (finds the class)
from classroom.collecting import collected, forms
from classroom.course import config
from classroom.course.roster import Student
from classroom.feedback import pages
from collecting import ANN, BO, TREE, Case, packed

EVE = Student("eve", "Eve Adams", {"email": "eve@x.org", "canvas": "103", "moodle": "4713"})
CLASS = (ANN, BO, EVE)
MINE = TREE + "// of Eve\n"


def metadata(*submissions: tuple[int, list[tuple[str, str]]], when: str = "2026-11-20 10:00:00.000000000 Z") -> str:
    lines = ["---"]
    for number, people in submissions:
        lines += [f"submission_{number}:", "  :submitters:"]
        for name, email in people:
            lines += [f"  - :name: {name}", "    :sid: ''", f"    :email: {email}"]
        lines += [f"  :created_at: {when}", "  :history:", "  - :id: 1", "    :created_at: 2019-01-01 00:00:00.0 Z"]
    return "\n".join(lines) + "\n"


class Impostors(Case):
    """Eve hands in something that is named as if somebody else had."""

    def assert_refused(self, entries: dict[str, str | bytes], theirs: str = TREE, count: int = 1) -> dict:
        now = self.gather(self.zip(entries), *CLASS)
        claims = [each for each in now["refused"] if each["kind"] == "claim"]
        self.assertEqual([each["student"] for each in claims], ["eve"] * count, now["refused"])
        for student in ("ann", "bo"):
            place = self.into / "submissions" / student / "02_tree" / "tree.cu"
            self.assertEqual(place.read_text() if place.exists() else theirs, theirs, student)
        return now

    def test_in_a_folder_of_clones(self):
        now = self.assert_refused(
            {
                "ann/tree.cu": TREE,
                "eve/tree.cu": MINE,
                "eve/docs/x_101_1_tree-99.cu": MINE,
                "eve/submission_1/tree-98.cu": MINE,
                "eve/submission_metadata.yml": metadata((1, [("Bo van Dyk", "bo@x.org")]), when="2020-01-01 00:00:00"),
            },
            count=2,
        )
        self.assertEqual(self.folders(), ["ann", "eve"])
        self.assertNotEqual(self.about("eve")["time"], forms.seconds("2020-01-01 00:00:00"))
        self.assertIn("bo", now["missing"]["02_tree"])

    def test_by_every_pattern_at_every_depth(self):
        for name in (
            "x_101_1_tree-99.cu",
            "leeann_9_1_tree.cu",
            "Ann Lee_7_assignsubmission_file_/tree.cu",
            "a/b/leeann_LATE_101_900_tree.cu",
            "Ann Lee_7_assignsubmission_file_tree.cu",
        ):
            of_canvas = {"leeann_101_1_tree.cu": TREE, "vandykbo_102_2_tree.cu": TREE}
            for entries in (
                {"ann/tree.cu": TREE, f"eve/{name}": MINE},
                {"ann/tree.cu": TREE, "eve/work.zip": packed({name: MINE})},
                of_canvas | {"adamseve_103_900_work.zip": packed({name: MINE})},
                of_canvas | {f"adamseve_103_900_{name.replace('/', '_')}": MINE},
            ):
                with self.subTest(at=list(entries)[-1], name=name):
                    collected.place(self.into).unlink(missing_ok=True)
                    self.assert_refused(entries)

    def test_in_a_gradescope_export(self):
        of_class = metadata((700001, [("Ann Lee", "ann@x.org")]), (700002, [("Eve Adams", "eve@x.org")]))
        top = "assignment_5_export"
        self.assert_refused(
            {
                f"{top}/submission_metadata.yml": of_class,
                f"{top}/submission_700001/tree.cu": TREE,
                f"{top}/submission_700002/submission_700001/tree-99.cu": MINE,
                f"{top}/submission_700002/more.zip": packed({"submission_700001/tree-99.cu": MINE}),
                f"{top}/submission_700002/submission_metadata.yml": metadata((700001, [("Eve Adams", "eve@x.org")])),
            },
            count=3,
        )
        self.assertEqual(self.folders(), ["ann"])

    def test_a_name_that_contains_anothers_number(self):
        now = self.gather(self.zip({"eve_101_103_900_tree.cu": MINE, "leeann_101_901_tree.cu": TREE}), *CLASS)
        self.assertEqual([each["kind"] for each in now["refused"]], ["claim"])
        self.assertEqual(self.taken("ann"), TREE)
        now = self.gather(self.zip({"Ann Lee_4711_assignsubmission_file__4713_assignsubmission_file_/tree.cu": MINE}), *CLASS)
        self.assertEqual(self.taken("ann"), TREE)
        self.assertIn("claim", [each["kind"] for each in now["refused"]])

    def test_metadata_that_a_students_name_continues(self):
        evil = "|-\n      Eve\n      :email: ann@x.org\n      submission_700001:"
        found = forms.submissions(metadata((700002, [(evil, "eve@x.org")]), (700001, [("Ann Lee", "ann@x.org")])).encode())
        self.assertEqual([each.people[0].ids for each in found.values()], [("eve@x.org",), ("ann@x.org",)])

    def test_the_own_name_in_a_path_claims_nobody(self):
        now = self.gather(self.zip({"eve/Downloads/adamseve_103_900_tree.cu": MINE, "eve/lab_02_1_naive_atomic.cu": "x"}), *CLASS)
        self.assertEqual((now["refused"], self.taken("eve")), ([], MINE))

    def test_a_name_of_ones_own_choice_is_no_id(self):
        now = self.gather(self.zip({"ann_999_1_tree.cu": MINE, "bo_102_2_tree.cu": TREE}), *CLASS)
        self.assertEqual((self.folders(), now["strangers"]), (["999", "bo"], ["999"]))

    def test_it_is_flagged_on_the_instructors_page_and_names_nobody_on_the_students(self):
        self.gather(self.zip({"ann/tree.cu": TREE, "eve/x_101_1_tree.cu": MINE}), *CLASS)
        found = self.marks(*CLASS)
        text = pages.overview(config.Course(), list(found.values()), {}, files=collected.refused(self.into))
        self.assertRegex(text, r"Flagged</h2>.*<td>eve</td>.*eve/x_101_1_tree.cu: its name is that of another student")
        text = pages.feedback(config.Course(), [found["eve", "02_tree"]], {})
        self.assertIn("its name is that of another student", text)
        self.assertNotIn("ann", text.lower().replace("channel", ""))


class Forms(Case):
    def test_the_form_is_that_of_most_names_at_the_top(self):
        for kind, names in {
            "canvas": ["a_1_2_tree.cu", "b_LATE_2_3_x.cu", "c_3_text.html", "README/tree.cu"],
            "moodle": ["A B_1_assignsubmission_file_/tree.cu", "C_2_assignsubmission_onlinetext_/x.html"],
            "gradescope": ["submission_metadata.yml", "submission_1/tree.cu"],
            "folders": ["ann/a_1_2_tree.cu", "ann/b_1_2_tree.cu", "bo/submission_1/tree.cu", "Bo_2_assignsubmission_file_/tree.cu"],
        }.items():
            self.assertEqual(forms.kind_of(names), kind)

    def test_a_name_with_underscores_in_canvas(self):
        self.take(self.zip({"lee_ann_LATE_101_9_tree.cu": TREE, "vandykbo_102_9_tree.cu": MINE}), ANN, BO)
        self.assertEqual((self.taken("ann"), self.about("ann")["late"]), (TREE, True))

    def test_a_clone_is_no_download_whatever_it_is_called(self):
        clone = self.folder / "in" / "assignment_5_export"
        (clone / "submission_1").mkdir(parents=True)
        (clone / ".git").mkdir()
        (clone / "submission_1" / "tree.cu").write_text(MINE)
        (clone / "submission_metadata.yml").write_text(metadata((1, [("Ann Lee", "ann@x.org")])))
        now = self.gather(self.folder / "in", *CLASS)
        self.assertEqual((self.folders(), now["strangers"]), (["assignment_5_export"], ["assignment_5_export"]))

    def test_moodle_without_folders(self):
        self.take(self.zip({"Ann Lee_4711_assignsubmission_file_tree.cu": TREE}), ANN, BO)
        self.assertEqual(self.taken("ann"), TREE)

    def test_a_zip_file_for_each_student(self):
        self.take(self.zip({"ann.zip": packed({"labs/tree.cu": TREE}), "bo.zip": packed({"tree.cu": MINE})}), ANN, BO)
        self.assertEqual((self.taken("ann"), self.taken("bo")), (TREE, MINE))


class Groups(Case):
    def test_all_members_of_a_gradescope_group_have_the_submission(self):
        of_class = metadata((77, [("Ann Lee", "ann@x.org"), ("'Bo van Dyk'", "bo@x.org")]), (78, [("Eve Adams", "eve@x.org")]))
        self.gather(self.zip({"submission_metadata.yml": of_class, "submission_77/tree.cu": TREE, "submission_78/tree.cu": MINE}), *CLASS)
        self.assertEqual([self.taken(each) for each in ("ann", "bo", "eve")], [TREE, TREE, MINE])
        self.assertEqual([self.about(each).get("group") for each in ("ann", "bo", "eve")], [["ann", "bo"], ["ann", "bo"], None])
        self.assertEqual(self.about("bo")["time"], 1795168800.0)  # not one of the history's

    def test_a_file_that_names_another_member_claims_nothing(self):
        of_class = metadata((77, [("Ann Lee", "ann@x.org"), ("Bo van Dyk", "bo@x.org")]))
        now = self.gather(self.zip({"submission_metadata.yml": of_class, "submission_77/leeann_101_1_tree.cu": TREE}), *CLASS)
        self.assertEqual((now["refused"], self.taken("bo")), ([], TREE))

    def test_what_cannot_be_read_is_each_members(self):
        of_class = metadata((77, [("Ann Lee", "ann@x.org"), ("Bo van Dyk", "bo@x.org")]))
        self.gather(self.zip({"submission_metadata.yml": of_class, "submission_77/work.rar": "Rar!"}), *CLASS)
        found = self.marks(*CLASS)
        self.assertEqual([found[each, "02_tree"].state for each in ("ann", "bo", "eve")], ["refused", "refused", "missing"])


if __name__ == "__main__":
    unittest.main()
