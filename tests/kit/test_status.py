"""`kit status`: what is known is shown before anything is built or run, and one lab that fails keeps nobody from the others."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit.commands import status
from kit.programs import labs
from kit.programs.ninja import BuildFailed
from kit.progress import course, known

SOURCE = """// BEGIN open
// TODO: Do this. (1 line)
// END open
// BEGIN filled
x = 1;
// END filled
"""
# A program that writes down each time it runs.
PROGRAM = """#!/bin/sh
echo "$@" >> "{folder}/runs"
case "$*" in *--list*) echo '{list}';; *) echo '{verdicts}';; esac
"""
VERDICTS = [{"name": "open", "state": "todo"}, {"name": "filled", "state": "wrong", "reason": "n = 1: expected 1, got 0", "checks": []}]
FAILED = 'FAILED: labs/01_a.p/01_a_a.cu.o\nnvcc\n../../labs/01_a/a.cu(5): error: identifier "x" is undefined\n'


class Status(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.found = [self.lab(name) for name in ("01_a", "02_b")]
        self.every = [course.Rung(lab, name) for lab in self.found for name in ("open", "filled")]
        self.build = SimpleNamespace(emulator=lambda: self.folder / "none")
        for where, name, value in (
            (course, "REMEMBERED", self.folder / "passed.json"),
            (known, "REMEMBERED", self.folder / "answers.json"),
            (status.folder, "prepare", lambda: self.build),
            (labs, "find", lambda build, solved: self.found),
            (course, "rungs", lambda build, chosen: [rung for rung in self.every if rung.lab in chosen]),
            (labs, "compile", lambda build, chosen: self.compile(chosen[0])),
        ):
            patched = mock.patch.object(where, name, value)
            patched.start()
            self.addCleanup(patched.stop)
        self.compile = lambda lab: ""

    def lab(self, name: str, state: str = "filled") -> labs.Lab:
        folder = self.folder / name
        folder.mkdir()
        (folder / "a.cu").write_text(SOURCE)
        listed = json.dumps({"rungs": [{"name": "open", "state": "todo"}, {"name": "filled", "state": state}]})
        (folder / "program").write_text(PROGRAM.format(folder=folder, list=listed, verdicts=json.dumps({"rungs": VERDICTS})))
        (folder / "program").chmod(0o755)
        return labs.Lab(name, folder / "program", folder / "a.cu")

    def runs(self, lab: str) -> int:
        path = self.folder / lab / "runs"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def said(self, as_json: bool = False) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(status.run(SimpleNamespace(lab=None, json=as_json)), 0)
        return out.getvalue()

    def test_what_is_known_comes_before_anything_is_built_or_run(self):
        out, shown = io.StringIO(), []
        self.compile = lambda lab: shown.append(out.getvalue())
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            status.run(SimpleNamespace(lab=None, json=False))
        self.assertRegex(shown[0], r"open +todo +\S*a\.cu:2\n +filled +not checked")
        self.assertRegex(out.getvalue()[len(shown[0]) :], r"filled +wrong +n = 1: expected 1, got 0")

    def test_what_has_not_changed_is_not_run_again(self):
        self.said()
        runs = self.runs("01_a")
        again = self.said()
        self.assertEqual(self.runs("01_a"), runs)
        self.assertEqual(again.count("filled"), 2, "each lab is shown once")
        self.assertIn("n = 1: expected 1, got 0", again)
        self.found[0].source.write_text(SOURCE.replace("x = 1", "x = 2"))
        self.assertIn("not checked", self.said())
        self.assertGreater(self.runs("01_a"), runs)
        self.assertEqual(self.runs("02_b"), runs)

    def test_a_lab_that_does_not_compile_keeps_nobody_from_the_others(self):
        def compile_one(lab):
            if lab.name == "01_a":
                raise BuildFailed(FAILED)

        self.compile = compile_one
        said = self.said()
        self.assertRegex(said, r"01_a\n +open +todo .*\n +filled +not-built +.*identifier \"x\" is undefined")
        self.assertIn("wrong", said)
        answers = json.loads(self.said(as_json=True))
        self.assertEqual([rung["state"] for rung in answers[0]["rungs"]], ["todo", "not-built"])
        self.assertEqual([rung["state"] for rung in answers[1]["rungs"]], ["todo", "wrong"])

    def test_a_program_that_cannot_answer_keeps_nobody_from_the_others(self):
        self.found[0].program.write_text("#!/bin/sh\necho no region ends >&2; exit 1\n")
        self.assertRegex(self.said(), r"filled +wrong")

    def test_what_is_broken_on_purpose_is_told(self):
        self.found.append(self.lab("08_c", "broken"))
        self.every += [course.Rung(self.found[-1], "filled")]
        said = self.said()
        self.assertEqual(said.count("handed out broken on purpose, for you to repair: n = 1"), 1, said)

    def test_what_passed_is_known_from_its_text(self):
        course.Passed().note(self.every[1], True)
        self.assertEqual([rung["state"] for rung in known.Known(self.every).answer(self.found[0])], ["todo", "pass"])


if __name__ == "__main__":
    unittest.main()
