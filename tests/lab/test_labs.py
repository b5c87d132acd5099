"""Each stub follows from its solution, and Meson's list of labs agrees with the programs.

Called by Meson with the labs' root folder, and for each lab LAB=RUNG,RUNG,...=PROGRAM or, for a solution,
solutions/LAB=...; with nvcc=COMMAND as the last word the stubs are compiled with warnings as errors.
"""

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "common"))

from kit.lint import stubs

ROOT = Path()
PROGRAMS = {}  # "04_shuffle" or "solutions/04_shuffle" -> (rungs, program)
NVCC = []
BROKEN = {"08_hazards"}  # handed out with code in their regions, which is wrong

BEGIN = re.compile(r"^\s*// BEGIN (\w+)$")
END = re.compile(r"^\s*// END (\w+)$")


def source(tree: str, lab: str) -> Path:
    """The file that the student fills in: the CUDA file, or the OpenCL kernels."""
    folder, name = ROOT / tree / lab, lab[3:]
    kernels = folder / f"{name}.cl"
    return kernels if kernels.exists() else folder / f"{name}.cu"


def split(path: Path) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The lines outside the regions (markers included), and the regions as (rung, lines)."""
    outside, regions, inside = [], [], None
    for line in path.read_text().splitlines():
        if END.match(line):
            inside = None
        if inside is None:
            outside.append(line)
        else:
            inside.append(line)
        if begin := BEGIN.match(line):
            inside = []
            regions.append((begin[1], inside))
    return outside, regions


def is_code(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith("//")


class Labs(unittest.TestCase):
    def setUp(self):
        self.labs = [name for name in PROGRAMS if "/" not in name]
        self.assertTrue(self.labs)

    def test_mesons_list_is_what_the_programs_say(self):
        for name, (rungs, program) in PROGRAMS.items():
            with self.subTest(lab=name):
                said = json.loads(
                    subprocess.run([program, "--list", "--json"], text=True, capture_output=True, check=True, timeout=60).stdout
                )
                self.assertEqual([rung["name"] for rung in said["rungs"]], rungs)
                self.assertEqual(said["lab"], name.split("/")[-1])

    def test_every_folder_with_a_lab_is_in_mesons_list(self):
        for tree in ("labs", "solutions"):
            folders = {path.parent.name for path in (ROOT / tree).glob("*/*.c[ul]")}
            left_out = {lab for lab in folders - set(self.labs) if source(tree, lab).suffix == ".cl"}  # no OpenCL here
            self.assertEqual(folders - left_out, set(self.labs), f"{tree}/ and the list in labs/meson.build differ")

    def test_every_lab_has_all_that_belongs_to_it(self):
        for lab in self.labs:
            for path in (f"common/lab/promises/{lab}.cpp", f"docs/handouts/{lab}.md", f"solutions/{lab}/answers.md"):
                with self.subTest(path=path):
                    self.assertTrue((ROOT / path).exists(), f"{lab} needs a file {path}")
                    self.assertGreater(len((ROOT / path).read_text().split()), 20)

    def test_the_page_of_answers_has_each_lab_and_rung(self):
        sys.path.insert(0, str(ROOT / "docs/instructor"))
        import solved

        sections = dict(re.findall(r"(?ms)^## (\S+)\n(.*?)(?=^## |\Z)", solved.sections()))
        for lab in self.labs:
            for rung in PROGRAMS[lab][0]:
                with self.subTest(lab=lab, rung=rung):
                    self.assertRegex(sections.get(lab, ""), rf"(?m)^(:caption: {rung}|`{rung}` has several regions.*)$")

    def test_a_stub_ends_with_a_main_that_only_names_its_rungs(self):
        for lab in self.labs:
            with self.subTest(lab=lab):
                source = next((ROOT / "labs" / lab).glob("*.c[up]*"))
                main = source.read_text().partition("\nint main(")[2].splitlines()
                self.assertTrue(main)
                self.assertLessEqual(len(main), 6 + 2 * len(PROGRAMS[lab][0]))
                self.assertNotIn("[]", "".join(main), "a bound belongs into common/lab/promises")

    def test_the_states_on_the_reference_page_are_those_of_the_table(self):
        row = re.compile(r'^WARPFOLD_STATE\(\w+, "([a-z-]+)", "([^"]*)"', re.MULTILINE)
        table = row.findall((ROOT / "common/lab/states.def").read_text())
        self.assertIn("pass", dict(table))
        page = (ROOT / "docs/reference/lab.md").read_text()
        self.assertEqual(re.findall(r"(?m)^\| `([a-z-]+)` \| (.*) \|$", page), table)

    def test_each_stub_follows_from_its_solution(self):
        files = [path for path in (ROOT / "solutions").glob("*/*") if stubs.STUBS.files.search(str(path.relative_to(ROOT)))]
        self.assertGreaterEqual(len(files), len(self.labs))
        self.assertEqual(stubs.check(files, False), [], "./kit lint --fix --only stubs writes them")

    def test_a_stubs_region_is_a_todo_with_its_length_and_a_solutions_is_code(self):
        for lab in self.labs:
            for (rung, stub), (_, solved) in zip(split(source("labs", lab))[1], split(source("solutions", lab))[1], strict=True):
                with self.subTest(lab=lab, rung=rung):
                    handed_out = [line for line in stub if is_code(line)]
                    if lab in BROKEN:
                        self.assertTrue(handed_out, "a rung that is to be repaired is handed out with its mistake")
                        self.assertNotEqual(handed_out, [line for line in solved if is_code(line)])
                    else:
                        self.assertFalse(handed_out)
                    self.assertRegex(stub[0], r"^\s*// TODO: [A-Z]")
                    text = " ".join(line.strip().removeprefix("//").strip() for line in stub if not is_code(line))
                    length = re.search(r"\((?:about )?(\d+) (?:short )?lines?\)$", text)
                    self.assertTrue(length, f"the TODO does not say how many lines it takes: {text}")
                    code = [line for line in solved if is_code(line)]
                    self.assertTrue(code)
                    if lab in BROKEN:  # says how many lines the repair takes, not how long the region is
                        continue
                    self.assertLessEqual(
                        abs(len(code) - int(length[1])),
                        max(1, len(code) // 5),
                        f"the TODO says {length[1]} lines, the solution takes {len(code)}",
                    )

    def test_every_rung_has_a_region(self):
        for lab in self.labs:
            named = {rung for rung, _ in split(source("labs", lab))[1]}
            self.assertEqual(named, set(PROGRAMS[lab][0]), lab)

    def test_an_unfilled_stub_compiles_without_a_warning(self):
        if not NVCC:
            self.skipTest("no nvcc was named")
        for lab in self.labs:
            if source("labs", lab).suffix != ".cu":
                continue
            with self.subTest(lab=lab):
                command = [
                    *NVCC,
                    "-Werror",
                    "all-warnings",
                    "-Xcompiler",
                    "-Wall",
                    "-c",
                    str(source("labs", lab)),
                    "-I",
                    str(ROOT / "common/lab"),
                    "-I",  # lab 12 includes NCCL's header and MPI's
                    str(ROOT / "common/emulator/nccl/include"),
                    "-I",
                    str(ROOT / "common/lab/run/many_gpus/no_mpi"),
                    "-o",
                    "/dev/null",
                ]
                result = subprocess.run(command, text=True, capture_output=True, timeout=120)
                self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    ROOT = Path(sys.argv[1])
    for word in sys.argv[2:]:
        if word.startswith("nvcc="):
            NVCC = word[len("nvcc=") :].split("|")
        else:
            name, rungs, program = word.split("=", 2)
            PROGRAMS[name] = (rungs.split(","), program)
    unittest.main(argv=[sys.argv[0], "-v"])
