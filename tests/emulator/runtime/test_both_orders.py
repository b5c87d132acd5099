"""A launch that is also checked in the opposite order of blocks leaves nothing behind of that second run but its races."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop()


def run(which: str, **settings: str) -> tuple[str, dict]:
    """What the program printed, and the report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        environment = os.environ | {"WARPFOLD_CHECKS": "all", "WARPFOLD_BOTH_ORDERS": "on", "WARPFOLD_REPORT": str(report)}
        environment |= {"WARPFOLD_" + name.upper(): value for name, value in settings.items()}
        result = subprocess.run([PROGRAM, which], env=environment, capture_output=True, text=True, timeout=120, check=True)
        return result.stdout, json.loads(report.read_text())


class BothOrders(unittest.TestCase):
    def test_memory_and_counters_are_those_of_one_run(self):
        said, report = run("counts")
        self.assertEqual(said, "1280 20 cudaSuccess\n")
        self.assertEqual(report["total"]["atomic_operations"], 1280)
        self.assertEqual(len(report["launches"]), 20)
        self.assertEqual(report["launches_in_both_orders"], 9)  # the first eight, and the sixteenth

    def test_printf_prints_once(self):
        self.assertEqual(run("prints")[0], "block 0\n0 0 cudaSuccess\n")

    def test_what_the_second_run_could_not_take_back_runs_once(self):
        for which, settings in ("frees", {}), ("pinned", {}), ("counts", {"devices": "2"}), ("counts", {"checks": "initialisation"}):
            with self.subTest(which, **settings):
                said, report = run(which, **settings)
                self.assertIn("cudaSuccess", said)
                self.assertNotIn("launches_in_both_orders", report)

    def test_a_race_of_the_other_order_is_told(self):
        for schedule, other in ("forwards", True), ("backwards", False):
            with self.subTest(schedule):
                hazards = run("reads", schedule=schedule, workers="1")[1]["hazards"]
                self.assertEqual([each["kind"] for each in hazards], ["race-global"])
                self.assertEqual("opposite order" in hazards[0]["message"], other)

    def test_it_is_told_only_if_it_is_asked_for(self):
        self.assertEqual(run("reads", both_orders="off", workers="1")[1]["hazards"], [])

    def test_it_can_be_asked_for_kernels_that_wait_alone(self):
        self.assertEqual(run("chain", both_orders="waiting")[1]["launches_in_both_orders"], 1)
        self.assertNotIn("launches_in_both_orders", run("counts", both_orders="waiting")[1])

    def test_a_chain_of_blocks_ends_in_any_order(self):
        for schedule in "forwards", "backwards", "shuffled:1":
            for workers in "1", "2":
                with self.subTest(schedule, workers=workers):
                    said, report = run("chain", schedule=schedule, workers=workers)
                    self.assertEqual(said, "150 0 cudaSuccess\n")
                    self.assertEqual(report["hazards"], [])


if __name__ == "__main__":
    unittest.main()
