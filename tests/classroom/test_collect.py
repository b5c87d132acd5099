"""What came in: each place's download, and everything that a stranger can put into one."""

import errno
import io
import json
import os
import shutil
import stat
import subprocess
import tempfile
import time
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import support
from classroom.collecting import collect, collected
from classroom.course import config
from classroom.course.roster import Roster, Student, read
from classroom.feedback import pages
from classroom.isolation import sandbox
from classroom.submission import archive
from collecting import ANN, BO, STUB, STUBS, TREE, Case


class Places(Case):
    def test_a_folder_for_each_student(self):
        for name, text in (("ann", TREE), ("bo/labs/02_tree", STUB)):
            (self.folder / "in" / name).mkdir(parents=True)
            (self.folder / "in" / name / "tree.cu").write_text(text)
        report = self.take(self.folder / "in", ANN, BO)
        self.assertEqual(self.taken("ann"), TREE)
        self.assertEqual(self.taken("bo"), STUB)
        self.assertEqual((report.missing, report.refused), ({"02_tree": []}, []))

    def test_canvas_with_a_second_try_and_a_late_one(self):
        report = self.take(
            self.zip(
                {
                    "leeann_101_900_tree.cu": STUB.replace("// TODO", "int x; // TODO", 1),
                    "leeann_101_901_tree-1.cu": TREE,
                    "vandykbo_LATE_102_902_tree.cu": TREE,
                }
            ),
            ANN,
            BO,
        )
        self.assertEqual(self.taken("ann"), TREE)
        self.assertEqual(report.late, ["bo 02_tree"])
        self.assertEqual(len(report.duplicates), 1)
        self.assertEqual(report.strangers, [])

    def test_moodle(self):
        report = self.take(
            self.zip({"Ann Lee_4711_assignsubmission_file_/tree.cu": TREE, "Zoe Unknown_4713_assignsubmission_file/tree.cu": TREE}), ANN, BO
        )
        self.assertEqual(self.taken("ann"), TREE)
        self.assertEqual(report.strangers, ["Zoe_Unknown"])
        self.assertEqual(report.missing["02_tree"], ["bo"])

    def test_gradescope(self):
        metadata = "---\nsubmission_77:\n  :submitters:\n  - :name: Ann Lee\n    :sid: ''\n    :email: ann@x.org\n  :created_at: 2026-11-20 10:00:00.000000000 Z\n"
        self.take(
            self.zip({"assignment_1_export/submission_metadata.yml": metadata, "assignment_1_export/submission_77/tree.cu": TREE}), ANN
        )
        self.assertEqual(self.taken("ann"), TREE)
        self.assertEqual(json.loads((self.into / "submissions/ann/02_tree/about.json").read_text())["time"], 1795168800.0)

    def test_a_students_own_zip(self):
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as file:
            file.writestr("warpfold/labs/02_tree/tree.cu", TREE)
            file.writestr("warpfold/solutions/02_tree/tree.cu", "not this")
        self.take(self.zip({"leeann_101_900_work.zip": inner.getvalue()}), ANN)
        self.assertEqual(self.taken("ann"), TREE)

    def test_handouts_as_text_and_as_notebook(self):
        code = "if (threadIdx.x == 0) *result = 1;"
        text = f"# Tree\n\n```{{code-cell}} ipython3\n%%lab in_place_interleaved\n{code}\n```\n"
        notebook = json.dumps({"cells": [{"cell_type": "code", "source": ["%%lab in_place_interleaved\n", code]}]})
        for name, data in (("02_tree.md", text), ("02_tree.ipynb", notebook)):
            (self.folder / name[3:] / "ann").mkdir(parents=True)
            (self.folder / name[3:] / "ann" / name).write_text(data)
            self.take(self.folder / name[3:], ANN)
            self.assertIn(f"// BEGIN in_place_interleaved\n{code}\n  // END in_place_interleaved", self.taken("ann"))

    def test_an_untouched_handout_beside_a_filled_file_loses(self):
        self.take(
            self.zip(
                {"ann/labs/02_tree/tree.cu": TREE, "ann/docs/handouts/02_tree.md": "```{code-cell}\n%%lab interleaved\n// 5 lines\n```\n"}
            ),
            ANN,
        )
        self.assertEqual(self.taken("ann"), TREE)

    def test_a_file_without_its_markers_is_kept_for_the_instructor_to_see(self):
        report = self.take(self.zip({"ann/tree.cu": TREE.replace("// END interleaved", "")}), ANN)
        self.assertNotIn("ann", report.missing["02_tree"])


class Strangers(Case):
    def test_names_that_lead_elsewhere(self):
        report = self.take(
            self.zip(
                {
                    "../../etc/cron.d/tree.cu": TREE,
                    "/etc/tree.cu": TREE,
                    "ann/../../tree.cu": TREE,
                    "C:\\tree.cu": TREE,
                    "ann/tree.cu": TREE,
                }
            ),
            ANN,
        )
        self.assertEqual(len(report.refused), 4, self.refusals(report))
        self.assertEqual(self.taken("ann"), TREE)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["class", "download.zip"])

    def test_names_that_act_on_a_terminal(self):
        report = self.take(self.zip({"ann/\033]0;owned\007tree.cu": TREE, "ann/tree\u202euc.cu": TREE}), ANN)
        self.assertEqual(len(report.refused), 2)
        self.assertTrue(self.refusals(report).replace("\n", "").isprintable())

    def test_links_and_devices_in_a_zip(self):
        path = self.folder / "links.zip"
        with zipfile.ZipFile(path, "w") as file:
            for name, mode, data in (("ann/tree.cu", stat.S_IFLNK, "/etc/passwd"), ("bo/tree.cu", stat.S_IFCHR, "")):
                entry = zipfile.ZipInfo(name)
                entry.external_attr = (mode | 0o777) << 16
                file.writestr(entry, data)
        self.assertEqual(len(self.take(path, ANN, BO).refused), 2)
        self.assertFalse((self.into / "submissions").exists())

    def test_links_and_pipes_in_a_folder(self):
        top = self.folder / "in" / "ann"
        top.mkdir(parents=True)
        (top / "tree.cu").symlink_to("/etc/passwd")
        (top / "more").symlink_to("/etc")
        os.mkfifo(top / "naive_atomic.cu")
        report = self.take(self.folder / "in", ANN)
        self.assertEqual(len(report.refused), 3, self.refusals(report))

    def test_a_bomb_does_not_go_off_and_the_rest_goes_on(self):
        report = self.take(self.zip({"ann/bomb.cu": b"\0" * (1 << 28), "bo/tree.cu": TREE}), ANN, BO)
        self.assertEqual(len(report.refused), 1)
        self.assertEqual(self.taken("bo"), TREE)

    def test_a_zip_that_lies_about_its_sizes(self):
        path = self.zip({"ann/tree.cu": b"x" * (8 << 20)})
        data = path.read_bytes().replace((8 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
        path.write_bytes(data)
        report = self.take(path, ANN)
        self.assertEqual(report.taken, {})
        self.assertEqual(len(report.refused), 1)

    def test_damage(self):
        good = self.zip({"ann/tree.cu": TREE, "bo/tree.cu": TREE}).read_bytes()
        for at in range(0, len(good), 97):
            bad = self.folder / "bad.zip"
            bad.write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
            self.take(bad, ANN, BO)  # throws for nothing that is in there
        for data in (b"", b"PK\x03\x04", b"no zip at all"):
            bad.write_bytes(data)
            self.assertTrue(self.take(bad, ANN).refused)

    def test_a_zip_in_a_zip_in_a_zip(self):
        data = TREE.encode()
        for _ in range(3):
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as file:
                file.writestr("ann_1_2_tree.cu" if data[:2] != b"PK" else "ann_1_2_inner.zip", data)
            data = packed.getvalue()
        path = self.folder / "deep.zip"
        path.write_bytes(data)
        self.assertEqual(len(self.take(path, ANN).refused), 1)

    def test_a_notebook_that_is_none(self):
        for data in ("[" * 100_000, '{"cells": 3}', '{"cells": [{"cell_type": "code", "source": {"a": 1}}]}', "null"):
            self.take(self.zip({"ann/02_tree.ipynb": data}), ANN)

    def test_a_students_name_cannot_lead_out_of_the_class(self):
        self.take(self.zip({"..__..__x_5_assignsubmission_file_/tree.cu": TREE, "....//tree.cu": TREE}))
        outside = [path for path in self.folder.iterdir() if path.name not in ("class", "download.zip")]
        self.assertEqual(outside, [])


class Unreadable(Case):
    """What cannot be read is told from nothing, for as long as nothing else comes."""

    def test_every_kind_is_told_from_nothing(self):
        for name, data, lab, why in (
            ("tree.cu", TREE.encode("utf-16"), "02_tree", "refused: tree.cu: it is in UTF-16; save it as UTF-8"),
            ("02_tree.ipynb", b'{"cells": [', "02_tree", "refused: 02_tree.ipynb: not a readable notebook"),
            ("work.ipynb", b"no", "", "refused: work.ipynb: not a readable notebook"),
            ("02_tree.md", TREE.encode("utf-16"), "02_tree", "refused: 02_tree.md: it is in UTF-16"),
            ("solution.cu", TREE.encode("utf-16"), "", "refused: solution.cu: it is in UTF-16"),
            ("tree.cu", b"// " + b"x" * (3 << 20), "02_tree", "refused: tree.cu: larger than 2 MiB"),
            ("work.rar", b"Rar!", "", "refused: work.rar: files of the type .rar are not read"),
            ("tree.tar.gz", b"", "02_tree", "refused: tree.tar.gz: files of the type .gz are not read"),
            ("thesis.pdf", b"%PDF", "", "refused: thesis.pdf: files of the type .pdf are not read"),
            ("work.zip", b"PK", "", "refused: work.zip: not a readable zip file"),
        ):
            with self.subTest(name=name, why=why):
                collected.place(self.into).unlink(missing_ok=True)
                path = self.folder / "in.zip"
                with zipfile.ZipFile(path, "w") as file:  # not packed, so that nothing is a bomb
                    file.writestr(f"Ann Lee_1_assignsubmission_file_/{name}", data)
                self.gather(path, ANN, BO)
                found = self.marks(ANN, BO)
                self.assertEqual((found["ann", "02_tree"].state, found["ann", "02_tree"].points), ("refused", 0))
                self.assertIn(why, found["ann", "02_tree"].why)
                self.assertEqual(found["ann", "01_naive_atomic"].state, "missing" if lab else "refused")
                self.assertEqual(found["bo", "02_tree"].why, "nothing was handed in")
                text = pages.feedback(config.Course(), [found["ann", "02_tree"]], {})
                self.assertIn("What was handed in could not be read", text)
                self.assertNotIn("nothing was handed in", text)
                self.assertIn(
                    "Refused, to look at", pages.overview(config.Course(), list(found.values()), {}, files=collected.refused(self.into))
                )

    def test_it_is_remembered_until_something_else_comes(self):
        self.gather(self.zip({"leeann_101_4_tree.cu": TREE.encode("utf-16"), "vandykbo_LATE_102_5_tree.cu": TREE}), ANN, BO)
        now = self.gather(self.zip({"bo/naive_atomic.cu": STUBS[0].text.replace("// TODO", "int x; // TODO")}), ANN, BO)
        self.assertEqual([(each["student"], each["lab"]) for each in now["refused"]], [("ann", "02_tree")])
        self.assertEqual(now["late"], ["bo 02_tree"])
        self.assertEqual(now["missing"], {"01_naive_atomic": ["ann"], "02_tree": ["ann"]})
        self.assertEqual(self.marks(ANN, BO)["ann", "02_tree"].state, "refused")
        now = self.gather(self.zip({"ann/tree.cu": TREE, "bo/tree.cu": TREE}), ANN, BO)
        self.assertEqual((now["refused"], now["late"], now["missing"]["02_tree"]), ([], [], []))

    def test_a_document_beside_a_lab_refuses_nothing(self):
        now = self.gather(self.zip({"ann/tree.cu": TREE, "ann/report.pdf": "%PDF", "ann/docs/figure.png": "x"}), ANN)
        self.assertEqual(([each["path"] for each in now["ignored"]], now["refused"]), (["ann/report.pdf"], []))
        self.assertEqual(self.marks(ANN)["ann", "01_naive_atomic"].state, "missing")

    def test_without_a_roster_it_is_a_student_too(self):
        self.gather(self.zip({"ann/tree.cu": TREE, "bo/work.rar": "Rar!", "../zoe/work.rar": "no"}))
        found = self.marks()
        self.assertEqual({student for student, _ in found}, {"ann", "bo"})
        self.assertEqual(found["bo", "02_tree"].state, "refused")

    def test_the_command_lists_it(self):
        (self.folder / "in" / "ann").mkdir(parents=True)
        (self.folder / "in" / "ann" / "work.rar").write_text("Rar!")
        (self.folder / "in" / "ann" / "tree.cu").write_bytes(TREE.encode("utf-16"))
        (self.folder / "more" / "bo").mkdir(parents=True)
        (self.folder / "more" / "bo" / "tree.cu").write_text(TREE)
        said = support.kit("collect", str(self.folder / "in"), "--class", str(self.into))
        self.assertIn("refused (1):\n  ann/tree.cu: it is in UTF-16", said.stdout)
        self.assertIn("ignored, as nothing reads such files (1):\n  ann/work.rar", said.stdout)
        said = support.kit("collect", str(self.folder / "more"), "--class", str(self.into))
        self.assertIn("refused earlier, and not replaced since (2):\n", said.stdout)


class Namesakes(Case):
    FIRST, SECOND = "Alex Kim_4100_assignsubmission_file_/tree.cu", "Alex Kim_4101_assignsubmission_file_/tree.cu"

    def test_two_numbers_are_two_people(self):
        source = self.zip({self.FIRST: TREE, self.SECOND: TREE + "// two\n"})
        for students in ((), (Student("ak", "Alex Kim"),), (Student("ak1", "Alex Kim"), Student("ak2", "Alex Kim"))):
            with self.subTest(students=len(students)):
                report = self.take(source, *students)
                self.assertEqual(report.duplicates, [])
                self.assertEqual((self.taken("Alex_Kim_4100"), self.taken("Alex_Kim_4101")), (TREE, TREE + "// two\n"))
                self.assertIn("several have this name; kept apart as Alex_Kim_4100", report.namesakes[0])
                self.assertEqual(len(report.namesakes), 2)
                self.assertEqual(report.strangers, ["Alex_Kim_4100", "Alex_Kim_4101"] if students else [])

    def test_a_number_in_the_roster_says_who_is_who(self):
        source = self.zip({self.FIRST: TREE, self.SECOND: TREE + "// two\n"})
        self.take(source, Student("ak1", "Alex Kim"), Student("ak2", "Alex Kim"))
        report = self.take(source, Student("ak1", "Alex Kim", {"moodle": "4100"}), Student("ak2", "Alex Kim", {"moodle": "4101"}))
        self.assertEqual((self.taken("ak1"), self.taken("ak2")), (TREE, TREE + "// two\n"))
        self.assertEqual((report.namesakes, report.strangers), ([], []))
        self.assertEqual(sorted(path.name for path in (self.into / "submissions").iterdir()), ["ak1", "ak2"])

    def test_another_download_gives_other_numbers(self):
        for name, text in ((self.FIRST, TREE), (self.SECOND.replace("tree.cu", "naive_atomic.cu"), STUBS[0].text)):
            report = self.take(self.zip({name: text}), Student("ak", "Alex Kim"))
            self.assertEqual((set(report.taken), report.namesakes), ({"ak"}, []))
        self.assertEqual({path.name for path in (self.into / "submissions" / "ak").iterdir()}, {"01_naive_atomic", "02_tree"})

    def test_in_canvas_too(self):
        report = self.take(self.zip({"kimalex_7_1_tree.cu": TREE, "kimalex_8_2_tree.cu": TREE}), Student("ak", "Alex Kim", {"canvas": "7"}))
        self.assertEqual(set(report.taken), {"ak", "kimalex_8"})


@support.needs_sandbox
@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Clones(Case):
    """A folder that is a clone: the time of its last commit counts, for what was committed."""

    COMMITTED = 1_600_000_000

    def clone(self, text: str, *settings: str) -> Path:
        folder = self.folder / "in" / "ann"
        (folder / "labs").mkdir(parents=True)
        (folder / "labs" / "tree.cu").write_text(text)
        when = f"{self.COMMITTED} +0000"
        environment = os.environ | {"GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": when, "GIT_CONFIG_GLOBAL": "/dev/null"}
        for words in (
            ["init", "-q", *settings],
            ["add", "."],
            ["-c", "user.name=Ann", "-c", "user.email=ann@x.org", "commit", "-qm", "done"],
        ):
            subprocess.run(["git", "-C", str(folder), *words], check=True, env=environment)
        return folder / "labs" / "tree.cu"

    def report(self) -> tuple[collect.Report, dict]:
        report = collect.collect(self.folder / "in", STUBS, Roster([ANN]), self.into, sandbox.Sandbox())
        return report, json.loads((self.into / "submissions/ann/02_tree/about.json").read_text())

    def test_the_time_of_the_commit_counts_for_what_was_committed(self):
        file = self.clone(TREE)
        report, about = self.report()
        self.assertEqual((about["time"], about["flags"], report.uncommitted), (self.COMMITTED, [], []))
        file.write_text(TREE.replace("\n", "\r\n"), newline="")  # as a clone on another system writes it
        self.assertEqual(self.report()[1]["time"], self.COMMITTED)

    def test_a_file_that_was_changed_after_the_commit_has_its_own_time_and_is_listed(self):
        file = self.clone(STUB)
        file.write_text(TREE)
        os.utime(file, (1_700_000_000, 1_700_000_000))
        report, about = self.report()
        self.assertEqual(about["time"], 1_700_000_000)
        self.assertRegex(report.uncommitted[0], "^ann 02_tree: ann/labs/tree.cu is not the file of the last commit")
        self.assertEqual(len(about["flags"]), 1)
        os.utime(file, (1, 1))  # anybody can set this, too
        self.assertEqual(self.report()[1]["time"], self.COMMITTED)

    def test_git_is_not_asked_where_it_would_wait_for_a_pipe(self):
        repository = self.clone(TREE).parents[1] / ".git"
        (repository / "HEAD").unlink()
        os.mkfifo(repository / "HEAD")
        began = time.monotonic()
        self.report()
        self.assertLess(time.monotonic() - began, 8)  # git would have had 10 s

    def test_settings_of_the_clone_start_no_program(self):
        """A signature has git run the program that the clone's settings name: contained, but it could end git or speak for it."""
        file = self.clone(TREE)
        git = ["git", "-C", str(file.parents[1])]
        said = subprocess.run([*git, "cat-file", "commit", "HEAD"], check=True, capture_output=True).stdout
        signed = said.replace(b"\n\n", b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1)
        made = subprocess.run([*git, "hash-object", "-t", "commit", "-w", "--stdin"], input=signed, check=True, capture_output=True).stdout
        (file.parents[1] / ".git" / "ends").write_text("#!/bin/sh\nkill -9 $PPID\n")
        (file.parents[1] / ".git" / "ends").chmod(0o755)
        for words in (
            ["update-ref", "HEAD", made.decode().strip()],
            ["config", "log.showSignature", "true"],
            ["config", "gpg.program", "/repository/ends"],
        ):
            subprocess.run([*git, *words], check=True)
        self.assertEqual(self.report()[1]["time"], self.COMMITTED)

    def test_a_file_that_was_never_committed_is_listed(self):
        self.clone(STUB).rename(self.folder / "in" / "ann" / "tree.cu")
        self.assertEqual(len(self.report()[0].uncommitted), 1)


class Rosters(Case):
    def test_columns_by_other_names(self):
        path = self.folder / "roster.csv"
        path.write_text("\ufeffSIS User ID,First name,Surname,Email address\n007,Ann,Lee,ann@x.org\n", "utf-8")
        roster = read(path)
        for name in ("007", "ANN@X.ORG"):
            self.assertEqual(roster.by_id(name).id, "007", name)
        for name in ("Ann Lee", "leeann"):
            self.assertEqual(roster.by_name(name).id, "007", name)

    def test_two_of_one_name_are_told_apart_by_id_only(self):
        roster = Roster([Student("a1", "Jan Smit"), Student("a2", "Jan Smit")])
        self.assertIsNone(roster.by_name("Jan Smit"))
        self.assertEqual(roster.by_id("a2").id, "a2")


class FullDisk(Case):
    def test_what_was_collected_before_is_left_as_it_was(self):
        self.take(self.zip({"ann/tree.cu": TREE}), ANN)
        real = Path.write_text

        def full(path: Path, text: str, *more) -> int:
            real(path, text[:100], *more)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with mock.patch.object(Path, "write_text", full), self.assertRaises(OSError):
            self.take(self.zip({"ann/tree.cu": STUB}), ANN)
        self.assertEqual(self.taken("ann"), TREE)
        self.assertEqual([path.name for path in (self.into / "submissions" / "ann").iterdir()], ["02_tree"])
        with mock.patch.object(Path, "write_text", full), self.assertRaises(OSError):
            config.load(self.folder / "new")
        self.assertFalse((self.folder / "new" / "course.toml").exists())


class Commands(unittest.TestCase):
    """What comes after `collect` names it, before anything is installed or built, and makes no folder."""

    def test_a_place_that_is_no_folder_is_named(self):
        with tempfile.TemporaryDirectory() as name:
            Path(name, "in").mkdir()
            Path(name, "file").write_text("x")
            for place in ("file", "file/class"):
                said = support.kit("collect", f"{name}/in", "--class", f"{name}/{place}")
                self.assertGreater(said.returncode, 0)
                self.assertRegex(said.stderr, "^kit: error: (--class )?.*/file")
                self.assertNotIn("Traceback", said.stderr)

    def test_every_command_after_it_says_so(self):
        with tempfile.TemporaryDirectory() as name:
            for words in (["grade"], ["grades", "--to", "csv"], ["feedback"], ["board"]):
                with self.subTest(command=words[0]):
                    said = support.kit(*words, "--class", f"{name}/class")
                    self.assertEqual((said.returncode, said.stdout), (1, ""))
                    self.assertIn("nothing has been collected there\nRun ./kit class collect SOURCE first", said.stderr)
                    self.assertFalse(Path(name, "class").exists())

    def test_a_source_without_a_submission_is_a_failure(self):
        with tempfile.TemporaryDirectory() as name:
            Path(name, "in").mkdir()
            Path(name, "in", "thesis.pdf").write_text("%PDF")
            said = support.kit("collect", f"{name}/in", "--class", f"{name}/class")
            self.assertEqual(said.returncode, 1, said.stderr)
            self.assertIn("no file there belongs to a lab", said.stderr)

    @support.needs_sandbox
    def test_lab_12_is_collected_but_only_people_mark_it(self):
        with tempfile.TemporaryDirectory() as name:
            into = Path(name, "class")
            Path(name, "in", "ann").mkdir(parents=True)
            Path(name, "in", "ann", "many_gpus.cu").write_text((support.ROOT / "solutions/12_many_gpus/many_gpus.cu").read_text())
            self.assertEqual(support.kit("collect", f"{name}/in", "--class", str(into)).returncode, 0)
            self.assertTrue((into / "submissions/ann/12_many_gpus/many_gpus.cu").exists())
            said = support.kit("grade", "--here", "--lab", "12", "--class", str(into))
            self.assertEqual(said.returncode, 2)
            self.assertIn("12_many_gpus is not graded by machine: its host functions drive several devices, NCCL and MPI", said.stderr)
            (into / "course.toml").write_text('labs = ["12_many_gpus"]\n')
            said = support.kit("grade", "--here", "--class", str(into))
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertIn("12_many_gpus: 1 handed in, 0 with points in overrides.csv", said.stdout)

    def test_a_lab_that_does_not_exist_is_named(self):
        with tempfile.TemporaryDirectory() as name:
            Path(name, "in").mkdir()
            said = support.kit("collect", f"{name}/in", "--lab", "77", "--class", f"{name}/class")
            self.assertEqual(said.returncode, 2)
            self.assertIn("--lab 77: no such lab\nThe labs: 01_naive_atomic", said.stderr)
            self.assertFalse(Path(name, "class").exists())

    def test_grading_that_was_killed_is_told_from_none(self):
        with tempfile.TemporaryDirectory() as name:
            into = support.small_class(Path(name), 1)
            self.assertIn("nothing has been graded there yet", support.kit("grades", "--to", "csv", "--class", str(into)).stderr)
            (into / "results" / "01_naive_atomic").mkdir(parents=True)
            (into / "results" / "01_naive_atomic" / "key.json").write_text("{}")
            said = support.kit("grades", "--to", "csv", "--class", str(into))
            self.assertEqual(said.returncode, 1)
            self.assertIn("grading has not come to its end there\nRun ./kit class grade again", said.stderr)

    def test_an_unknown_student_is_named(self):
        with tempfile.TemporaryDirectory() as name:
            into = support.small_class(Path(name), 1)
            said = support.kit("grade", "--student", "nobody", "--class", str(into))
            self.assertEqual(said.returncode, 2)
            self.assertIn("--student nobody: there is no such student in this class\nThe ids: s0", said.stderr)

    def test_a_board_without_lab_09_says_so(self):
        with tempfile.TemporaryDirectory() as name:
            said = support.kit("board", "--class", str(support.small_class(Path(name), 1)))
            self.assertEqual(said.returncode, 1)
            self.assertIn("nobody has handed in 09_speed_of_light", said.stderr)


class Names(unittest.TestCase):
    def test_shown_is_printable(self):
        self.assertTrue(archive.shown("a\033[2J\u202eb\n" * 100).isprintable())


if __name__ == "__main__":
    unittest.main()
