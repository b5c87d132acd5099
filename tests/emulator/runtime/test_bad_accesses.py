"""What is told of bad accesses that come together or one after the other: test_bad_accesses.py PROGRAM SOURCE."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, SOURCE = "", ""


class BadAccesses(unittest.TestCase):
    def told(self, case: str) -> list[dict]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            environment = os.environ | {"WARPFOLD_CHECKS": "all", "WARPFOLD_REPORT": str(path)}
            done = subprocess.run([PROGRAM, case], env=environment, text=True, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.said = done.stdout
            return json.loads(path.read_text())["hazards"]

    def lines_of(self, mark: str) -> list[int]:
        lines = Path(SOURCE).read_text().splitlines()
        return [number for number, line in enumerate(lines, start=1) if line.endswith("// " + mark)]

    def test_misaligned_past_the_end_is_both(self):
        told = self.told("misaligned_past_the_end")
        self.assertEqual(sorted(each["kind"] for each in told), ["misaligned", "out-of-bounds"], told)
        for each in told:
            self.assertIn(each["line"], self.lines_of("misaligned_past_the_end"))

    def test_misaligned_inside_is_that_alone(self):
        self.assertEqual([each["kind"] for each in self.told("misaligned_inside")], ["misaligned"])

    def test_one_bad_access_is_told_once(self):
        told = self.told("one_thread_once")
        self.assertEqual([(each["kind"], each["times"]) for each in told], [("out-of-bounds", 1)], told)

    def test_second_kernel_is_told_of_too(self):
        told = self.told("second_kernel")
        self.assertEqual([each["kind"] for each in told], ["out-of-bounds", "out-of-bounds"], told)
        self.assertEqual([each["line"] for each in told], self.lines_of("store_at") + self.lines_of("load_at"))
        array = "allocation 1 (400 bytes)"
        self.assertEqual(
            [each["message"] for each in told],
            [
                f"thread 0 of block 0 writes element 100 of {array}, which has 100 elements",
                f"thread 0 of block 0 reads element 1000 of {array}, which has 100 elements",
            ],
        )
        (line,) = self.lines_of("second launch")
        self.assertEqual(told[1]["launch"], f"load_at<<<1, 1>>>({array}, {array}, 1000), launched at bad_accesses.cu:{line}")

    def test_an_argument_that_explains_it_is_named(self):
        reasons = {
            "null_argument": "The launch passes a null pointer.",
            "null_and_zero": "The launch passes a null pointer, and the number 0.",
            "second_kernel": "does not belong to this program",
            "more_than_elements": "but the array has fewer elements than that",
            "more_blocks": "the launch has more blocks than the array has elements",
            "overflowed": "an int cannot hold 2^31 or more",
            "far_away": "far from this address",
            "swapped_arguments": "another one that the launch passes, for a parameter of the same type",
        }
        for case, reason in reasons.items():
            with self.subTest(case=case):
                self.assertIn(reason, self.told(case)[-1]["why"])

    def test_an_unwritten_place_comes_with_what_was_written(self):
        (unwritten,) = self.told("partly_written")
        self.assertIn("which has not been written; of the 10 elements there, only element 0 has been", unwritten["message"])
        self.assertEqual(unwritten["line"], self.lines_of("add_up")[0])
        launch = "add_up<<<1, 32>>>(allocation 1 (400 bytes), allocation 2 (40 bytes), 10), launched at bad_accesses.cu:"
        self.assertTrue(unwritten["launch"].startswith(launch), unwritten["launch"])

    def test_a_standstill_names_the_first_of_the_places(self):
        standstill = self.told("shuffle_in_a_branch")[-1]
        self.assertEqual(standstill["kind"], "warp-mask", standstill)
        self.assertEqual([standstill["line"], standstill["other_line"]], [*self.lines_of("in a branch"), *self.lines_of("after it")])

    def test_between_two_allocations_both_are_named(self):
        (bad,) = self.told("between_two")
        self.assertRegex(bad["message"], r"2000 bytes past the end of allocation 1 .*, \d+ bytes before allocation 2 ")

    def test_an_index_counts_from_the_argument(self):
        for case, place in {
            "far_index": "element 1073741824 of allocation 1 (400 bytes), which has 100 elements",
            "bytes": "byte -4 of allocation 1 (400 bytes)",
        }.items():
            with self.subTest(case=case):
                (bad,) = self.told(case)
                self.assertTrue(bad["message"].endswith(f" reads {place}"), bad["message"])

    def test_past_a_short_allocation_is_not_in_the_next_one(self):
        for size in 4, 256, 512:
            with self.subTest(size=size):
                (bad,) = self.told(f"past_{size}_bytes")
                elements = f"{size // 4} elements" if size > 4 else "one element"
                self.assertIn(f"element {(size + 256) // 4} of allocation 2 ({size} bytes), which has {elements}", bad["message"])

    def test_what_could_not_be_freed_is_no_leak(self):
        told = self.told("refused_free")
        self.assertEqual([each["kind"] for each in told], ["out-of-bounds"], told)
        self.assertNotIn("no error", self.said)

    def test_variables_have_their_own_names(self):
        (bad,) = self.told("variable_x")
        self.assertRegex(bad["message"], r"\bx\b")
        self.assertNotIn("long long", bad["message"])
        races = [each for each in self.told("variable_i") if each["kind"] == "race-shared"]
        self.assertTrue(races)
        for each in races:
            self.assertRegex(each["message"], r" (writes|reads) i, ")


if __name__ == "__main__":
    PROGRAM, SOURCE = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
