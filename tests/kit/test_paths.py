"""Clones in folders with unusual names, and clones that are moved. The small part: what of it takes seconds; the whole is
tests/everywhere/odd_paths.py."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support
from kit.emulate import compiler
from kit.errors import KitError
from kit.programs import compile_commands
from kit.setup import environment, toolchain, toolkit_paths

ODD = "Doe, Jane's #1 (été) & 王 = 100%"
LONG = "a" * 200


class Scripts(unittest.TestCase):
    """pip writes the path of Python into each script, which a kernel cuts off at 255 characters and a shell takes apart."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def script(self, venv: Path, start: str) -> Path:
        (venv / "bin").mkdir(parents=True)
        (venv / "bin" / "python").symlink_to(sys.executable)
        path = venv / "bin" / "tool"
        path.write_text(f"{start}import sys\nprint('it runs', sys.argv[1:])\n")
        path.chmod(0o755)
        with mock.patch.object(environment, "VENV", venv):
            environment.free_scripts()
            once = path.read_text()
            environment.free_scripts()
        self.assertEqual(path.read_text(), once)
        return path

    def assertRuns(self, path: Path):
        said = subprocess.run([path, "a b"], text=True, capture_output=True)
        self.assertEqual(said.stdout, "it runs ['a b']\n", said.stderr)

    def test_they_run_in_any_folder_and_after_it_was_moved(self):
        for number, start in enumerate(("#!/gone/bin/python3.12\n", "#!/bin/sh\n'''exec' \"/gone a/bin/python\" \"$0\" \"$@\"\n' '''\n")):
            with self.subTest(start=start):
                place = self.folder / str(number)
                path = self.script(place / ODD / LONG, start)
                self.assertRuns(path)
                moved = shutil.move(place, self.folder / f"moved {number}")
                self.assertRuns(Path(moved) / path.relative_to(place))

    def test_a_script_that_is_not_python_s_stays(self):
        self.assertEqual(self.script(self.folder / "venv", "#!/bin/sh\n#").read_text().splitlines()[0], "#!/bin/sh")


class Paths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tools = toolchain.prepare()
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name) / ODD / LONG
        cls.folder.mkdir(parents=True)

    def run_here(self, *command, **options) -> str:
        said = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder, **options)
        self.assertEqual(said.returncode, 0, said.stdout)
        return said.stdout

    def test_a_clone_is_configured_compiled_and_linked(self):
        clone = self.folder / "warpfold"
        for name in support.tracked_files():
            if (support.ROOT / name).is_file() and not name.startswith(("docs", "tests/")):
                (clone / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(support.ROOT / name, clone / name, follow_symlinks=False)
        build = clone / ".kit" / "build"
        own = support.ROOT / ".kit" / "libraries"
        if self.tools.kit_libraries:
            (build.parent).mkdir()
            (build.parent / "libraries").symlink_to(own)
        how = f"-Dkit_libraries={str(self.tools.kit_libraries).lower()}"
        self.run_here(self.tools.meson, "setup", build, clone, how, env=self.tools.environ())
        described = {entry["file"] for entry in json.loads((clone / ".kit" / "compile_commands.json").read_text())}
        self.assertIn(str(clone / "labs" / "01_naive_atomic" / "naive_atomic.cu"), described, "what an editor reads")
        # A library of C++, and a program that nvcc compiles.
        self.run_here(
            self.tools.ninja, "-C", build, "common/emulator/fatbin/libemulator_fatbin.a", "common/lab/links", env=self.tools.environ()
        )
        self.assertTrue(os.access(build / "common" / "lab" / "links", os.X_OK))

    def test_editors_read_how_the_kits_own_build_compiles_where_there_is_one(self):
        own, file = self.folder / "build", self.folder / "compile_commands.json"
        patches = {"OWN": self.folder, "FILE": file, "KITS_BUILD": own}
        with mock.patch.multiple(compile_commands, **patches), mock.patch.object(compile_commands, "inspect"):
            for there, said in (("plain", "plain"), ("build", "build"), ("plain", "build")):
                source = self.folder / there / f"{there}.cpp"
                source.parent.mkdir(exist_ok=True)
                entry = {"directory": str(source.parent), "command": "c++ -c", "file": source.name, "output": "it"}
                (source.parent / "compile_commands.json").write_text(json.dumps([entry]))
                compile_commands.after_meson(str(source.parent), "nvcc")
                self.assertEqual([Path(one["file"]).stem for one in json.loads(file.read_text())], [said])

    def test_kit_nvcc_finds_headers_and_the_runtime_by_such_paths(self):
        headers = self.folder / "headers"
        headers.mkdir()
        (headers / "own.h").write_text("")
        (self.folder / "program.cu").write_text("#include <own.h>\nint main() {}\n")
        of_toolkit = compiler.Compiler(self.tools.nvcc, toolkit_paths.inspect(self.tools.nvcc).library, self.folder / "runtime")
        with mock.patch.object(compiler, "NCCL_HEADERS", headers):
            self.run_here(*of_toolkit.command(["program.cu", "-o", "program"]), env=self.tools.environ())
        self.assertIn(str(self.folder / "runtime").encode() + b"\0", (self.folder / "program").read_bytes())

    def test_a_path_that_cannot_work_is_refused_at_once(self):
        toolchain.require_usable_path(str(self.folder))
        for sign in ('"', "$", "`", ":", ";"):
            with self.subTest(sign=sign), self.assertRaisesRegex(KitError, "the path of this clone, .* contains"):
                toolchain.require_usable_path(f"/home/me/{sign}/warpfold")


if __name__ == "__main__":
    unittest.main()
