"""Stand-ins for Gradescope and PrairieLearn: the folders as they document them, the scripts that they run, what they take back."""

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import support
from classroom.course import config
from classroom.grading import grader
from classroom.isolation import sandbox
from classroom.services import answers, packages
from kit.errors import SETUP, KitError
from kit.setup import environment

LAB = "01_naive_atomic"
SOLVED = (support.ROOT / "solutions" / LAB / "naive_atomic.cu").read_text()
ATTACKS = (
    "reads_memory_of_others",
    "ends_the_grader",
    "daemon",
    "speaks_the_protocol",
    "inherited_descriptors",
    "includes_solution_by_path",
)


SCHEMAS = environment.VENV / "bin" / "check-jsonschema"
SMALL = all(os.access(f"/sys/fs/cgroup/{kind}/cgroup.procs", os.W_OK) for kind in ("memory", "cpu"))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        config.load(self.folder / "class")
        self.settings = {"course.toml": (self.folder / "class" / "course.toml").read_bytes()}

    def run_script(self, script: bytes, **places: Path) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", "-c", script.decode()],
            env=os.environ | {name: str(place) for name, place in places.items()},
            text=True,
            capture_output=True,
        )


@support.needs_sandbox
class Gradescope(Case):
    def grade(self, files: dict[str, str]) -> dict:
        top = self.folder / "autograder"
        for name in ("source", "submission", "results"):
            (top / name).mkdir(parents=True, exist_ok=True)
        packages.write("gradescope", LAB, self.folder / "autograder.zip", self.settings)
        with zipfile.ZipFile(self.folder / "autograder.zip") as file:
            file.extractall(top / "source")
            modes = {entry.filename: entry.external_attr >> 16 for entry in file.infolist()}
        self.assertTrue(modes["run_autograder"] & 0o111 and modes["setup.sh"] & 0o111)
        if not (top / "source" / "course").exists():
            (top / "source" / "course").symlink_to(support.ROOT)  # as setup.sh would have unpacked and built it
        for name, text in files.items():
            (top / "submission" / name).write_text(text)
        self.said = self.run_script((top / "source" / "run_autograder").read_bytes(), AUTOGRADER=top)
        return json.loads((top / "results" / "results.json").read_text())

    def test_the_solution_has_full_marks(self):
        told = self.grade({"naive_atomic.cu": SOLVED})
        self.assertEqual((self.said.returncode, told["score"]), (0, 1), self.said.stderr)
        for test in told["tests"]:
            self.assertTrue({"name", "score", "max_score", "status", "output", "visibility"} <= set(test))
            self.assertIn(test["status"], ("passed", "failed"))
            self.assertIn(test["visibility"], ("hidden", "after_due_date", "after_published", "visible"))
        self.assertEqual(told["leaderboard"][0]["value"], 1)
        self.assertEqual(sum(test["score"] for test in told["tests"]), told["score"])

    def test_a_mistake_is_explained_and_nothing_handed_in_is_said(self):
        told = self.grade({"naive_atomic.cu": SOLVED.replace("if (i < n) atomicAdd(result, input[i])", "if (i < n) *result += input[i]")})
        self.assertEqual((told["score"], told["tests"][0]["status"]), (0, "failed"))
        self.assertIn("wrong", told["tests"][0]["output"])

    def test_nothing_handed_in(self):
        told = self.grade({"thesis.txt": "all of it"})
        self.assertEqual(told["score"], 0)
        self.assertIn("naive_atomic.cu", told["output"])


@support.needs_sandbox
class PrairieLearn(Case):
    def test_a_submission_is_graded(self):
        packages.write("prairielearn", LAB, self.folder / "image", self.settings)
        self.assertIn("COPY course.tar.gz", (self.folder / "image" / "Dockerfile").read_text())
        grade, image = self.folder / "grade", self.folder / "image"
        (grade / "student").mkdir(parents=True)
        (grade / "student" / "naive_atomic.cu").write_text(SOLVED)
        (image / "course").symlink_to(support.ROOT)
        said = self.run_script((image / "run.sh").read_bytes(), GRADE=grade, GRADER=image)
        told = json.loads((grade / "results" / "results.json").read_text())
        self.assertEqual((told["gradable"], told["score"]), (True, 1.0), said.stderr)
        for test in told["tests"]:
            self.assertTrue({"name", "points", "max_points"} <= set(test))


@support.needs_sandbox
class GitService(Case):
    """The workflow's steps, with folders beside one another as its checkouts make them."""

    def test_no_token_reaches_what_a_student_may_edit(self):
        text = self.workflow()
        self.assertNotIn("push", re.search(r"^on:\n((?: .*\n)+)", text, re.M)[1])  # it runs in the instructor's repository, not in theirs
        self.assertEqual(text.count("actions/checkout"), text.count("persist-credentials: false"))
        self.assertEqual(set(re.findall(r"secrets\.(\w+)", text)), {"STUDENTS_TOKEN"})

    def workflow(self) -> str:
        packages.write("git", LAB, self.folder / "grade.yml", self.settings)
        return (self.folder / "grade.yml").read_text()

    def test_its_last_command_grades_what_was_pushed(self):
        (self.folder / "submission" / "labs" / LAB).mkdir(parents=True)
        (self.folder / "submission" / "labs" / LAB / "naive_atomic.cu").write_text(SOLVED)
        (self.folder / "course").symlink_to(support.ROOT)
        command = re.findall(r"^ *run: (./kit class autograder run .*)$", self.workflow(), re.M)[0]
        # The shell's own idea of where it is, as the course is a link here: ../submission lies beside it.
        words = command.replace("../", f"{self.folder}/")
        said = subprocess.run(["bash", "-c", words], cwd=self.folder / "course", text=True, capture_output=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        told = json.loads((self.folder / "grade.json").read_text())
        self.assertEqual((told["points"], told["most"], told["rungs"][0]["state"]), (1, 1, "pass"))

    @unittest.skipUnless(SCHEMAS.exists(), "check-jsonschema is not in the kit's environment: ./kit lint installs it")
    def test_it_is_a_workflow(self):
        self.workflow()
        command = [SCHEMAS, "--builtin-schema", "vendor.github-workflows", self.folder / "grade.yml"]
        said = subprocess.run(command, text=True, capture_output=True)
        self.assertEqual(said.returncode, 0, said.stdout)


@support.needs_sandbox
@unittest.skipUnless(SMALL, "no control groups that this user may make (version 1, of memory and cpu)")
class Paths(unittest.TestCase):
    """What does not exist is said at once; it is neither 0 points nor made."""

    def test_a_submission_or_a_folder_that_does_not_exist_is_an_error(self):
        with tempfile.TemporaryDirectory() as name:
            Path(name, "in").mkdir()
            for submission, written, said in (
                ("missing", "x.json", "--submission"),
                ("in", "none/x.json", "there is no folder"),
                ("in", "in", "is a folder"),
            ):
                with self.subTest(said=said):
                    words = ("autograder", "run", "--lab", LAB, "--submission", f"{name}/{submission}", "--results", f"{name}/{written}")
                    told = support.kit(*words)
                    self.assertEqual(told.returncode, 2, told.stdout)
                    self.assertIn(said, told.stderr)
                    self.assertEqual([path.name for path in Path(name).iterdir()], ["in"])


@unittest.skipUnless(
    all(os.access(f"/sys/fs/cgroup/{kind}", os.W_OK) for kind in ("memory", "cpu")), "no control groups of version 1 to write to"
)
class AsSmallAsGradescopes(Case):
    """768 MB and half a CPU, which the kernel enforces."""

    def test_a_lab_of_each_kind_is_graded(self):
        for name in ("02_tree", "08_hazards", "09_speed_of_light"):
            lab = support.labs(name)[0]
            with self.subTest(lab=name):
                place = self.folder / name
                place.mkdir()
                (place / lab.file).write_text(lab.solution.read_text())
                groups = [Path(f"/sys/fs/cgroup/{kind}/warpfold-test-{os.getpid()}-{name}") for kind in ("memory", "cpu")]
                try:
                    for group in groups:
                        group.mkdir()
                    (groups[0] / "memory.limit_in_bytes").write_text(str(768 << 20))
                    (groups[1] / "cpu.cfs_quota_us").write_text("50000")
                    command = [sys.executable, support.ROOT / "kit", "class", "autograder", "run", "--lab", name, "--form", "gradescope", "--submission", place,
                               "--results", self.folder / f"{name}.json", "--class", self.folder / "class"]  # fmt: skip
                    entering = " && ".join(f"echo $$ > {group}/cgroup.procs" for group in groups)
                    said = subprocess.run(["bash", "-c", f'{entering} && exec "$@"', "bash", *command], text=True, capture_output=True)
                    peak = int((groups[0] / "memory.max_usage_in_bytes").read_text()) >> 20
                finally:
                    for group in groups:
                        group.rmdir()
                self.assertEqual(said.returncode, 0, said.stderr)
                told = json.loads((self.folder / f"{name}.json").read_text())
                self.assertEqual(told["score"], sum(test["max_score"] for test in told["tests"]), told)
                print(f"{name}: {peak} MiB at most, {told['execution_time']} s with half a CPU")


class Archives(Case):
    def test_the_course_in_it_is_whole(self):
        with tarfile.open(fileobj=io.BytesIO(packages.whole_course())) as archive:
            names = set(archive.getnames())
        self.assertIn("course/kit", names)
        self.assertIn("course/solutions/02_tree/tree.cu", names)

    def test_what_could_not_be_graded_is_no_zero(self):
        from classroom.course.roster import Student
        from classroom.marking.marks import Mark

        mark = Mark(Student("a"), LAB, 1, None, "not graded", "the machine burnt down")
        self.assertNotIn("score", answers.as_form("gradescope", mark, 1))
        told = answers.as_form("prairielearn", mark, 1)
        self.assertEqual((told["gradable"], "score" in told), (False, False))


@support.needs_sandbox
class Unsafe(unittest.TestCase):
    def test_without_a_sandbox_the_verdict_is_the_same_and_says_so(self):
        lab, text = support.labs("01")[0], SOLVED.replace("if (i < n) atomicAdd", "atomicAdd")
        found = [grader.grade(lab, text, support.HIDDEN, room) for room in (sandbox.Sandbox(), sandbox.Sandbox(unsafe=True))]
        self.assertEqual(found[0]["rungs"], found[1]["rungs"])
        self.assertEqual([each["unsafe"] for each in found], [False, True])


@unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
class AnotherUser(unittest.TestCase):
    """Where a service's container allows no sandbox: no walls, but users of their own."""

    def test_an_honest_one_passes_and_attacks_gain_nothing(self):
        if any(folder.stat().st_mode & 0o005 != 0o005 for folder in [support.ROOT, *support.ROOT.parents]):
            self.skipTest("other users cannot get to this clone")
        lab, room = support.labs("01")[0], sandbox.Sandbox(dropping=True)
        honest = grader.grade(lab, SOLVED, support.HIDDEN, room)
        self.assertEqual(support.states(honest), {"naive_atomic": "pass"}, honest["why"])
        for name in ATTACKS:
            with self.subTest(attack=name):
                text = support.attack(support.ATTACKS / f"{name}.cu", Path("/root/course"))
                result = grader.grade(lab, text, support.HIDDEN, room)
                self.assertNotIn("pass", support.states(result).values(), result)
        self.assertEqual(support.left_behind(), [])


class Secrets(unittest.TestCase):
    def test_no_command_line_tells_on_what_a_submission_is_judged(self):
        """Everybody on a machine reads command lines; in a container without a sandbox, the student's program does too."""
        lab, room, start, words = support.labs("01")[0], sandbox.Sandbox(unsafe=True), sandbox.Sandbox.start, []

        def listening(self, command, *more, **options):
            words.extend(command)
            return start(self, command, *more, **options)

        with mock.patch.object(sandbox.Sandbox, "start", listening):
            result = grader.grade(lab, SOLVED, support.HIDDEN, room)
        self.assertEqual(support.states(result), {"naive_atomic": "pass"})
        self.assertIn("n = 12345", json.dumps(result))  # the sizes arrive all the same
        told = [str(grader.seed_of(support.HIDDEN, lab.name, grader.spliced_with(lab, SOLVED).text)), *support.HIDDEN.sizes]
        self.assertEqual([word for word in words for each in told if each in word], [])


class NoSandbox(unittest.TestCase):
    def test_it_refuses_and_says_what_to_do_unless_told_otherwise(self):
        why = "bubblewrap cannot make a sandbox here: Operation not permitted"
        with (
            mock.patch.object(sandbox, "why_not", return_value=why),
            mock.patch.object(sandbox.shutil, "which", return_value="/usr/bin/bwrap"),
        ):
            with self.assertRaisesRegex(KitError, "no student's code is run: bubblewrap cannot make a sandbox here") as raised:
                sandbox.require(unsafe=False)
            self.assertEqual(raised.exception.code, SETUP)
            self.assertIn("--unsafe grades anyway", raised.exception.advice)
            self.assertTrue(sandbox.require(unsafe=True).unsafe)


if __name__ == "__main__":
    unittest.main()
