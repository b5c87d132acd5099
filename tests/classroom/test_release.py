"""The students' edition: nothing solved in it, the same bytes each time, and a manifest that says the truth."""

import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from unittest import mock

import support
from classroom.course import release
from classroom.submission import regions
from kit.commands import demo
from kit.errors import KitError
from kit.handouts import hints
from kit.programs import labs, rungs
from kit.setup import environment

# What a stub shows of another lab's solution, as the course wants it: the tree, the shuffles and the like are given once they have
# been written. Anything that is not in this list and stands in a stub is a slip.
SHOWN_LATER = {
    "04_shuffle warp_shuffle 0",
    "05_grid_stride grid_stride_tree 4",
    "05_grid_stride grid_stride_two_kernels 6",
    "07_precision tree_float 1",
    "08_hazards unwritten_shared 2",
    "08_hazards lost_tail 10",
}


# Evaluates the handouts' cells about solved labs, with programs whose rungs are all right or all still to do.
SOLVED_CELLS = """
import ast, re, sys
from pathlib import Path
from types import SimpleNamespace
import warpfold
from warpfold import clone, labs, plots, traces
right = sys.argv[1] == "1"
def ask(lab, progress, what, *words):
    named = [name for option, name in zip(words, words[1:]) if option == "--rung"] or ["some_rung"]
    counted = {"profile": {"counters": {name: 7.0 for name in counters}, "n": 64, "launches": 1}}
    return {"device": {"name": "none", "kind": "emulator"}, "rungs": [{"name": name, "state": "pass" if right else "todo"} | (counted if right else {}) for name in named]}
from kit import counters as catalogue
counters = set(plots.TELLING) | set(catalogue.CATALOGUE)
clone.named = lambda name, solved, progress: (_ for _ in ()).throw(AssertionError("solved")) if solved else SimpleNamespace(name=name)
clone.build = lambda lab, progress: ""
clone.ask = ask
traces.still = lambda lab, rung, *rest: f"the student's {rung}"
cells = 0
for path in sorted(Path("docs/handouts").glob("*.md")):
    text = path.read_text()
    opened = re.search(r"^lab = (.*)$", text, re.MULTILINE)
    known = {"warpfold": warpfold} | ({"lab": eval(opened[1])} if opened else {})
    for cell in re.findall(r"^```.code-cell.*?\\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        code = [line for line in cell.splitlines() if line and not line.startswith(":")]
        if any(".solved." in line or "warpfold.ladder(" in line or 'counts["' in line or line.startswith("warpfold.open(") for line in code):
            for statement in ast.parse("\\n".join(code)).body:
                shown = eval(ast.unparse(statement), known) if isinstance(statement, ast.Expr) else exec(ast.unparse(statement), known)
                print(path.name, str(shown))
            cells += 1
print(cells, "cells")
"""


@dataclass(frozen=True)
class Region:
    lab: str
    rung: str
    name: str
    lines: tuple[str, ...]  # of code, without comments, with single spaces

    @property
    def squeezed(self) -> str:
        return squeezed("".join(self.lines))

    @cached_property
    def pattern(self) -> re.Pattern:
        """Its text with any white space, where a statement may begin: `double value = 1;` is not `value = 1;`."""
        tokens = re.findall(r"\w+|[^\w\s]", " ".join(self.lines))
        return re.compile(r"(?:^|[{};)`])\s*" + r"\s*".join(map(re.escape, tokens)), re.MULTILINE)

    def stands_in(self, text: str, without_spaces: str) -> bool:
        return self.squeezed in without_spaces and self.pattern.search(text) is not None


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


# Only what is closed: in the text of a page, an apostrophe does not hide the rest of its line.
CLOSED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_of(text: str) -> str:
    return CLOSED.sub("", text)


def solved_regions() -> list[Region]:
    """What the regions of every solution hold, but for what the same lab's stub shows, too."""
    found = []
    for path in sorted((support.ROOT / "solutions").glob("*/*.c[ulp]*")):
        stub = squeezed(code_of((support.ROOT / "labs" / path.parent.name / path.name).read_text()))
        for index, (rung, lines) in enumerate(regions.take_apart(path.read_text()).regions):
            code = tuple(line for each in code_of("\n".join(lines)).split("\n") if (line := " ".join(each.split())))
            if squeezed("".join(code)) not in stub:
                found.append(Region(path.parent.name, rung, f"{path.parent.name} {rung} {index}", code))
    return found


def hinted(region: Region) -> list[str]:
    """The rung's own hints, where one of them shows the region's only line: that line is no secret there."""
    texts = [hint.text for hint in hints.of_course().get(region.rung, [])]
    return texts if len(region.lines) == 1 and any(region.stands_in(text, squeezed(text)) for text in texts) else []


def gives_away(name: str, text: str, region: Region) -> bool:
    """Whether a released file holds the region's text elsewhere than in its rung's own hint."""
    if region.squeezed not in squeezed(text) and region.squeezed not in squeezed(code_of(text)):
        return False
    if name == f"docs/handouts/{region.lab}.md":
        for hint in hinted(region):
            text = text.replace(hint, "")
    return any(region.stands_in(each, squeezed(each)) for each in (text, code_of(text)))


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = release.contents(None)

    def test_no_file_holds_a_solved_region(self):
        """However short: only a line that its rung's own hint shows may stand there, in that hint."""
        secret = [region for region in solved_regions() if region.name not in SHOWN_LATER]
        self.assertGreater(len(secret), 55)
        for name, (data, _) in self.held.items():
            text = data.decode(errors="replace")
            without_spaces = squeezed(text), squeezed(code_of(text))
            for region in secret:
                if any(region.squeezed in each for each in without_spaces):
                    self.assertFalse(gives_away(name, text, region), f"{name} holds the solution of {region.name}")

    def test_the_stubs_show_of_other_labs_what_they_are_meant_to(self):
        stubs = [(name, data.decode()) for name, (data, _) in self.held.items() if name.startswith("labs/")]
        shown = {region.name for region in solved_regions() if any(gives_away(name, text, region) for name, text in stubs)}
        self.assertEqual(shown, SHOWN_LATER)

    def test_the_search_finds_what_stands_elsewhere_than_in_the_hint(self):
        short = next(
            region for region in solved_regions() if region.lab == "06_operators" and region.rung == "min" and len(region.lines) == 1
        )
        handout = self.held["docs/handouts/06_operators.md"][0].decode()
        self.assertTrue(hinted(short))
        self.assertFalse(gives_away("docs/handouts/06_operators.md", handout, short))
        self.assertTrue(gives_away("docs/handouts/06_operators.md", f"{handout}\n    {'  '.join(short.lines)}\n", short))
        self.assertTrue(gives_away("docs/handouts/02_tree.md", handout, short))
        long = next(region for region in solved_regions() if region.lab == "02_tree" and region.rung == "interleaved")
        self.assertGreater(len(long.lines), 1)
        self.assertTrue(gives_away("labs/02_tree/tree.cu", (support.ROOT / "solutions/02_tree/tree.cu").read_text(), long))

    def test_what_is_the_instructors_is_not_there(self):
        for name in self.held:
            self.assertNotRegex(name, r"^solutions|answers|instructor|mutants|attacks|^\.git/|classroom")
        self.assertNotRegex(self.held["README.md"][0].decode(), "solutions|solved|answers")
        for left_out in release.LEFT_OUT:
            self.assertTrue(any(name.startswith(left_out) for name in release.files(release.ROOT)), f"nothing begins with {left_out}")
        kept_from_students = re.search(r"INSTRUCTORS_RESULTS = \[(.*)\]", (support.ROOT / "docs/conf.py").read_text())[1]
        on_their_site_alone = set(re.findall(r'"([^"]+)"', kept_from_students))
        self.assertEqual(on_their_site_alone, {name[5:] for name in release.LEFT_OUT if name.startswith("docs/results/")})

    def test_every_link_of_its_pages_leads_to_a_file_of_it(self):
        self.assert_links_lead_somewhere(self.held)

    def assert_links_lead_somewhere(self, held: dict) -> None:
        for name in held:
            if not name.endswith(".md"):
                continue
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", held[name][0].decode()):
                if "://" not in target and not target.startswith(("/", "<")):
                    place = os.path.normpath(os.path.join(os.path.dirname(name), target))
                    self.assertTrue(any(each == place or each.startswith(place + "/") for each in held), f"{name}: {target}")

    def test_the_manifest_lists_every_file_with_its_hash(self):
        manifest = json.loads(self.held[release.MANIFEST][0])
        self.assertEqual(set(manifest["files"]), set(self.held) - {release.MANIFEST})
        for name, digest in manifest["files"].items():
            self.assertEqual(hashlib.sha256(self.held[name][0]).hexdigest(), digest, name)
        self.assertIn("02_tree", manifest["labs"])

    def test_labs_picks(self):
        held = release.contents(release.chosen_labs(["02", "grid"]))
        self.assertEqual(
            {name.split("/")[1] for name in held if name.startswith("labs/") and name.count("/") == 2}, {"02_tree", "05_grid_stride"}
        )
        self.assertIn("docs/handouts/00_start.md", held)
        self.assertNotIn("docs/handouts/01_naive_atomic.md", held)

    def test_the_same_input_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = Path(folder, "a", "course.tar.gz"), Path(folder, "b", "another-name.tar.gz")
            for path in (first, second):
                path.parent.mkdir()
                release.write_archive(path, release.contents(None))
            self.assertEqual(first.read_bytes(), second.read_bytes())
            with tarfile.open(first) as archive:
                self.assertEqual({name.split("/")[0] for name in archive.getnames()}, {"warpfold-students"})

    def test_the_commands_of_the_edition_start(self):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, "course")
            release.write_folder(target, self.held)
            said = subprocess.run([sys.executable, str(target / "kit"), "--help"], text=True, capture_output=True)
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertIn("watch", said.stdout)
            self.assertNotIn("grade", said.stdout)

    def test_meson_configures_it_and_knows_its_tests(self):
        meson = shutil.which("meson") or str(environment.VENV / "bin" / "meson")
        with tempfile.TemporaryDirectory() as folder:
            release.write_folder(Path(folder, "course"), self.held)
            said = subprocess.run([meson, "setup", "build", "-Dkit_tests=true"], cwd=f"{folder}/course", text=True, capture_output=True)
            if "is the internet available?" in said.stdout:
                self.skipTest("without the kit, Meson needs the machine's own libraries, or a network")
            self.assertEqual(said.returncode, 0, said.stdout[-3000:])
            listed = subprocess.run(
                [meson, "introspect", "build", "--tests"], cwd=f"{folder}/course", text=True, capture_output=True, check=True
            )
            names = {test["name"] for test in json.loads(listed.stdout)}
            self.assertLessEqual({"01_naive_atomic", "02_tree/interleaved/emulator", "stubs", "emulator machine", "emulator ptx"}, names)
            self.assertFalse([name for name in names if name.startswith(("solutions", "class", "mutants"))])

    @unittest.skipUnless("WARPFOLD_EDITION" in os.environ, "WARPFOLD_EDITION=1 builds the edition and runs its tests, which takes minutes")
    def test_kit_test_passes_in_it(self):
        with tempfile.TemporaryDirectory() as folder:
            release.write_folder(Path(folder, "course"), self.held)
            said = subprocess.run([sys.executable, "kit", "test"], cwd=f"{folder}/course", text=True, capture_output=True)
            self.assertEqual(said.returncode, 0, said.stdout[-3000:] + said.stderr[-1000:])

    @unittest.skipUnless("WARPFOLD_EDITION" in os.environ, "WARPFOLD_EDITION=1 builds the edition's site, which takes minutes")
    def test_kit_docs_works_in_it(self):
        for picked in (None, ["01_naive_atomic", "02_tree", "05_grid_stride"]):
            with tempfile.TemporaryDirectory() as folder:
                release.write_folder(Path(folder, "course"), release.contents(picked))
                said = subprocess.run([sys.executable, "kit", "docs"], cwd=f"{folder}/course", text=True, capture_output=True)
                self.assertEqual(said.returncode, 0, said.stdout[-3000:] + said.stderr[-3000:])

    def test_the_demo_of_the_edition_runs_what_the_student_has_filled_in(self):
        listed = [{"name": "empty", "state": "todo"}, {"name": "as_handed_out", "state": "broken"}, {"name": "mine", "state": "filled"}]
        with mock.patch.object(demo.labs, "ask", return_value={"rungs": listed}) as asked:
            lab = labs.Lab("02_tree", Path("tree"), Path("tree.cu"))
            self.assertEqual(demo.filled(lab), ["mine"])
            demo.ask(lab, False, None)
            asked.assert_called_with(lab, "--rung=mine", "--time")

    def test_the_handouts_cells_about_solved_labs_show_something_without_solutions(self):
        drawing = (sys.executable, str(environment.VENV / "bin" / "python3"))
        python = next(
            (each for each in drawing if subprocess.run([each, "-c", "import matplotlib"], capture_output=True).returncode == 0), ""
        )
        if not python:
            self.skipTest("matplotlib is not installed: ./kit notebook and a whole ./kit test install it")
        for picked in (None, ["05_grid_stride", "10_opencl"]):
            with tempfile.TemporaryDirectory() as folder:
                target = Path(folder, "course")
                release.write_folder(target, release.contents(picked))
                for right in (False, True):
                    with self.subTest(labs=picked, right=right):
                        self.run_solved_cells(python, target, right)

    def run_solved_cells(self, python: str, edition: Path, right: bool) -> None:
        program = [python, "-c", SOLVED_CELLS, str(int(right))]
        said = subprocess.run(program, cwd=edition, text=True, capture_output=True, env=os.environ | {"PYTHONPATH": "common/notebook"})
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("cells", said.stdout)
        if not right and (edition / "labs" / "02_tree").is_dir():
            self.assertIn("sequential, step 3. Once your own sequential passes", said.stdout)  # a picture that comes with the course
            self.assertIn("In the students' edition, this appears once your own thread_sums passes", said.stdout)
        if not (edition / "labs" / "02_tree").is_dir():
            self.assertIn("10_opencl.md in_place_sequential, step 2.\n", said.stdout)
        self.assertEqual(
            "This edition does not include lab 01_naive_atomic" in said.stdout, not (edition / "labs" / "01_naive_atomic").is_dir()
        )

    def test_solutions_are_refused_by_name_and_not_advised_where_there_are_none(self):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, "course")
            release.write_folder(target, self.held)
            for words in (["profile", "02_tree", "--solutions"], ["run", "02_tree", "--rung", "sequential", "--solutions"],
                          ["predict", "02_tree/sequential", "barriers=1", "--solutions"], ["docs", "--edition", "instructor"]):  # fmt: skip
                said = subprocess.run([sys.executable, "kit", *words], cwd=target, text=True, capture_output=True)
                self.assertEqual(said.returncode, 2, said.stderr)
                self.assertIn("this edition has no solutions", said.stderr)
                self.assertNotIn("no such lab", said.stderr)
            said = subprocess.run([sys.executable, "kit", "profile", "--help"], cwd=target, text=True, capture_output=True)
            self.assertNotIn("--solutions", said.stdout)
        with mock.patch.object(rungs, "ROOT", Path("/nowhere")):
            self.assertNotIn("--solutions", rungs.fill_it_in())
        self.assertIn("--solutions", rungs.fill_it_in())

    def test_of_some_labs_only_every_link_leads_somewhere(self):
        picked = release.contents(["01_naive_atomic", "02_tree", "05_grid_stride"])
        self.assert_links_lead_somewhere(picked)
        tree = picked["docs/handouts/02_tree.md"][0].decode()
        self.assertNotIn("(03_warp_unroll.md", tree)
        self.assertIn("(00_start.md#races)", tree)
        self.assertNotIn("(../handouts/12_many_gpus.md", picked["docs/reference/report.md"][0].decode())
        self.assertIn("12_many_gpus", json.loads(picked[release.MANIFEST][0])["labs_left_out"])

    def test_a_folder_with_something_else_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "thesis.tex").write_text("all of it")
            with self.assertRaisesRegex(Exception, "something else"):
                release.write_folder(Path(folder), self.held)
            self.assertTrue(Path(folder, "thesis.tex").exists())

    def test_an_edition_is_replaced_only_if_that_is_asked_for(self):
        with tempfile.TemporaryDirectory() as name:
            target = Path(name, "course")
            target.mkdir()  # an empty folder is as good as none
            release.write_folder(target, self.held)
            (target / "notes.txt").write_text("mine")
            with self.assertRaisesRegex(KitError, "there is an edition there already"):
                release.write_folder(target, self.held)
            self.assertTrue((target / "notes.txt").exists())
            release.write_folder(target, self.held, force=True)
            self.assertFalse((target / "notes.txt").exists())
            self.assertTrue((target / release.MANIFEST).exists())
            self.assertEqual([path.name for path in Path(name).iterdir()], ["course"])

    def test_an_archive_in_a_folder_that_is_missing_is_refused(self):
        with tempfile.TemporaryDirectory() as name, self.assertRaisesRegex(KitError, "there is no folder .*/missing"):
            release.write_archive(Path(name, "missing", "course.tar.gz"), self.held)

    def test_a_disk_that_is_full_leaves_the_old_edition_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as name:
            target, packed = Path(name, "course"), Path(name, "course.tar.gz")
            release.write_folder(target, self.held)
            release.write_archive(packed, self.held)
            before = packed.read_bytes()
            full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            with mock.patch.object(Path, "write_bytes", side_effect=full), self.assertRaises(OSError):
                release.write_folder(target, self.held, force=True)
            with mock.patch.object(release.gzip.GzipFile, "write", side_effect=full), self.assertRaises(OSError):
                release.write_archive(packed, self.held)
            self.assertTrue((target / release.MANIFEST).exists())
            self.assertEqual(packed.read_bytes(), before)
            self.assertEqual(sorted(path.name for path in Path(name).iterdir()), ["course", "course.tar.gz"])


if __name__ == "__main__":
    unittest.main()
