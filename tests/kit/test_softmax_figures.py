"""The figures of the handout on softmax show what the solved kernels do: drawn anew, they are the same."""

import importlib
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

import support  # noqa: F401  (finds the kit)

LAB = SimpleNamespace(name="13_softmax", program=Path(sys.argv.pop()))  # the solved one
FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"


class SoftmaxFigures(unittest.TestCase):
    def test_they_are_drawn_from_what_the_kernels_do(self):
        sys.path.insert(0, str(FIGURES))
        for name, drawing in importlib.import_module("draw_softmax").figures(LAB).items():
            with self.subTest(name):
                self.assertEqual(drawing.svg(), (FIGURES / f"{name}.svg").read_text())


if __name__ == "__main__":
    unittest.main()
