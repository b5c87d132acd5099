"""What is told of bulk copies, mbarriers and matrices used wrongly: test_bulk_mistakes.py PROGRAM SOURCE."""

import mistakes


class BulkMistakes(mistakes.Mistakes):
    def test_nothing_is_told_of_what_is_right(self):
        self.assertEqual(self.told("right"), [])
        self.assertEqual(self.said, "cudaSuccess")

    def test_sizes_and_addresses_are_named(self):
        self.check("odd_bytes", "misaligned", "load", "copies 100 bytes, which is not a multiple of 16")
        self.check("odd_address", "misaligned", "load", "copies from 0x", "which is not a multiple of 16")
        self.check("odd_offset", "misaligned", "store", "copies from byte 8 of shared memory, which is not a multiple of 16")
        self.check("odd_target", "misaligned", "store", "copies to 0x", "which is not a multiple of 16")

    def test_bounds_are_checked(self):
        self.check("beyond_shared", "out-of-bounds", "load", "past the end")
        self.check(
            "beyond_array",
            "out-of-bounds",
            "store",
            "writes 128 bytes from byte 4032 of allocation 2 (4096 bytes) on, the last 64 of them beyond its end",
        )

    def test_copies_within_shared_memory_need_a_launch_with_a_cluster_size(self):
        self.check("no_cluster", "launch", "within", "must be launched with a cluster size, be it 1")

    def test_bytes_that_never_come_are_counted(self):
        expected = f"expects 128 bytes in this phase (line {self.line_of('the next line expects') + 1}), of which 112 have come"
        (hazard,) = self.told("missing_bytes")
        self.assertEqual(hazard["kind"], "barrier", hazard)
        self.assertIn(expected, hazard["message"])

    def test_the_parity_of_the_phase_that_is_over_is_named(self):
        (hazard,) = self.told("wrong_parity")
        self.assertEqual(hazard["kind"], "barrier", hazard)
        self.assertIn("it has completed 1 phase, the last one of parity 0", hazard["message"])

    def test_an_mbarrier_has_to_be_begun(self):
        self.check("not_begun", "barrier", "arrive", "where no mbarrier.init has made one")

    def test_more_arrivals_than_a_phase_waits_for(self):
        self.check("all_arrive", "barrier", "all", "arrives once at a barrier whose phase waits for 0 more")

    def test_a_whole_warp_has_to_take_part(self):
        self.check("branch", "warp-mask", "multiply", "is executed by 16 of its warp's 32 lanes", "the others are elsewhere")
        self.check("gone", "warp-mask", "multiply", "the others have left the kernel")
        self.check("small_block", "warp-mask", "multiply", "the block's last warp has no more")


if __name__ == "__main__":
    mistakes.main()
