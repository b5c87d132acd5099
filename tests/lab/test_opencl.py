"""What lab 10's program says about mistakes in its kernels, on the emulator: the solution with one planted mistake each.

Called by Meson with the source root, a folder to build in, and the commands of the C++ compiler and of the linker,
whose words are separated by |; in the latter, OBJECT stands for the object file. Without Clang and libclc, the tests are
skipped.
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT, WORK, COMPILE, LINK = Path(), Path(), [], []

BARRIER = "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
LOCAL_BARRIER = "    barrier(CLK_LOCAL_MEM_FENCE);\n  }\n"
DENSE_AS_MODULO = ("const ulong at = 2 * stride * item;\n    if (", "const ulong at = 2 * item;\n    if (at % (2 * stride) == 0 && ")
MODULO_AS_DENSE = (
    "if (at % (2 * stride) == 0 && at + stride < n) data[at] += data[at + stride];",
    "if (at * stride + stride < n) data[at * stride] += data[at * stride + stride];",
)
ONE_ITEM = (
    "if (item < stride && item + stride < n) data[item] += data[item + stride];",
    "for (ulong i = 0; item == 0 && i < stride; ++i)\n      if (i + stride < n) data[i] += data[i + stride];",
)
LOCAL_STEP = "    if (item < stride) partial[item] += partial[item + stride];\n    barrier(CLK_LOCAL_MEM_FENCE);\n"

# Rung, kernel, (old text, new text), the state, and what explains it: the kind of the first hazard or of the diagnosis.
MUTANTS = {
    "modulo without a barrier": ("modulo_in_place", "modulo_in_place", (BARRIER, ""), "wrong", "race-global"),
    "dense without a barrier": ("dense_items", "dense_items", (BARRIER, ""), "wrong", "race-global"),
    "halving without a barrier": ("halving_items", "halving_items", (BARRIER, ""), "wrong", "race-global"),
    "across without a barrier": ("across_groups", "across_groups", (BARRIER, ""), "wrong", "race-global"),
    "group without a barrier": ("two_stage", "group_sums", (LOCAL_BARRIER, "  }\n"), "wrong", "race-shared"),
    "fence alone": ("halving_items", "halving_items", (BARRIER, BARRIER.replace("barrier", "mem_fence")), "wrong", "race-global"),
    # The items add what others are changing.
    "all items work": ("modulo_in_place", "modulo_in_place", ("at % (2 * stride)", "at % stride"), "wrong", "race-global"),
    "every item adds": ("halving_items", "halving_items", ("item < stride && ", ""), "wrong", "race-global"),
    "all add in local memory": ("two_stage", "group_sums", ("if (item < stride) ", ""), "wrong", "out-of-bounds"),
    "barrier in the branch": (
        "two_stage",
        "group_sums",
        (LOCAL_STEP, "    if (item < stride) {\n" + LOCAL_STEP[22:] + "    }\n"),
        "hazard",
        "barrier",
    ),
    "neighbours overlap": ("dense_items", "dense_items", ("2 * stride * item", "stride * item"), "wrong", "race-global"),
    "stored, not added": ("halving_items", "halving_items", ("+= data[item", "= data[item"), "wrong", "not-read"),
    "stride of a group": ("two_stage", "group_sums", ("i += get_global_size(0)", "i += get_local_size(0)"), "wrong", "read-again"),
    "start of a group": ("two_stage", "group_sums", ("ulong i = get_global_id(0)", "ulong i = get_local_id(0)"), "wrong", "not-read"),
    "no walk": (
        "two_stage",
        "group_sums",
        ("for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) sum", "const ulong i = get_global_id(0);\n  if (i < n) sum"),
        "wrong",
        "not-read",
    ),
    "half a tree": ("two_stage", "group_sums", ("get_local_size(0) / 2", "get_local_size(0) / 4"), "wrong", "never-read"),
    "one step too few": ("two_stage", "group_sums", ("stride > 0", "stride > 1"), "wrong", "never-read"),
    "beyond local memory": ("two_stage", "group_sums", ("get_local_size(0) / 2", "get_local_size(0)"), "wrong", "out-of-bounds"),
    "beyond the input": ("dense_items", "dense_items", ("at + stride < n", "at + stride <= n"), "wrong", "out-of-bounds"),
    # No device shows that a barrier orders only the memory that its flag names.
    "flag of global memory": (
        "two_stage",
        "group_sums",
        (LOCAL_BARRIER, LOCAL_BARRIER.replace("LOCAL", "GLOBAL")),
        "hazard",
        "race-shared",
    ),
    "flag of local memory": ("halving_items", "halving_items", (BARRIER, BARRIER.replace("GLOBAL", "LOCAL")), "hazard", "race-global"),
    "both flags": ("halving_items", "halving_items", ("CLK_GLOBAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE"), "pass", None),
    # Right sums, made in another way than the rung asks for.
    "dense as modulo": ("dense_items", "dense_items", DENSE_AS_MODULO, "off-technique", None),
    "modulo as dense": ("modulo_in_place", "modulo_in_place", MODULO_AS_DENSE, "off-technique", None),
    "one item adds": ("halving_items", "halving_items", ONE_ITEM, "off-technique", None),
    # Wrong on purpose, here repaired: one work-group does it all, and the others do nothing.
    "across by one group": (
        "across_groups",
        "across_groups",
        (
            "if (item < stride && item + stride < n) data[item] += data[item + stride];",
            "for (ulong at = item; item < get_local_size(0) && at < stride; at += get_local_size(0))\n"
            "      if (at + stride < n) data[at] += data[at + stride];",
        ),
        "off-technique",
        None,
    ),
}


def program(name: str = "", old: str = "", new: str = "") -> Path:
    """The lab's host side with this replacement, which reads the kernels beside its source when it runs."""
    folder = WORK / name / "10_opencl"
    folder.mkdir(parents=True, exist_ok=True)
    source, result = folder / "opencl.cpp", folder / "program"
    source.write_text((ROOT / "solutions/10_opencl/opencl.cpp").read_text().replace(old, new, 1))
    (folder / "opencl.cl").write_text((ROOT / "solutions/10_opencl/opencl.cl").read_text())
    subprocess.run([*COMPILE, "-I", str(ROOT / "common/lab"), "-c", str(source), "-o", f"{result}.o"], check=True)
    subprocess.run([f"{result}.o" if word == "OBJECT" else word for word in LINK] + ["-o", str(result)], check=True)
    return result


def with_mistake(kernel: str, old: str, new: str) -> str:
    text = (ROOT / "solutions/10_opencl/opencl.cl").read_text()
    begin = text.index(f"kernel void {kernel}(")
    end = text.index("\n}\n", begin)
    assert old in text[begin:end], f"{kernel} holds no {old!r}"
    return text[:begin] + text[begin:end].replace(old, new, 1) + text[end:]


class OpenCL(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = program()
        cls.kernels = cls.program.parent / "opencl.cl"
        if (said := cls.run_rung("halving_items")).returncode == 77:
            raise unittest.SkipTest(said.stderr.strip())

    @classmethod
    def run_rung(cls, rung: str, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        command = [cls.program, "--device=emulator", f"--rung={rung}", *words]
        return subprocess.run(command, env=os.environ | (env or {}), text=True, capture_output=True, timeout=120)

    def test_each_mistake_is_found_and_named(self):
        for name, (rung, kernel, mistake, state, explanation) in MUTANTS.items():
            with self.subTest(mutant=name):
                self.kernels.write_text(with_mistake(kernel, *mistake))
                said = self.run_rung(rung, "--json")
                found = json.loads(said.stdout)["rungs"][0]
                self.assertEqual(found["state"], state, found)
                kinds = [hazard["kind"] for hazard in found["hazards"]] or [found.get("diagnosis", {}).get("kind")]
                self.assertEqual(kinds[0], explanation, found.get("reason"))

    def test_a_host_function_that_ends_the_program_is_told_of(self):
        includes = "#include <cstdlib>\n#include <stdexcept>\n"
        head = "void modulo_in_place(Run& run) {\n"
        for call, words in (("std::exit(0)", r"ended the program by exit\(0\)"), ('throw std::runtime_error("oh")', "does not catch: oh")):
            with self.subTest(call=call):
                made = program("exits", head, f"{includes}{head}  if (run.n > 100) {call};\n")
                said = subprocess.run([made, "--device=emulator"], text=True, capture_output=True, timeout=120)
                self.assertEqual(said.returncode, 1)
                self.assertRegex(said.stdout, rf"(?m)^wrong +modulo_in_place: .*: the rung's host function .*{words}")
                self.assertRegex(said.stdout, r"(?m)^pass +halving_items$")

    def test_the_race_of_the_rung_that_is_wrong_on_purpose_is_shown(self):
        self.kernels.write_text((ROOT / "solutions/10_opencl/opencl.cl").read_text())
        said = self.run_rung("across_groups")
        self.assertEqual(said.returncode, 0)
        words = r"^pass +across_groups: a race, as it must be: line \d+: .* of block ([01]) .* of block (?!\1)[01][ ,]"
        self.assertRegex(said.stdout, words)

    def test_words_are_those_of_opencl(self):
        for rung, kernel, mistake, words in (
            ("halving_items", "halving_items", (BARRIER, ""), "Put a barrier between the two that names this memory"),
            ("two_stage", "group_sums", ("i += get_global_size(0)", "i += get_local_size(0)"), "get_local_size(0) is 256"),
        ):
            self.kernels.write_text(with_mistake(kernel, *mistake))
            said = self.run_rung(rung, env={"COLUMNS": "1000"}).stdout
            self.assertIn(words, said)
            self.assertNotRegex(said, "__sync|threadIdx|blockDim")

    def test_profile_has_counts_by_the_kernels_lines(self):
        self.kernels.write_text((ROOT / "solutions/10_opencl/opencl.cl").read_text())
        profile = json.loads(self.run_rung("two_stage", "--profile", "--json").stdout)["rungs"][0]["profile"]["report"]
        lines = {line["line"] for launch in profile["launches"] for line in launch["lines"] if line["file"].endswith("opencl.cl")}
        barrier = self.kernels.read_text().split("    barrier(CLK_LOCAL_MEM_FENCE);\n  }\n")[0].count("\n") + 1
        self.assertIn(barrier, lines)

    def test_other_devices_give_the_same_verdicts(self):
        """PoCL's, if it is here; on it, the rung that is wrong on purpose is run until it is."""
        self.kernels.write_text((ROOT / "solutions/10_opencl/opencl.cl").read_text())
        said = subprocess.run([self.program, "--device=cpu", "--json"], text=True, capture_output=True, timeout=120)
        if said.returncode == 77:
            self.skipTest(said.stderr.strip())
        states = {rung["name"]: rung["state"] for rung in json.loads(said.stdout)["rungs"]}
        self.assertEqual(set(states.values()), {"pass"}, states)
        self.kernels.write_text(with_mistake("halving_items", "item < stride && ", "item < stride / 2 && "))
        said = subprocess.run([self.program, "--device=cpu", "--rung=halving_items"], text=True, capture_output=True, timeout=120)
        self.assertRegex(said.stdout, r"(?s)^wrong +halving_items: .*On the emulator, ")

    def test_what_the_compiler_says_is_shown_with_the_students_line(self):
        self.kernels.write_text(with_mistake("group_sums", "sum += input[i];", "sum += input[i]"))
        said = self.run_rung("two_stage")
        self.assertEqual(said.returncode, 1)
        self.assertRegex(said.stdout, "^not-built +two_stage: the kernels do not compile")
        line = self.kernels.read_text().split("sum += input[i]")[0].count("\n") + 1
        self.assertRegex(said.stderr, rf"opencl\.cl:{line}:\d+: .*expected ';'")
        shown = said.stderr.splitlines()
        text = next(index for index, each in enumerate(shown) if each.strip().endswith("sum += input[i]"))
        self.assertEqual(shown[text + 1].index("^"), len(shown[text]), "the caret is behind the last character")
        self.assertEqual(json.loads(self.run_rung("two_stage", "--json").stdout)["rungs"][0]["state"], "not-built")


if __name__ == "__main__":
    ROOT, WORK = Path(sys.argv[1]), Path(sys.argv[2])
    COMPILE, LINK = sys.argv[3].split("|"), sys.argv[4].split("|")
    unittest.main(argv=[sys.argv[0], "-v"])
