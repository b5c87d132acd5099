"""Do the checks find what they are there for? Each looks at a small tree with one thing wrong in it."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "common"))

from kit.commands import lint
from kit.lint import cache, check, clang, pages, stubs, text
from kit.programs import compile_commands
from kit.setup.toolkit_paths import Toolkit

ROOT = Path(__file__).resolve().parents[2]
TOOLKIT = Toolkit(Path("/cuda/bin/nvcc"), (13, 0), Path("/cuda/include"), Path("/cuda/lib64"), (75,), True)


class Tree(unittest.TestCase):
    """A folder that stands in for the clone."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        for module in (text, cache, check, clang, pages, stubs):
            patch = mock.patch.object(module, "ROOT", self.root)
            patch.start()
            self.addCleanup(patch.stop)

    def file(self, name: str, words: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words)
        return path


class Links(Tree):
    def found(self, words: str) -> list[str]:
        self.file("there.md", "# A heading, with `code`\n\n(a-label)=\n")
        return text.links([self.file("page.md", words)], False)

    def test_links_that_lead_somewhere(self):
        self.assertEqual(self.found("[a](there.md) [b](there.md#a-heading-with-code) [c](there.md#a-label) [d](#own)\n# Own\n"), [])

    def test_links_that_lead_nowhere(self):
        self.assertEqual(self.found("one\n[a](gone.md)"), ["page.md:2: gone.md: there is no such file"])
        self.assertEqual(self.found("![a](gone.svg)"), ["page.md:1: gone.svg: there is no such file"])
        self.assertEqual(self.found("[a](there.md#nowhere)"), ["page.md:1: there.md#nowhere: the page has no such heading"])
        self.assertEqual(self.found('<img src="gone.svg">'), ["page.md:1: gone.svg: there is no such file"])

    def test_code_and_other_sites_are_left_alone(self):
        self.assertEqual(self.found("`[a](gone.md)`\n```\n[a](gone.md)\n```\n[x](https://example.org/gone)"), [])


class Paragraphs(Tree):
    LONG = "word " * 60

    def filled(self, words: str) -> str:
        page = self.file("page.md", words)
        self.assertEqual(pages.check([page], True), [])
        self.assertEqual(pages.check([page], False), [])
        return page.read_text()

    def test_what_is_too_long_and_what_is_too_short(self):
        page = self.file("page.md", f"# A\n\n{self.LONG}\n")
        self.assertEqual(pages.check([page], False), ["page.md:3: the paragraph is not filled to 140 characters"])
        self.assertEqual(self.filled("one\ntwo\n"), "one two\n")
        self.assertLessEqual(max(map(len, self.filled(self.LONG).splitlines())), 140)

    def test_items_keep_their_marks_and_indents(self):
        words = ("word " * 27).strip()
        self.assertEqual(self.filled(f"1. {words} and\n more\n2. two\n   - three\n"), f"1. {words}\n   and more\n2. two\n   - three\n")
        self.assertEqual(self.filled(f"> {words} and\n"), f"> {words} and\n")

    def test_code_tables_headings_html_and_front_matter_are_left_alone(self):
        for words in (
            "```\n{}\n```\n",
            "# {}\n",
            "| {} |\n|---|\n",
            "<details>\n{}\n</details>\n",
            "---\nkey: {}\n---\n",
            "(label)=\n# {}\n",
            "a  \n{}\n",
        ):
            self.assertEqual(self.filled(words.format(self.LONG)), words.format(self.LONG))

    def test_no_line_begins_as_a_list_would_and_no_code_is_broken(self):
        text = self.filled("word " * 27 + "word 1. and `some code` - x # y\n")
        self.assertNotRegex(text, r"(?m)^(1\.|-|#)")
        self.assertIn("`some code`", self.filled("word " * 27 + "`some code` more\n"))


class Stubs(Tree):
    SOLUTION = "a\n  // BEGIN r\n  // TODO: Add.\n  // (1 line)\n  add(); // so\n  // END r\nb\n  // BEGIN s\n  //- // TODO: Repair.\n  //-   wrong();\n  right();\n  // END s\n"
    STUB = "a\n  // BEGIN r\n  // TODO: Add.\n  // (1 line)\n  // END r\nb\n  // BEGIN s\n  // TODO: Repair.\n    wrong();\n  // END s\n"

    def found(self, fix: bool = False) -> list[str]:
        return stubs.check([self.solution], fix)

    def setUp(self):
        super().setUp()
        self.solution, self.lab = self.file("solutions/01_a/a.cu", self.SOLUTION), self.root / "labs/01_a/a.cu"

    def test_a_stub_is_written_and_then_right(self):
        self.assertEqual(self.found(), ["labs/01_a/a.cu: not what follows from solutions/01_a/a.cu"])
        self.assertEqual(self.found(fix=True), [])
        self.assertEqual(self.lab.read_text(), self.STUB)
        self.assertEqual(self.found(), [])

    def test_what_somebody_has_filled_in_is_kept(self):
        self.found(fix=True)
        for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "Begin"]):
            subprocess.run(["git", "-C", self.root, *words], check=True)
        mine = self.STUB.replace("  // END r", "  mine();\n  // END r")
        self.lab.write_text(mine)
        self.assertEqual(self.found(), [])
        self.solution.write_text(self.SOLUTION.replace("b\n", "c\n"))
        self.assertEqual(len(self.found()), 1)
        self.assertEqual(self.found(fix=True), [])
        self.assertEqual(self.lab.read_text(), mine.replace("b\n", "c\n"))


class Commits(Tree):
    def test_the_newest_commits_title_is_not_too_long(self):
        git = ["git", "-C", str(self.root), "-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run([*git, "init", "-q"], check=True)
        for title, problems in (("x" * 72, 0), ("x" * 73, 1)):
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", title, "-m", "why " * 30], check=True)
            self.assertEqual(len(text.commits([], False)), problems)


class Cache(Tree):
    def key(self, source: Path) -> str:
        return cache.key(["flags"], cache.Includes().of(source, (self.root / "include",)))

    def test_a_header_of_a_header_counts(self):
        source = self.file("a.cpp", '#include "b.hpp"\n')
        self.file("include/b.hpp", '#include "c.hpp"\n')
        deep = self.file("include/c.hpp", "int c;\n")
        other = self.file("include/d.hpp", "int d;\n")
        before = self.key(source)
        other.write_text("int e;\n")
        self.assertEqual(self.key(source), before)
        deep.write_text("int e;\n")
        self.assertNotEqual(self.key(source), before)

    def test_headers_that_include_each_other_end(self):
        first = self.file("a.hpp", '#include "b.hpp"\n')
        second = self.file("b.hpp", '#include "a.hpp"\n')
        self.assertEqual(cache.Includes().of(first, ()), {first, second})


class CompileCommands(Tree):
    def entry(self, command: str, file: str) -> dict:
        return {"directory": str(self.root), "command": command, "file": file, "output": f"{file}.o"}

    def test_nvcc_as_clang(self):
        command = (
            "ccache nvcc -Ia/b -isystem=/cuda/include --std=c++17 -O3 -Xcompiler=-Wall -cudart shared -gencode=x -DNAME=1 -o o -c lab.cu"
        )
        (found,) = compile_commands.for_clang([self.entry(command, "lab.cu")], TOOLKIT)
        said = found["arguments"]
        for word in ("-xcuda", f"-I{self.root / 'a/b'}", "-std=c++17", "-DNAME=1", "-D__CUDACC_VER_MAJOR__=13"):
            self.assertIn(word, said)
        for word in said:
            self.assertNotRegex(word, r"nvcc|cudart|gencode|Xcompiler")

    def test_files_compiled_as_one_have_an_entry_each(self):
        one, two = self.file("one.cpp", ""), self.file("two.cpp", "")
        self.file("room-unity0.cpp", f"#include<{one}>\n#include<{two}>\n")
        entries = compile_commands.for_clang([self.entry("c++ -std=c++20 -c room-unity0.cpp", "room-unity0.cpp")], TOOLKIT)
        self.assertEqual([entry["file"] for entry in entries], [str(one), str(two)])
        self.assertNotIn("-xcuda", entries[0]["arguments"])
        self.assertEqual(clang.compiled_together([one, two], {Path(entry["file"]): entry for entry in entries}), [[one, two]])


class Coverage(unittest.TestCase):
    def test_every_check_has_files_and_a_test(self):
        described = (Path(__file__).parent / "meson.build").read_text()
        everything = check.tree()
        for name, one in lint.CHECKS.items():
            self.assertIn(f"'{name}': [", described)
            self.assertTrue(one.files is None or one.chosen(everything), f"{name} looks at nothing")

    def test_editors_are_tried_on_all_labs_and_ten_files_of_the_emulator(self):
        names = [str(path.relative_to(ROOT)) for path in clang.EDITORS.chosen(check.tree())]
        labs = [path.name for path in (ROOT / "labs").iterdir() if path.is_dir()]
        for tree in ("labs", "solutions"):
            for lab in labs:
                self.assertTrue(any(name.startswith(f"{tree}/{lab}/") for name in names), f"{tree}/{lab}")
        self.assertGreaterEqual(sum(name.startswith("common/emulator/") for name in names), 10)

    def test_hooks_before_a_commit_run_the_same(self):
        hooks = (ROOT / ".pre-commit-config.yaml").read_text()
        called = set(re.findall(r"--only ([\w-]+)", hooks))
        self.assertEqual(called, set(lint.CHECKS) - {"editors"})  # no commit breaks it that the compilers take

    def test_workflow_runs_what_the_readme_says(self):
        workflow, readme = (ROOT / ".github/workflows/ci.yml").read_text(), (ROOT / "README.md").read_text()
        steps = re.findall(r"^ +run: su .* -c '(\./kit .*)'$", workflow, re.MULTILINE)
        block = re.search(r"```sh\n(.*?)```", readme, re.DOTALL)[1]
        self.assertEqual(steps, [line.split("#")[0].strip() for line in block.strip().splitlines()])
        for image in ("debian:12", "ubuntu:22.04", "ubuntu:24.04"):
            self.assertIn(f'"{image}"', workflow)


if __name__ == "__main__":
    unittest.main()
