"""What the tests of programs with mistakes share. Such a program takes the name of a mistake and prints the error that it was given; in its
source, `// MARK` ends the line that must be named."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, SOURCE = sys.argv[1:3] if len(sys.argv) > 2 else ("", "")


class Mistakes(unittest.TestCase):
    def told(self, case: str, **environment: str) -> list[dict]:
        """The hazards, without those that are no mistake; `said` is the error, `report` all of the report."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            settings = os.environ | {"WARPFOLD_CHECKS": "all", "WARPFOLD_REPORT": str(path)} | environment
            done = subprocess.run([PROGRAM, case], env=settings, text=True, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.said = done.stdout.strip()
            self.report = json.loads(path.read_text())
        return [hazard for hazard in self.report["hazards"] if hazard["kind"] != "leak"]

    def line_of(self, mark: str) -> int:
        lines = Path(SOURCE).read_text().splitlines()
        return next(number for number, line in enumerate(lines, start=1) if line.endswith("// " + mark))

    def check(self, case: str, kind: str, mark: str, *words: str) -> None:
        """The first hazard is of this kind, at the marked line, and its message has these words; others follow from it."""
        hazard = self.told(case)[0]
        self.assertEqual((hazard["kind"], hazard["line"]), (kind, self.line_of(mark)), hazard)
        for word in words:
            self.assertIn(word, hazard["message"])
        self.assertTrue(hazard["why"], hazard)


def main() -> None:
    del sys.argv[1:3]
    unittest.main()
