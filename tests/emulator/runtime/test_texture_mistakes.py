"""What is told of textures and surfaces used wrongly: test_texture_mistakes.py PROGRAM SOURCE."""

import mistakes


class TextureMistakes(mistakes.Mistakes):
    def test_nothing_is_told_of_what_is_right(self):
        self.assertEqual(self.told("right"), [])
        self.assertEqual(self.said, "cudaSuccess")

    def test_places_outside_of_a_surface_are_named(self):
        self.check("too_wide", "out-of-bounds", "store", "writes 4 bytes at x = 256, y = 0 of array 1 (64 x 4 elements of 4 bytes)")
        self.check("too_high", "out-of-bounds", "store", "at x = 0, y = 4 of array 1")
        self.check("too_deep", "out-of-bounds", "load", "reads 4 bytes at x = 0, y = 0, z = 7 of array 2")

    def test_they_stop_the_kernel_as_on_a_gpu(self):
        self.told("too_wide", WARPFOLD_CHECKS="none")
        self.assertEqual(self.said, "cudaErrorIllegalAddress")
        self.told("elements", WARPFOLD_CHECKS="none")
        self.assertEqual(self.said, "cudaErrorMisalignedAddress")

    def test_coordinates_that_count_elements_are_found(self):
        self.check("elements", "misaligned", "not bytes", "x = 1, y = 0", "it counts bytes")

    def test_surfaces_race_like_global_memory(self):
        hazard = self.told("race")[0]
        self.assertEqual(hazard["kind"], "race-global", hazard)
        self.assertEqual({hazard["line"], hazard["other_line"]}, {self.line_of("first"), self.line_of("second")})

    def test_texels_that_nothing_has_written_are_found(self):
        self.check("unwritten", "uninitialised", "fetch", "array 1")

    def test_arrays_that_were_freed_are_named(self):
        self.check("freed", "use-after-free", "fetch", "array 1 (64 x 4 elements of 4 bytes), which has been freed")

    def test_objects_must_exist_and_fit(self):
        self.check("destroyed", "launch", "fetch", "for a texture object, which it is not")
        self.check("swapped", "launch", "fetch", "for a texture object, which it is not")
        self.check("misfit", "launch", "fetch a volume", "tex.3d", "does not fit array 1", "a 2D array")


if __name__ == "__main__":
    mistakes.main()
