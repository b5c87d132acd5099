"""What the tests of a class share: the course as it is graded, and a room that is there or not."""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

from kit.classroom import grader, sandbox, version  # noqa: E402

HIDDEN = grader.Hidden(4711, ("12345", "777:64"))
REASON = sandbox.why_not()
needs_sandbox = unittest.skipIf(REASON, f"no sandbox works here: {REASON}")


def labs(*names: str) -> list[version.Lab]:
    return version.prepare(list(names) or None)


def states(result: dict) -> dict[str, str]:
    return {rung["name"]: rung["state"] for rung in result["rungs"]}
