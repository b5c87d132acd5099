"""Every error code of the toolkit's headers has its name here, and a text of its own."""

import ctypes
import os
import re
import unittest
from pathlib import Path

library = ctypes.CDLL(os.environ["WARPFOLD_EMULATOR"])
for function in (library.cudaGetErrorName, library.cudaGetErrorString):
    function.restype = ctypes.c_char_p


def name_of(code: int) -> str:
    return library.cudaGetErrorName(code).decode()


def text_of(code: int) -> str:
    return library.cudaGetErrorString(code).decode()


class ErrorTexts(unittest.TestCase):
    def test_names_and_numbers_are_the_headers(self):
        header = (Path(os.environ["CUDA_INCLUDE"]) / "driver_types.h").read_text()
        declared = re.findall(r"^\s+(cudaSuccess|cudaError\w+)\s*=\s*(\d+)", header, re.MULTILINE)
        self.assertGreater(len(declared), 100)
        for name, code in declared:
            if name != "cudaErrorApiFailureBase":
                self.assertEqual(name_of(int(code)), name)

    def test_each_text_is_its_own(self):
        known = [code for code in range(1000) if name_of(code) != "unrecognised error code"]
        self.assertEqual(len({text_of(code) for code in known}), len(known))

    def test_unknown_codes(self):
        for code in (-1, 424242, 11):
            self.assertEqual(name_of(code), "unrecognised error code")
            self.assertEqual(text_of(code), "unrecognised error code")


if __name__ == "__main__":
    unittest.main()
