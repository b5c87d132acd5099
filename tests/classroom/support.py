"""What the tests of a class share: the course as it is graded, and a room that is there or not."""

import os
import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

from kit.classroom import grader, sandbox, version  # noqa: E402

HIDDEN = grader.Hidden(4711, ("12345", "777:64"))
ATTACKS = Path(__file__).parent / "attacks"
# What an attack calls the process that it leaves. Other tests run the same attacks at the same time, so each has a name of its own.
LEFT = f"left{os.getpid()}"
REASON = sandbox.why_not()
needs_sandbox = unittest.skipIf(REASON, f"no sandbox works here: {REASON}")


def labs(*names: str) -> list[version.Lab]:
    return version.prepare(list(names) or None)


def states(result: dict) -> dict[str, str]:
    return {rung["name"]: rung["state"] for rung in result["rungs"]}


def attack(path: Path, root: Path = ROOT) -> str:
    """The text of an attack, aimed at this course and with this process's name for what it leaves."""
    return path.read_text().replace("@ROOT@", str(root)).replace("@LEFT@", LEFT)


def left_behind(patience: float = 5) -> list[str]:
    """What still runs of this process's attacks: by name, and as root also by the users that its rooms had. The kernel ends a room's
    processes after its first one, so it is given a moment."""
    until = time.monotonic() + patience
    while found := [f"{pid} {comm(pid)}" for pid in os.listdir("/proc") if pid.isdigit() and is_ours(pid)]:
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    return found


def is_ours(pid: str) -> bool:
    first = sandbox.FIRST_USER + os.getpid() % 100_000 * 64
    try:
        return comm(pid) == LEFT or first <= os.stat(f"/proc/{pid}").st_uid < first + 64
    except OSError:
        return False


def comm(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
