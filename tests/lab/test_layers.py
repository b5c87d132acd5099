"""The lab library's folders are layers along the way from a case to a verdict: each knows only those before it."""

import re
import unittest
from pathlib import Path

LAB = Path(__file__).resolve().parents[2] / "common/lab"
# What a rung promises; what it runs on; the run; whether it is right; why not; the verdict; the order of things.
LAYERS = ["promises", "input", "run", "judge", "explain", "report", "program"]
# What labs include and the list of states are below all of them.
BELOW = {"lab.hpp", "opencl.hpp", "compute_90.cuh", "states.def"}
# Judging and explaining know nothing of how a case is run: of what lies in `run`, only what every runner shares.
EVERY_RUNNERS = {"cuda_errors.hpp", "device.hpp", "emulator.hpp", "memory.hpp", "recorded.hpp", "runner.hpp", "watchdog.hpp"}
C_HEADER = "runtime/warpfold_emulator.h"
SOURCES = (".cpp", ".hpp", ".def", ".cu", ".cuh", ".h", ".in")


def includes() -> list[tuple[Path, Path]]:
    """(file, what it includes) for each quoted #include, both from the library's folder. MPI's stand-in has none of the library's."""
    found = []
    for path in sorted(LAB.rglob("*")):
        if path.suffix not in SOURCES:
            continue
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE):
            own = path.parent / name
            found.append((path.relative_to(LAB), own.relative_to(LAB) if own.is_file() and not (LAB / name).is_file() else Path(name)))
    return found


class Layers(unittest.TestCase):
    def test_every_folder_has_its_layer(self):
        self.assertEqual({path.name for path in LAB.iterdir() if path.is_dir()}, set(LAYERS))
        self.assertEqual({path.name for path in LAB.iterdir() if path.is_file()}, {*BELOW, "meson.build"})

    def test_each_knows_only_those_before_it(self):
        seen = 0
        for path, wanted in includes():
            layer = wanted.parts[0]
            if str(wanted) in BELOW or layer not in LAYERS:
                continue
            seen += 1
            before = LAYERS[: LAYERS.index(path.parts[0]) + 1]
            self.assertIn(layer, before, f"{path} may not include {wanted}")
        self.assertGreater(seen, 200)  # the test would else look in the wrong place

    def test_judging_and_explaining_know_no_runner(self):
        for path, wanted in includes():
            if path.parts[0] in ("judge", "explain") and wanted.parts[0] == "run":
                self.assertIn("/".join(wanted.parts[1:]), EVERY_RUNNERS, f"{path} may not include {wanted}")

    def test_quoted_includes_exist(self):
        """One that is found by neither path would escape the tests above."""
        for path, wanted in includes():
            known = str(wanted) in (C_HEADER, "source_lines.hpp") or (LAB / wanted).is_file()
            self.assertTrue(known, f"{path}: {wanted}")


if __name__ == "__main__":
    unittest.main()
