"""`kit run`: a rung on a few numbers, told step by step, from a trace such as the emulator writes."""

import contextlib
import io
import os
import struct
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit.errors import KitError
from kit.programs import rungs
from kit.trace import record, small


def bits(*values: float) -> list[int]:
    return [struct.unpack("<I", struct.pack("<f", value))[0] for value in values]


def access(at: str, line: int, lanes: int, array: int, elements: list[int], values: list[float] | None = None) -> dict:
    stored = {"bits": bits(*values)} if values else {}
    return {"at": at, "file": "x.cu", "line": line, "warp": 0, "lanes": lanes, "array": array, "width": 4, "offsets": [4 * e for e in elements],
            "sectors": 1, **stored}  # fmt: skip


# Two threads: each loads an element into shared memory, then thread 0 adds both and stores the sum.
LAUNCH = {
    "kernel": "tree", "grid": [1, 1, 1], "block": [32, 1, 1], "truncated": False,
    "arrays": [{"name": "partial", "space": "shared", "bytes": 128, "offset": 0}, {"name": "input (2 floats)", "space": "global", "bytes": 8, "offset": 0},
               {"name": "result", "space": "global", "bytes": 4, "offset": 0}],
    "events": [access("load", 3, 0b11, 1, [0, 1]), access("store", 3, 0b11, 0, [0, 1], [1, 2]),
               {"at": "barrier", "file": "x.cu", "line": 4, "barrier": 0, "whole_block": True},
               access("load", 5, 1, 0, [0]), access("load", 5, 1, 0, [1]), access("store", 5, 1, 0, [0], [3]),
               access("store", 6, 1, 2, [0], [3])],
}  # fmt: skip


def run(**answer) -> small.Small:
    known = {"n": 2, "rows": 1, "block": 32, "error": "", "input": [1.0, 2.0], "expected": [3.0], "results": [3.0], "printed": []} | answer
    launch = LAUNCH | {"events": [dict(event) for event in LAUNCH["events"]]}
    return small.Small("sequential", known, record.steps_of_launches([launch], [], 0), [])


class Steps(unittest.TestCase):
    def lines(self, found: small.Small, wide: int = 80) -> list[str]:
        with mock.patch.dict(os.environ, {"NO_COLOR": "1"}), contextlib.redirect_stdout(io.StringIO()):
            return small.lines(found, wide)

    def test_the_array_after_each_step_with_what_has_changed_in_brackets(self):
        told = self.lines(run())
        self.assertEqual(told[:2], ["sequential: n = 2, 32 threads per block, block 0 of each launch", "  input: 1 2"])
        self.assertIn("Step 1 of 2, tree. 2 of 32 threads at work.", told)
        first, second = (index for index, line in enumerate(told) if line.startswith("    partial"))
        self.assertEqual(told[first].split(), ["partial", "[1][2]"])
        self.assertEqual(told[second].split(), ["partial", "[3]", "2"])
        self.assertIn("  Then all threads wait at the barrier in line 4.", told)
        self.assertEqual(told[-1], "The result is 3: right.")

    def test_of_memory_that_is_mostly_unknown_the_known_elements_are_told_with_their_indices(self):
        event = access("store", 7, 0b11, 2, [16, 17]) | {"bits": [*bits(73), 1]}
        arrays = [*LAUNCH["arrays"][:2], {"name": "the mailbox on device 0", "space": "global", "bytes": 128, "offset": 0}]
        launch = LAUNCH | {"events": [event], "arrays": arrays}
        found = small.Small("one_kernel", run().answer, record.steps_of_launches([launch], [], 0), [])
        self.assertIn("    the mailbox on device 0   16: [73]   17: [1]", self.lines(found))

    def test_a_wrong_result_is_told_beside_the_right_one(self):
        found = run(results=[1.0])
        self.assertFalse(found.right)
        self.assertEqual(self.lines(found)[-1], "The result is 1, but should be 3.")

    def test_an_error_is_told(self):
        self.assertIn("It stopped: out of bounds", self.lines(run(error="out of bounds", results=None))[-1])

    def test_what_the_kernel_printed_is_shown(self):
        told = self.lines(run(printed=["thread 0"]))
        self.assertIn("    thread 0", told[told.index("The kernel printed:") :])

    def test_what_nccl_does_is_named_at_the_end(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "x.cu")
            source.write_text(
                "// BEGIN first\n  ncclReduce(a, b);\n// END first\n// BEGIN first_add\n  x(); // ncclReduce(a, b)\n// END first_add\n"
            )
            self.assertEqual(record.unseen(SimpleNamespace(source=source), "first_add"), "")
            found = run()
            found.unseen = record.unseen(SimpleNamespace(source=source), "first")
        self.assertEqual(self.lines(found)[-1], record.NCCL_UNSEEN[: len(self.lines(found)[-1])])
        self.assertIn(record.NCCL_UNSEEN, " ".join(line.strip() for line in self.lines(found)))

    def test_it_fits_a_narrow_terminal(self):
        self.assertLessEqual(max(map(len, self.lines(run(input=[1.0] * 2), 50))), 50)

    def test_a_lab_s_only_rung_need_not_be_named(self):
        listed = [{"name": "naive_atomic", "state": "filled"}]
        with mock.patch.object(rungs.labs, "ask", lambda lab, *words: {"rungs": listed}):
            self.assertEqual(rungs.one_to_trace(SimpleNamespace(name="01_naive_atomic"), None), "naive_atomic")
            listed.append({"name": "another", "state": "filled"})
            with self.assertRaisesRegex(KitError, "has 2 rungs: name one with --rung"):
                rungs.one_to_trace(SimpleNamespace(name="01_naive_atomic"), None)

    def test_values_as_they_are_written(self):
        self.assertEqual([small.text(value) for value in (3.0, 2.5, float("nan"), -7)], ["3", "2.5", "nan", "-7"])


if __name__ == "__main__":
    unittest.main()
