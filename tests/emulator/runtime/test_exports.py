"""The stand-in exports every name, under the same version, that the toolkit's own libcudart does."""

import os
import re
import subprocess
import unittest
from pathlib import Path

EMULATOR = Path(os.environ["WARPFOLD_EMULATOR"])


def real_library() -> Path:
    folder = Path(os.environ["CUDA_LIBRARY"])
    found = sorted(path for path in folder.glob("libcudart.so.*") if re.fullmatch(r"libcudart\.so\.\d+", path.name))
    if not found:
        raise unittest.SkipTest(f"no libcudart.so in {folder} to compare with")
    return found[-1]


def exports(library: Path) -> set[str]:
    listing = subprocess.run(["nm", "--dynamic", "--defined-only", str(library)], check=True, text=True, stdout=subprocess.PIPE).stdout
    names = {line.split()[-1].replace("@@", "@") for line in listing.splitlines() if line}
    return {name for name in names if name.startswith(("cuda", "__cuda"))}


class Exports(unittest.TestCase):
    def test_nothing_is_missing(self):
        real = exports(real_library())
        self.assertGreater(len(real), 300)
        self.assertEqual(sorted(real - exports(EMULATOR)), [])

    def test_same_file_name(self):
        self.assertEqual(EMULATOR.name.split(".so.")[1].split(".")[0], real_library().name.split(".so.")[1])

    def test_nothing_but_the_interface_is_visible(self):
        listing = subprocess.run(["nm", "--dynamic", "--defined-only", str(EMULATOR)], check=True, text=True, stdout=subprocess.PIPE).stdout
        names = {line.split()[-1].split("@")[0] for line in listing.splitlines() if line}
        others = {
            name
            for name in names
            if not name.startswith(("cuda", "__cuda", "warpfold_emulator_", "libcudart.so"))
            and not name.startswith("_ZNS")  # the standard library's, kept unique for the whole process
        }
        self.assertEqual(others, set())


if __name__ == "__main__":
    unittest.main()
