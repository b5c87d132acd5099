"""What lab 10's program says about mistakes in its kernels, on a CPU: the solution with one planted mistake each.

Called by Meson with the source root, a folder to build in, and the commands of the C++ compiler and of the linker,
whose words are separated by |; in the latter, OBJECT stands for the object file. If OpenCL offers no CPU, the tests are
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
LOCAL_STEP = "    if (item < stride) partial[item] += partial[item + stride];\n    barrier(CLK_LOCAL_MEM_FENCE);\n"

# Rung, kernel, (old text, new text), the state, and the kind of the diagnosis ("any": it depends on chance).
MUTANTS = {
    "modulo without a barrier": ("modulo_in_place", "modulo_in_place", (BARRIER, ""), "wrong", "order-of-items"),
    "dense without a barrier": ("dense_items", "dense_items", (BARRIER, ""), "wrong", "order-of-items"),
    "halving without a barrier": ("halving_items", "halving_items", (BARRIER, ""), "wrong", "order-of-items"),
    "across without a barrier": ("across_groups", "across_groups", (BARRIER, ""), "wrong", "order-of-items"),
    "group without a barrier": ("two_stage", "group_sums", (LOCAL_BARRIER, "  }\n"), "wrong", "order-of-items"),
    # The items add what others are changing: right if they run in ascending order, as on a CPU.
    "all items work": ("modulo_in_place", "modulo_in_place", ("at % (2 * stride)", "at % stride"), "hazard", None),
    "every item adds": ("halving_items", "halving_items", ("item < stride && ", ""), "hazard", None),
    "all add in local memory": ("two_stage", "group_sums", ("if (item < stride) ", ""), "hazard", None),
    "barrier in the branch": (
        "two_stage",
        "group_sums",
        (LOCAL_STEP, "    if (item < stride) {\n" + LOCAL_STEP[22:] + "    }\n"),
        "hazard|wrong",
        "any",
    ),
    "neighbours overlap": ("dense_items", "dense_items", ("2 * stride * item", "stride * item"), "wrong", "any"),
    "stored, not added": ("halving_items", "halving_items", ("+= data[item", "= data[item"), "wrong", "weights"),
    "stride of a group": ("two_stage", "group_sums", ("i += get_global_size(0)", "i += get_local_size(0)"), "wrong", "weights"),
    "start of a group": ("two_stage", "group_sums", ("ulong i = get_global_id(0)", "ulong i = get_local_id(0)"), "wrong", "weights"),
    "no walk": (
        "two_stage",
        "group_sums",
        ("for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) sum", "const ulong i = get_global_id(0);\n  if (i < n) sum"),
        "wrong",
        "weights",
    ),
    "half a tree": ("two_stage", "group_sums", ("get_local_size(0) / 2", "get_local_size(0) / 4"), "wrong", "weights"),
    "one step too few": ("two_stage", "group_sums", ("stride > 0", "stride > 1"), "wrong", "weights"),
    # What the memory holds may look like anything.
    "read before written": ("two_stage", "group_sums", ("get_local_size(0) / 2", "get_local_size(0)"), "wrong", "any"),
    # On a CPU, a barrier orders accesses to all memory, so only the flags that the barriers name show this mistake.
    "fence of the other memory": ("two_stage", "group_sums", (LOCAL_BARRIER, LOCAL_BARRIER.replace("LOCAL", "GLOBAL")), "hazard", None),
    # Wrong on purpose, here repaired: one work-group does it all, and the others do nothing.
    "across by one group": (
        "across_groups",
        "across_groups",
        (
            "if (item < stride && item + stride < n) data[item] += data[item + stride];",
            "for (ulong at = item; item < get_local_size(0) && at < stride; at += get_local_size(0))\n"
            "      if (at + stride < n) data[at] += data[at + stride];",
        ),
        "pass",
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
        for name, (rung, kernel, mistake, state, diagnosis) in MUTANTS.items():
            with self.subTest(mutant=name):
                self.kernels.write_text(with_mistake(kernel, *mistake))
                said = self.run_rung(rung, "--json")
                found = json.loads(said.stdout)["rungs"][0]
                self.assertIn(found["state"], state.split("|"), found)
                if diagnosis != "any":
                    self.assertEqual(found.get("diagnosis", {}).get("kind"), diagnosis, found.get("reason"))

    def test_luck_says_what_the_items_order_has_to_do_with_it(self):
        self.kernels.write_text(with_mistake("modulo_in_place", "at % (2 * stride)", "at % stride"))
        said = self.run_rung("modulo_in_place")
        self.assertEqual(said.returncode, 1)
        self.assertRegex(
            said.stdout,
            r"^hazard +modulo_in_place: right, but by luck: n = 31, integers: expected .*"
            "in the opposite order",
        )
        self.assertIn("not ok", self.run_rung("modulo_in_place", "--tap").stdout)

    def test_a_kernel_that_ends_the_program_is_told_of(self):
        self.kernels.write_text(with_mistake("modulo_in_place", "+= data[at + stride]", "+= data[at + stride * 10000000000]"))
        said = self.run_rung("modulo_in_place")
        self.assertEqual(said.returncode, 1)
        self.assertRegex(said.stdout, r"^wrong +modulo_in_place: n = \d+, integers, 64 threads per block: the rung ended the program")
        tap = self.run_rung("modulo_in_place", "--tap").stdout
        self.assertRegex(tap, r"(?m)^not ok (\d+) - n = \d+, integers, 64 threads per block\n# +the rung ended the program .*\n1\.\.\1$")

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

    def test_a_barrier_that_not_all_items_reach_is_told(self):
        step = "if (at + stride < n) data[at] += data[at + stride];"
        self.kernels.write_text(with_mistake("dense_items", step, "if (at + stride >= n) return;\n    data[at] += data[at + stride];"))
        said = self.run_rung("dense_items", "--json")
        found = json.loads(said.stdout)["rungs"][0]
        self.assertIn(found["state"], ("wrong", "hazard"))
        self.assertIn("A barrier waits for all items of the group", found["reason"] + found.get("diagnosis", {}).get("text", ""))

    def test_a_barrier_that_not_all_items_reach_is_told_when_a_later_run_does_not_end(self):
        step = "if (at + stride < n) data[at] += data[at + stride];"
        endless = "if (at + stride >= n) return;\n    while (n == 32) data[at] += 1;\n    data[at] += data[at + stride];"
        self.kernels.write_text(with_mistake("dense_items", step, endless))
        found = json.loads(self.run_rung("dense_items", "--json").stdout)["rungs"][0]
        self.assertEqual(found["state"], "wrong")
        self.assertIn("A barrier waits for all items of the group", found["diagnosis"]["text"])

    def test_what_is_written_beside_an_array_is_told(self):
        self.kernels.write_text(with_mistake("halving_items", "data[item] +=", "data[item + n] ="))
        said = self.run_rung("halving_items")
        self.assertRegex(said.stdout, r"^wrong +halving_items: n = \d+, integers: the kernel writes where there is no element: .* of input")

    def test_what_is_read_beside_an_array_is_no_number(self):
        self.kernels.write_text(with_mistake("dense_items", "at + stride < n", "at + stride <= n"))
        said = self.run_rung("dense_items")
        self.assertRegex(said.stdout, r"^wrong +dense_items: n = \d+, integers: expected \d+, got nan\n +.*not a number")

    def test_what_is_read_beyond_local_memory_is_no_number(self):
        self.kernels.write_text(with_mistake("group_sums", "get_local_size(0) / 2", "get_local_size(0)"))
        # Each of PoCL's threads has local memory of its own, and on a busy machine one that has slept while it was filled
        # with NaN may run the kernel. PoCL before version 4 knows the first of these names, later ones the second.
        one_thread = {"POCL_MAX_PTHREAD_COUNT": "1", "POCL_CPU_MAX_CU_COUNT": "1"}
        said = self.run_rung("two_stage", env=one_thread)
        self.assertRegex(said.stdout, r"^wrong +two_stage: n = \d+, integers: expected \d+, got nan")

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
