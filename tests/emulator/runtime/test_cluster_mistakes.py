"""What is told of mistakes in clusters that end a launch: test_cluster_mistakes.py PROGRAM SOURCE."""

import re

import mistakes


class ClusterMistakes(mistakes.Mistakes):
    def check_error(self, case: str, kind: str, message: str, error: str, **more: str) -> dict:
        hazards = self.told(case, **more)
        self.assertEqual(self.said, error)
        self.assertEqual({each["kind"] for each in hazards}, {kind}, hazards)
        hazard = next((each for each in hazards if re.search(message, each["message"])), hazards[0])
        self.assertRegex(hazard["message"], message)
        self.assertIn(self.line_of(case), (hazard["line"], hazard["other_line"]), hazard)
        return hazard

    def test_a_rank_that_the_cluster_does_not_have(self):
        hazard = self.check_error(
            "rank_outside", "out-of-bounds", "the block of rank 5; its cluster has 4 blocks", "cudaErrorIllegalAddress"
        )
        self.assertIn("num_blocks", hazard["advice"])
        self.check_error(
            "rank_without_clusters", "out-of-bounds", "the block of rank 1; its cluster has one block", "cudaErrorIllegalAddress"
        )

    def test_a_variable_that_is_not_shared(self):
        hazard = self.told("local_by_rank")[0]
        self.assertEqual((hazard["kind"], hazard["line"]), ("out-of-bounds", self.line_of("local_by_rank")), hazard)
        self.assertIn("Declare what other blocks read as __shared__", hazard["advice"])

    def test_beyond_the_other_blocks_memory(self):
        self.check_error(
            "beyond_the_end",
            "out-of-bounds",
            r"of the shared memory of the block of rank 1, which has 128 bytes",
            "cudaErrorIllegalAddress",
        )

    def test_a_cluster_whose_threads_wait_for_each_other(self):
        hazard = self.check_error("left_behind", "barrier", r"a cluster of 4 blocks can never go on", "cudaErrorLaunchTimeout")
        self.assertEqual(hazard["other_line"], self.line_of("the others"))
        self.assertRegex(hazard["message"], r"block \(0, 0, 0\), rank 0:\n +cluster_mistakes.cu:\d+ \(waits at a barrier\): warp 0 lane 0")
        self.assertRegex(hazard["message"], r"block \(3, 0, 0\), rank 3:\n.*waits at the cluster's barrier\): warp 0 lanes 0-31")

    def test_halves_of_the_barrier_that_do_not_alternate(self):
        self.check_error("arrives_twice", "barrier", "arrives at the cluster's barrier again", "cudaErrorLaunchFailure")
        self.check_error("never_arrives", "barrier", "without having arrived", "cudaErrorLaunchFailure")

    def test_a_block_that_keeps_its_cluster_waiting(self):
        hazard = self.check_error(
            "waits_for_a_flag", "endless", r"block \(1, 0, 0\) ", "cudaErrorLaunchTimeout", WARPFOLD_SCHEDULE="backwards"
        )
        self.assertRegex(hazard["message"], "waits for memory to change|repeats the same steps")
        self.check_error("waits_for_an_arrival", "barrier", r"block \(1, 0, 0\) .*lacks 3 arrivals", "cudaErrorLaunchTimeout")


if __name__ == "__main__":
    mistakes.main()
