"""What is told of mistakes in clusters that end a launch: test_cluster_mistakes.py PROGRAM SOURCE."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, SOURCE = "", ""


class ClusterMistakes(unittest.TestCase):
    def told(self, case: str, **more: str) -> tuple[list[dict], str]:
        """The hazards, and the error that the program was given."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            environment = os.environ | {"WARPFOLD_CHECKS": "all", "WARPFOLD_REPORT": str(path)} | more
            done = subprocess.run([PROGRAM, case], env=environment, text=True, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            hazards = json.loads(path.read_text())["hazards"]
        return hazards, done.stdout.strip()

    def line_of(self, mark: str) -> int:
        lines = Path(SOURCE).read_text().splitlines()
        return next(number for number, line in enumerate(lines, start=1) if line.endswith("// " + mark))

    def check(self, case: str, kind: str, message: str, error: str, **more: str) -> dict:
        hazards, given = self.told(case, **more)
        self.assertEqual(given, error)
        self.assertEqual({each["kind"] for each in hazards}, {kind}, hazards)
        hazard = next((each for each in hazards if re.search(message, each["message"])), hazards[0])
        self.assertRegex(hazard["message"], message)
        self.assertIn(self.line_of(case), (hazard["line"], hazard["other_line"]), hazard)
        return hazard

    def test_a_rank_that_the_cluster_does_not_have(self):
        hazard = self.check("rank_outside", "out-of-bounds", "the block of rank 5; its cluster has 4 blocks", "cudaErrorIllegalAddress")
        self.assertIn("num_blocks", hazard["advice"])
        self.check("rank_without_clusters", "out-of-bounds", "the block of rank 1; its cluster has one block", "cudaErrorIllegalAddress")

    def test_beyond_the_other_blocks_memory(self):
        self.check(
            "beyond_the_end",
            "out-of-bounds",
            r"of the shared memory of the block of rank 1, which has 128 bytes",
            "cudaErrorIllegalAddress",
        )

    def test_a_cluster_whose_threads_wait_for_each_other(self):
        hazard = self.check("left_behind", "barrier", r"a cluster of 4 blocks can never go on", "cudaErrorLaunchTimeout")
        self.assertEqual(hazard["other_line"], self.line_of("the others"))
        self.assertRegex(hazard["message"], r"block \(0, 0, 0\), rank 0:\n +cluster_mistakes.cu:\d+ \(waits at a barrier\): warp 0 lane 0")
        self.assertRegex(hazard["message"], r"block \(3, 0, 0\), rank 3:\n.*waits at the cluster's barrier\): warp 0 lanes 0-31")

    def test_halves_of_the_barrier_that_do_not_alternate(self):
        self.check("arrives_twice", "barrier", "arrives at the cluster's barrier again", "cudaErrorLaunchTimeout")
        self.check("never_arrives", "barrier", "without having arrived", "cudaErrorLaunchTimeout")

    def test_a_block_that_keeps_its_cluster_waiting(self):
        hazard = self.check("waits_for_a_flag", "endless", r"block \(1, 0, 0\) ", "cudaErrorLaunchTimeout", WARPFOLD_SCHEDULE="backwards")
        self.assertRegex(hazard["message"], "waits for memory to change|repeats the same steps")
        self.check("waits_for_an_arrival", "barrier", r"block \(1, 0, 0\) .*lacks 3 arrivals", "cudaErrorLaunchTimeout")


if __name__ == "__main__":
    PROGRAM, SOURCE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
