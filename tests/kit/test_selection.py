"""`kit test`: which tests a command line means, and what is built for them."""

import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit.commands import test
from kit.errors import USAGE, KitError
from kit.programs import labs, tests
from kit.programs.folder import Build

TARGETS = [
    {"id": "a@exe", "filename": ["/build/races_test"]}, {"id": "b@sha", "filename": ["/build/libcudart.so"]},
    {"id": "c@exe", "filename": ["/build/labs/02_tree"]},
]  # fmt: skip


def entry(name: str, suite: str, *depends: str) -> dict:
    return {"name": name, "suite": [f"warpfold:{suite}"], "depends": list(depends)}


TESTS = [entry("watch/races", "emulator", "a@exe", "b@sha"), entry("watch/naming", "emulator", "a@exe"), entry("kit cli", "kit"),
         entry("02_tree", "labs", "c@exe", "b@sha")]  # fmt: skip


class Selection(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        info = Path(folder.name) / "meson-info"
        info.mkdir()
        for name, content in (("targets", TARGETS), ("tests", TESTS)):
            (info / f"intro-{name}.json").write_text(json.dumps(content))
        self.tests = tests.of(Build(Path(folder.name), "true", {"PATH": "/usr/bin:/bin"}))

    def names(self, names: list[str], *suites: str) -> list[str]:
        return [each.name for each in tests.chosen(self.tests, names, list(suites))]

    def test_all_but_the_students_own(self):
        self.assertEqual(self.names([]), ["watch/races", "watch/naming", "kit cli"])

    def test_by_name_wildcard_and_suite(self):
        self.assertEqual(self.names(["watch/*"]), ["watch/races", "watch/naming"])
        self.assertEqual(self.names([], "labs", "kit"), ["kit cli", "02_tree"])
        self.assertEqual(self.names(["02_tree"], "labs"), ["02_tree"])

    def test_the_name_of_a_lab_means_the_students_own_file(self):
        self.assertEqual(self.names(["02_tree"]), ["02_tree"])
        self.assertEqual(self.names(["02_tree", "watch/*"]), ["watch/races", "watch/naming", "02_tree"])
        for names, suites, told in [
            (["02_tree"], [], ["02_tree"]),
            (["*", "02_tree"], [], ["watch/races", "watch/naming", "kit cli", "02_tree"]),
            (["watch/*"], [], ["watch/*", "--no-suite=labs"]),
            (["02_tree"], ["labs"], ["02_tree", "--suite=labs"]),
            ([], [], ["--no-suite=labs"]),
        ]:
            chosen = tests.chosen(self.tests, names, suites)
            self.assertEqual(test.words_for_meson(SimpleNamespace(names=names, suite=suites), chosen), told)

    def test_builds_what_they_need_once_and_nothing_else(self):
        self.assertEqual(tests.needs(tests.chosen(self.tests, ["watch/*"], [])), [Path("/build/races_test"), Path("/build/libcudart.so")])
        self.assertEqual(tests.needs(tests.chosen(self.tests, ["kit cli"], [])), [])

    def test_names_that_there_are_not(self):
        for names, suites, message, advice in [
            (["watch/rases"], [], "no test is called watch/rases", "Did you mean: watch/races"),
            (["kit cli", "dance"], [], "no test is called dance", "--list"),
            ([], ["emulater"], "no suite is called emulater", "emulator, kit, labs"),
            (["02_*"], [], "02_* belongs to the suite labs", "--suite labs 02_*"),
        ]:
            with self.assertRaises(KitError) as refused:
                tests.chosen(self.tests, names, suites)
            self.assertEqual(refused.exception.code, USAGE)
            self.assertIn(message, str(refused.exception))
            self.assertIn(advice, refused.exception.advice)

    def test_the_list_has_names_and_suites(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            test.show(tests.chosen(self.tests, [], []))
        self.assertRegex(out.getvalue(), r"(?m)^watch/races +emulator$")
        self.assertNotIn("02_tree", out.getvalue())


class Labs(unittest.TestCase):
    """What is built before a lab's program is run: its emulator, and for OpenCL the emulator's driver too."""

    def built(self, *kernels: str) -> list[Path]:
        files: list[Path] = []
        build = SimpleNamespace(
            emulator=lambda: Path("emulator"), opencl=lambda: [Path("driver")], compile=lambda names, show: files.extend(names)
        )
        with mock.patch.dict("os.environ"):
            os.environ.pop("WARPFOLD_EMULATOR_DIR", None)
            labs.compile(build, [labs.Lab(Path(name).stem, Path(name).with_suffix(""), Path(name)) for name in kernels])
        return files

    def test_opencl_takes_the_driver(self):
        self.assertEqual(self.built("tree.cu"), [Path("tree"), Path("emulator")])
        self.assertEqual(self.built("tree.cu", "opencl.cl"), [Path("tree"), Path("opencl"), Path("emulator"), Path("driver")])


if __name__ == "__main__":
    unittest.main()
