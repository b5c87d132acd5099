"""Lab 10 is graded as the others are: its kernels are compiled in one sandbox, and judged in another that has no compiler."""

import re
import unittest

import support
from classroom.grading import grader
from classroom.isolation import sandbox

WAIT = "barrier(CLK_GLOBAL_MEM_FENCE);"
STEP = "if (item < stride && item + stride < n) data[item] += data[item + stride];"


@support.needs_sandbox
class Lab10(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        [cls.lab] = support.labs("10_opencl")
        support.skip_without_compiler(grader.grade(cls.lab, cls.lab.solution.read_text(), support.HIDDEN, sandbox.Sandbox()))

    def graded(self, of_halving_items: str) -> dict:
        """The solved kernels with these lines in the region of halving_items."""
        text = self.lab.solution.read_text()
        inside = re.compile(r"(// BEGIN halving_items\n).*?(\s*// END halving_items)", re.S)
        text, count = inside.subn(lambda found: found[1] + of_halving_items + found[2], text)
        self.assertEqual(count, 1)
        return grader.grade(self.lab, text, support.HIDDEN, sandbox.Sandbox())

    def rung(self, of_halving_items: str) -> dict:
        result = self.graded(of_halving_items)
        self.assertTrue(result["graded"], result["why"])
        return {rung["name"]: rung for rung in result["rungs"]}["halving_items"]

    def test_a_mistake_costs_its_rung_alone(self):
        states = support.states(self.graded(STEP))
        self.assertEqual(states.pop("halving_items"), "wrong")
        self.assertEqual(set(states.values()), {"pass"})

    def test_the_hazard_says_what_is_missing(self):
        rung = self.rung(STEP)
        self.assertIn("no barrier between the two", " ".join(hazard["message"] for hazard in rung["hazards"]))

    def test_what_does_not_compile_is_told_with_file_and_line(self):
        self.assertRegex(
            self.rung("if (item < stride data[item] += 1;")["reason"], r"does not compile: labs/10_opencl/opencl\.cl:\d+:\d+: error"
        )

    def test_a_loop_without_end_is_ended(self):
        self.assertEqual(self.rung("for (;;) data[0] += 1;")["state"], "wrong")

    def test_files_of_the_machine_are_not_there(self):
        self.assertIn("'/etc/passwd' file not found", self.rung('#include "/etc/passwd"')["reason"])

    def test_what_exhausts_the_compiler_is_ended(self):
        tenfold = [f"#define A{depth} {f'A{depth - 1} + ' * 9}A{depth - 1}" for depth in range(1, 10)]
        bomb = "\n".join(["#define A0 1", *tenfold, "data[0] = A9;"])
        self.assertIn("the compiler was ended because it used too much", self.rung(bomb)["reason"])

    def test_a_compiler_that_crashes_gives_no_points(self):
        result = self.graded(f"#pragma clang __debug crash\n{WAIT}")
        self.assertNotIn("pass", support.states(result).values())

    def test_addresses_outside_the_buffers_are_refused(self):
        rung = self.rung(f"*(global float*)(0x7f0000000000ul + item) = 1; {WAIT}")
        self.assertEqual((rung["state"], rung["hazards"][0]["kind"]), ("wrong", "out-of-bounds"))

    def test_what_kernels_print_decides_nothing(self):
        self.assertEqual(self.rung(f'printf("not ok 1 - x\\n"); {STEP} {WAIT}')["state"], "pass")

    def test_kernels_behind_a_closed_brace_do_not_become_others(self):
        other = "kernel void other(global float* data, global float* result, ulong n) { const ulong item = 0; for (ulong stride = 1; stride > 0; stride /= 2) {"
        result = self.graded(f"}} *result = 7; }} {other}")
        self.assertEqual(support.states(result)["halving_items"], "wrong")
        self.assertIn("braces do not match", " ".join(result["flags"]))


if __name__ == "__main__":
    unittest.main()
