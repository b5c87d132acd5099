"""How long it takes to grade a class here: a made-up one in which everybody has solved everything, each in a text of their own."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from kit.errors import KitError
from kit.paths import ROOT

from ..course import version
from . import engine, results


@dataclass(frozen=True)
class Figures:
    students: int
    seconds: float  # wall time
    again: float  # a second run of the unchanged class
    cpu: dict[str, list[float]]  # by lab, for each submission, sandbox included
    memory: int  # peak bytes of the engine's largest process
    held: dict[int, int]  # bytes that all of the engine's processes held together when so many submissions were done

    def as_json(self) -> dict:
        each = [value for values in self.cpu.values() for value in values]
        return {
            "students": self.students, "submissions": len(each), "seconds": round(self.seconds, 1), "second_run_seconds": round(self.again, 1),
            "cpu_seconds_per_submission": round(sum(each) / len(each), 2), "engine_peak_mib": self.memory >> 20, "engine_mib_when_done": {done: held >> 20 for done, held in self.held.items()},
            "labs": {lab: round(sum(values) / len(values), 2) for lab, values in self.cpu.items()},
        }  # fmt: skip


def measure(students: int, labs: list[version.Lab]) -> Figures:
    with tempfile.TemporaryDirectory(prefix="warpfold-class-") as name:
        into = Path(name)
        for number in range(students):
            for lab in labs:
                folder = into / "submissions" / f"student{number:04}" / lab.name
                folder.mkdir(parents=True)
                (folder / lab.file).write_text(lab.solution.read_text().replace("// END", f"// {number}\n  // END", 1))
        (into / "course.toml").write_text(f"labs = {[lab.name for lab in labs]}\n")
        with Watched(into) as watched:
            seconds = graded(into)
        again = graded(into)
        cpu = {lab.name: cpu_of(into, lab.name) for lab in labs}
        if missing := [lab for lab, values in cpu.items() if len(values) != students]:
            raise KitError(f"not everything could be graded: {', '.join(missing)}", "./kit class grade says why.")
        return Figures(students, seconds, again, cpu, watched.most, watched.at_quarters(students * len(labs)))


def graded(into: Path) -> float:
    began = time.monotonic()
    run = subprocess.run([sys.executable, str(ROOT / "kit"), "class", "grade", "--class", str(into)], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        raise KitError(f"./kit class grade failed\n{run.stdout[-1000:]}")
    return time.monotonic() - began


def cpu_of(into: Path, lab: str) -> list[float]:
    found = [results.read(path) for path in sorted((into / "results" / lab).glob("*.json"))]
    return [each["cpu_seconds"] for each in found if each and each["graded"]]


class Watched:
    """Records the peak memory of the largest process that a run in this folder starts, and what all of them hold as time goes on."""

    def __init__(self, into: Path):
        self.into = into
        self.most = 0
        self.samples: list[tuple[int, int]] = []  # submissions done, bytes
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def __enter__(self) -> "Watched":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.over.set()
        self.thread.join()

    def look(self) -> None:
        while not self.over.wait(1):
            processes = [pid for pid in {*engine.left_behind(self.into), *children()} if memory_of(pid, "VmHWM") and is_engine(pid)]
            self.most = max([self.most, *(memory_of(pid, "VmHWM") for pid in processes)])
            self.samples.append((len(list((self.into / "results").glob("*/*.json"))), sum(memory_of(pid, "VmRSS") for pid in processes)))

    def at_quarters(self, submissions: int) -> dict[int, int]:
        wanted = [max(1, submissions * quarter // 4) for quarter in (1, 2, 3)]
        found = {}
        for number in wanted:
            later = [held for done, held in self.samples if done >= number]
            if later:
                found[number] = later[0]
        return found


def children() -> list[int]:
    """The driver, and what else this process has started itself."""
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def is_engine(pid: int) -> bool:
    """Not a room's process, which may have inherited the mark for a moment."""
    try:
        return "python" in Path(f"/proc/{pid}/exe").resolve().name
    except OSError:
        return False


def memory_of(pid: int, what: str) -> int:
    try:
        line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(what))
        return int(line.split()[1]) << 10
    except (OSError, StopIteration, ValueError):
        return 0
