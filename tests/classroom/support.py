"""What the tests of a class share: the course as it is graded, and a room that is there or not."""

import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

from classroom.course import version  # noqa: E402
from classroom.grading import engine, grader  # noqa: E402
from classroom.isolation import sandbox  # noqa: E402

HIDDEN = grader.Hidden(4711, ("12345", "777:64"))
ATTACKS = Path(__file__).parent / "attacks"
# What an attack calls the process that it leaves. Other tests run the same attacks at the same time, so each has a name of its own.
LEFT = f"left{os.getpid()}"
REASON = sandbox.why_not()
needs_sandbox = unittest.skipIf(REASON, f"no sandbox works here: {REASON}")


def labs(*names: str) -> list[version.Lab]:
    return version.prepare(list(names) or None)


def skip_without_compiler(result: dict) -> None:
    """Lab 10 needs Clang and libclc."""
    if not result["graded"] and "is not on this machine" in result["why"]:
        raise unittest.SkipTest(result["why"])


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


# ---- a class, small


def kit(*words: str, **options) -> subprocess.CompletedProcess:
    """`./kit class` and these words."""
    return subprocess.run([sys.executable, str(ROOT / "kit"), "class", *words], text=True, capture_output=True, timeout=500, **options)


def small_class(folder: Path, students: int) -> Path:
    """A class's folder, collected: the first lab, each student's text another one, half of them stubs and one mistaken."""
    into = folder / "class"
    for number in range(students):
        source = ROOT / ("solutions" if number % 2 else "labs") / "01_naive_atomic" / "naive_atomic.cu"
        text = source.read_text().replace("// END", f"// {number}\n  // END", 1)
        target = folder / "in" / f"s{number}" / "naive_atomic.cu"
        target.parent.mkdir(parents=True)
        target.write_text(text.replace("if (i < n)", "if (i <= n)") if number == 3 else text)
    said = kit("collect", str(folder / "in"), "--class", str(into))
    if said.returncode != 0:
        raise RuntimeError(said.stderr)
    write_settings(into, "workers = 2")
    return into


def write_settings(into: Path, of_engine: str) -> None:
    (into / "course.toml").write_text(f'labs = ["01_naive_atomic"]\n[hidden]\nseed = 5\nsizes = ["777"]\n[engine]\n{of_engine}\n')


def marks_of(into: Path) -> str:
    return kit("grades", "--to", "json", "--class", str(into)).stdout


def workers_of(into: Path) -> list[int]:
    """The processes that a run in this class's folder started and that still are: whoever was told of the folder when it was started,
    or has a file open in it."""
    folder, found = str(into.resolve()), []
    for pid in engine.processes():
        serves = any(folder.encode() in each for each in engine.environment_of(pid))
        if serves or any(path.startswith(folder) for path in engine.open_files(pid)):
            found.append(pid)
    return found
