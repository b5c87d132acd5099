"""What is told of textures and surfaces used wrongly: test_texture_mistakes.py PROGRAM SOURCE."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, SOURCE = "", ""


class TextureMistakes(unittest.TestCase):
    def told(self, case: str, checks: str = "all") -> list[dict]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            environment = os.environ | {"WARPFOLD_CHECKS": checks, "WARPFOLD_REPORT": str(path)}
            done = subprocess.run([PROGRAM, case], env=environment, text=True, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.said = done.stdout.strip()
            self.report = json.loads(path.read_text())
            return [hazard for hazard in self.report["hazards"] if hazard["kind"] != "leak"]

    def line_of(self, mark: str) -> int:
        (line,) = [number for number, line in enumerate(Path(SOURCE).read_text().splitlines(), start=1) if line.endswith("// " + mark)]
        return line

    def check(self, case: str, kind: str, mark: str, *words: str):
        hazard = self.told(case)[0]
        self.assertEqual((hazard["kind"], hazard["line"]), (kind, self.line_of(mark)), hazard)
        for word in words:
            self.assertIn(word, hazard["message"])
        self.assertTrue(hazard["why"], hazard)

    def test_nothing_is_told_of_what_is_right(self):
        self.assertEqual(self.told("right"), [])
        self.assertEqual(self.said, "cudaSuccess")

    def test_places_outside_of_a_surface_are_named(self):
        self.check("too_wide", "out-of-bounds", "store", "writes 4 bytes at x = 256, y = 0 of array 1 (64 x 4 elements of 4 bytes)")
        self.check("too_high", "out-of-bounds", "store", "at x = 0, y = 4 of array 1")
        self.check("too_deep", "out-of-bounds", "load", "reads 4 bytes at x = 0, y = 0, z = 7 of array 2")

    def test_they_stop_the_kernel_as_on_a_gpu(self):
        self.told("too_wide", "none")
        self.assertEqual(self.said, "cudaErrorIllegalAddress")
        self.told("elements", "none")
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
    PROGRAM, SOURCE = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
