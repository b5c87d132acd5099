"""Each folder of the emulator knows only those before it, and the lab library knows the emulator by its C header alone."""

import re
import unittest
from pathlib import Path

COMMON = Path(__file__).resolve().parents[2] / "common"
LAYERS = ["fatbin", "ptx", "machine", "analysis", "runtime"]  # fatbin and ptx know nothing of each other
FORBIDDEN_BELOW = {"ptx": {"fatbin"}, "machine": {"fatbin"}, "analysis": {"fatbin"}}
ON_TOP = ["nccl", "opencl"]  # libraries of their own, which use the runtime as a user's program does
BELOW_ALL = "source_lines.hpp"  # of common/source_lines, a library that knows none of them
C_HEADER = "runtime/warpfold_emulator.h"
# Of NVIDIA's, only the runtime may know; what lies below is plain C++.
CUDA = re.compile(r"^(cuda|driver_types|vector_types|builtin_types)")


def includes(folder: Path) -> list[tuple[Path, str, str]]:
    """(file, "quoted" or "angled", what is included) of each #include below a folder."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".cpp", ".hpp", ".inl", ".def", ".h", ".cu", ".cuh"):
            for bracket, name in re.findall(r'^\s*#\s*include\s*(["<])([^">]+)[">]', path.read_text(), re.MULTILINE):
                found.append((path, "quoted" if bracket == '"' else "angled", name))
    return found


def wanted_layer(path: Path, name: str) -> str | None:
    """The layer of the emulator that a file asks for: by a path from the emulator's folder, or from its own."""
    own = (path.parent / name).resolve()
    if own.is_file():
        name = str(own.relative_to(COMMON / "emulator")) if own.is_relative_to(COMMON / "emulator") else ""
    elif not (COMMON / "emulator" / name).is_file():
        return None
    return Path(name).parts[0] if name else None


class Layers(unittest.TestCase):
    def test_every_folder_has_its_layer(self):
        folders = {path.name for path in (COMMON / "emulator").iterdir() if path.is_dir()}
        self.assertEqual(folders - {"precompiled"}, {*LAYERS, *ON_TOP})

    def test_what_is_on_top_uses_public_headers_only(self):
        for folder in ON_TOP:
            found = includes(COMMON / "emulator" / folder)
            self.assertTrue(found, folder)
            for path, _, name in found:
                is_public = name == C_HEADER or wanted_layer(path, name) in {None, folder}
                self.assertTrue(is_public, f"{path.relative_to(COMMON)} may not include {name}")

    def test_emulator_knows_only_what_lies_below(self):
        seen = 0
        for at, layer in enumerate(LAYERS):
            allowed = set(LAYERS[: at + 1]) - FORBIDDEN_BELOW.get(layer, set())
            for path, _, name in includes(COMMON / "emulator" / layer):
                wanted = wanted_layer(path, name)
                seen += wanted is not None
                self.assertTrue(wanted is None or wanted in allowed, f"{path.relative_to(COMMON)} may not include {name}")
        self.assertGreater(seen, 100)  # the test would else look in the wrong place

    def test_quoted_includes_exist(self):
        """One that is found by neither path would escape the test above."""
        for path, bracket, name in includes(COMMON / "emulator"):
            if bracket == "quoted" and name != BELOW_ALL:
                self.assertIsNotNone(wanted_layer(path, name), f"{path.relative_to(COMMON)}: {name}")

    def test_what_is_below_all_knows_none(self):
        found = includes(COMMON / "source_lines")
        self.assertEqual({name for _, bracket, name in found if bracket == "quoted"}, {BELOW_ALL})

    def test_only_the_runtime_knows_cuda(self):
        for path, bracket, name in includes(COMMON / "emulator"):
            if bracket == "angled" and CUDA.match(name):
                self.assertIn(path.relative_to(COMMON / "emulator").parts[0], {"runtime", *ON_TOP}, f"{path.name} includes {name}")

    def test_lab_knows_the_c_header_alone(self):
        used = set()
        for path, _, name in includes(COMMON / "lab"):
            if (COMMON / "emulator" / name).is_file() and not (path.parent / name).is_file() and not (COMMON / "lab" / name).is_file():
                self.assertEqual(name, C_HEADER, f"{path.relative_to(COMMON)} may not include {name}")
                used.add(name)
            self.assertNotIn("emulator", Path(name).parts, f"{path.relative_to(COMMON)}: {name}")
        self.assertEqual(used, {C_HEADER})

    def test_c_header_is_plain_c(self):
        header = COMMON / "emulator" / C_HEADER
        for path, _, name in includes(header.parent):
            if path == header:
                self.assertEqual(name, "stddef.h")


if __name__ == "__main__":
    unittest.main()
