"""CONTRIBUTING.md: the files that it names exist, and its recipes are followed in a copy of the clone: a step that is left
out must make a test fail that names what is missing, and with all steps the tests pass."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
RECIPES = dict(re.findall(r"^## (An? [^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
TO_BE_MADE = re.compile(r"14_variance|NAME")  # the lab and the command of the examples
COPIED = ["common/kit", "common/classroom", "common/emulator", "common/lab", "common/notebook", "docs", "tests/emulator", "tests/kit", "kit", "meson.build",
          "README.md", "requirements.txt"]  # fmt: skip


def files(text: str) -> set[str]:
    """What is named in code and looks like a path."""
    words = {word for code in re.findall(r"`([^`\n]+)`", text) for word in code.split()}
    return {word for word in words if re.fullmatch(r"[\w.-]+(/[\w.-]+)+", word) and not word.startswith((".kit", "./"))}


class Names(unittest.TestCase):
    def test_every_folder_of_tests_is_built(self):
        """One that no meson.build names would never run, and nobody would notice."""
        for path in (ROOT / "tests").glob("**/meson.build"):
            above = [folder / "meson.build" for folder in list(path.parents)[1:] if folder.is_relative_to(ROOT)]
            known = any(f"'{path.parent.relative_to(each.parent)}'" in each.read_text() for each in above if each.exists())
            self.assertTrue(known, f"no meson.build above names {path.parent.relative_to(ROOT)}")

    def test_the_seven_changes_and_more_have_a_recipe(self):
        self.assertLessEqual({"An instruction", "A counter", "A hazard", "A diagnosis", "A lab", "A command", "A test"}, set(RECIPES))

    def test_each_recipe_names_files_that_exist(self):
        for title, text in RECIPES.items():
            named = files(text)
            self.assertTrue(named, title)
            for name in named:
                if not TO_BE_MADE.search(name):
                    self.assertTrue((ROOT / name).exists(), f"{title}: {name}")

    def test_what_the_recipe_of_a_lab_makes_is_what_each_lab_has(self):
        made = {name for name in files(RECIPES["A lab"]) if TO_BE_MADE.search(name)}
        self.assertEqual(len(made), 5)  # and the list makes six
        for name in made:
            self.assertTrue((ROOT / name.replace("14_variance", "02_tree").replace("variance.", "tree.")).exists(), name)

    def test_what_is_to_be_written_there_is_known_there(self):
        for name, word in {
            "common/emulator/machine/instructions/logic.cpp": '{"bmsk", decode_bmsk}',
            "common/emulator/machine/instructions/lanes.hpp": "ternary",
            "common/emulator/analysis/counted.def": "COUNTED(",
            "common/emulator/analysis/counters.cpp": "void charge_memory(",
            "common/emulator/analysis/hazards.def": "HAZARD_CAUSE(",
            "common/emulator/analysis/checker_memory.cpp": "recorder_.add(",
            "common/lab/explain/element_counts.cpp": "ElementCounts::Factors ElementCounts::factors(",
            "common/lab/explain/lost_elements.cpp": "sentence(",
        }.items():
            self.assertIn(word, (ROOT / name).read_text(), name)

    @unittest.skipUnless(os.environ.get("WARPFOLD_KIT_TEST"), "needs the build in .kit: run by ./kit test")
    def test_the_tests_that_a_recipe_runs_exist(self):
        about = ROOT / ".kit/build/meson-info"
        if not any("gtest" in each["name"] for each in json.loads((about / "intro-dependencies.json").read_text())):
            self.skipTest("GoogleTest is missing, so the unit tests in C++ are left out")
        known = [test["name"] for test in json.loads((about / "intro-tests.json").read_text())]
        asked = {word for line in re.findall(r"`\./kit test ([^`]+)`", PAGE) for word in shlex.split(line) if not TO_BE_MADE.search(word)}
        for pattern in {word for word in asked if not word.startswith("--")} - {"NAME", "kit"}:
            self.assertTrue(any(fnmatch(name, pattern) for name in known), pattern)


class Recipes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.clone = Path(folder.name)
        for name in COPIED:
            source, target = ROOT / name, self.clone / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "malformed"))
            else:
                shutil.copy2(source, target)

    def change(self, name: str, after: str, line: str) -> None:
        """Puts a line after the first that begins so."""
        path = self.clone / name
        text = path.read_text()
        found = re.search(rf"^{re.escape(after)}.*\n", text, re.MULTILINE)
        self.assertTrue(found, f"{name} has no line that begins with {after}")
        path.write_text(text[: found.end()] + line + "\n" + text[found.end() :])

    def run_test(self, name: str, *cases: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, self.clone / name, *cases], text=True, capture_output=True, timeout=120)

    def expect_failure(self, about: str, name: str, *cases: str) -> None:
        result = self.run_test(name, *cases)
        self.assertNotEqual(result.returncode, 0, f"{name} passes although a step is left out")
        self.assertIn(about, result.stderr)

    def expect_success(self, name: str, *cases: str) -> None:
        result = self.run_test(name, *cases)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_counter(self):
        test = "tests/emulator/analysis/test_catalogues.py"
        self.change(
            "common/emulator/analysis/counted.def",
            "COUNTED(shuffles",
            'COUNTED(permutations, "permutations", "instructions", "", "a permutation of bytes executed by a warp")',
        )
        self.expect_failure("permutations", test)
        self.change("docs/reference/report.md", "| `shuffles`", "| `permutations` | a permutation of bytes executed by a warp |")
        self.expect_failure("does not count it", test)
        self.change(
            "common/emulator/analysis/counters.cpp",
            "  to.warp_instructions += did.warps;",
            '  if (one.name.starts_with("prmt")) to.permutations += did.warps;',
        )
        self.expect_success(test)
        self.expect_success("tests/kit/test_catalogues.py", "Counters")

    def test_a_hazard(self):
        test = "tests/emulator/analysis/test_catalogues.py"
        self.change(
            "common/emulator/analysis/hazards.def",
            "HAZARD_KIND(leak",
            'HAZARD_KIND(odd_stride, "odd-stride", "00_start.md#memory", "", true, "", false)',
        )
        self.expect_failure("odd-stride", test)
        self.change(
            "docs/reference/report.md", "| `leak`", "| `odd-stride` | a stride that is odd | [memory](../handouts/00_start.md#memory) |"
        )
        self.expect_failure("odd_stride", test)
        self.change("common/emulator/analysis/checker.cpp", "#include", "// HazardKind::odd_stride")
        self.expect_success(test)

    def test_a_command(self):
        source = '"""`kit hello`: says hello."""\nPURPOSE = "say hello"\nGROUP = "work on the kit"\nORDER = 195\n\n\ndef arguments(parser) -> None:\n'
        source += '    parser.add_argument("--loud", action="store_true", help="say it louder")\n\n\ndef run(options) -> int:\n    print("hello")\n    return 0\n'
        (self.clone / "common/kit/commands/hello.py").write_text(source)
        told = subprocess.run([self.clone / "kit", "hello"], text=True, capture_output=True, timeout=60)
        self.assertEqual(told.stdout, "hello\n")
        self.expect_failure("hello", "tests/kit/test_cli.py", "Commands", "Reference")
        self.change("docs/reference/kit.md", "| `./kit setup", "| `./kit hello` | says hello | `--loud` louder |")
        self.expect_success("tests/kit/test_cli.py", "Commands", "Reference", "CommandLine.test_help_names_every_command")
        self.expect_success("tests/kit/test_rooms.py")


if __name__ == "__main__":
    unittest.main()
