"""What a long set-up says while it works, and when a build folder is made anew."""

import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit import console
from kit.errors import KitError
from kit.programs import folder, ninja
from kit.setup.toolchain import Tools


class Steps(unittest.TestCase):
    def test_they_are_numbered_in_their_order_and_end(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            steps = console.Steps()
            steps.begin("venv", "a")
            steps.plan(["venv", "compile"])
            for name, text in [("venv", "b"), ("docs", "c"), ("compile", "d"), ("compile", "e")]:
                steps.begin(name, text)
        self.assertEqual(said.getvalue().splitlines(), ["kit: a", "kit: step 1 of 2: b", "kit: c", "kit: step 2 of 2: d", "kit: e"])

    def test_long_work_into_a_pipe_says_where_it_is_now_and_then(self):
        said, now = io.StringIO(), 100.0
        with (
            contextlib.redirect_stderr(said),
            mock.patch.object(console.time, "monotonic", lambda: now),
            console.progress("building") as show,
        ):
            for done in range(1, 121):
                now += 0.25
                show(done, 120)
        self.assertEqual(said.getvalue().splitlines(), [f"kit: building, step {n} of 120" for n in (40, 80, 120)])


class Anew(unittest.TestCase):
    """A build folder, with a Meson that only notes how it was called."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        place = Path(temporary.name)
        self.calls = []
        (place / "build").mkdir()
        for module, values in {
            folder: {"FOLDER": place / "build", "exclusive": contextlib.nullcontext, "output": self.meson, "compile_commands": mock.Mock(), "say": mock.Mock()},
            console.steps: {"planned": []},
        }.items():  # fmt: skip
            for name, value in values.items():
                patch = mock.patch.object(module, name, value)
                patch.start()
                self.addCleanup(patch.stop)

    def meson(self, command, env):
        folder.FOLDER.mkdir(exist_ok=True)
        self.calls.append((command[1], env.get("CXX")))
        return mock.Mock(returncode=0)

    def configured(self, ninja="/usr/bin/true", **environment: str) -> str:
        """Configures and returns what was said about why."""
        folder.say.reset_mock()
        outside = {name: value for name, value in os.environ.items() if name != "CXX"}
        with mock.patch.dict(os.environ, outside | environment, clear=True), contextlib.redirect_stderr(io.StringIO()):
            self.build = folder.configured(Tools("meson", ninja, Path("/usr/bin/nvcc"), False))
        return " ".join(call.args[0] for call in folder.say.call_args_list)

    def test_a_compiler_that_is_named_later_is_used_and_stays_until_it_is_removed(self):
        compiler = folder.FOLDER.parent / "g++-11"
        compiler.touch(mode=0o755)
        named = f"{compiler} -m64"
        self.configured()
        self.assertEqual(self.calls, [("setup", None)])
        self.assertIn("CXX names another compiler", self.configured(CXX=named))
        self.assertEqual(self.configured(), "")
        self.assertEqual(self.configured(CXX=named), "")
        self.assertEqual(self.calls, [("setup", None), ("setup", named)])
        compiler.unlink()
        self.assertIn("the one that it named is gone", self.configured())
        self.assertEqual(self.configured(), "")
        self.assertEqual(self.calls, [("setup", None), ("setup", named), ("setup", None)])

    def test_the_ninja_that_built_it_stays_whatever_the_path_finds_until_it_is_removed(self):
        first = folder.FOLDER.parent / "ninja of its own"
        first.touch(mode=0o755)
        self.configured(str(first))
        self.assertEqual(self.configured("/usr/bin/true"), "")
        self.assertEqual((self.build.ninja, self.build.environment["NINJA"]), (str(first), str(first)))
        first.unlink()
        self.assertEqual(self.configured("/usr/bin/true"), "")
        self.assertEqual(self.build.ninja, "/usr/bin/true")
        self.assertEqual(self.calls, [("setup", None)])

    def test_a_moved_clone_says_so(self):
        self.configured()
        record = folder.FOLDER / "kit-configuration.json"
        record.write_text(json.dumps(json.loads(record.read_text()) | {"root": "/elsewhere"}))
        self.assertEqual(self.configured(), "the build begins anew: the clone was moved")
        self.assertEqual(len(self.calls), 2)

    def test_a_disk_that_fills_up_while_building(self):
        script = ["sh", "-c", "echo 'fatal error: error writing to x.o: No space left on device'; exit 1"]
        with self.assertRaisesRegex(KitError, "the disk is full: the build stopped") as raised:
            ninja.run(script, dict(os.environ), print)
        self.assertIn("A whole set-up takes 445 MB in ", raised.exception.advice)


if __name__ == "__main__":
    unittest.main()
