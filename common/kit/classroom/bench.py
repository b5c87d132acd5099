"""How long it takes to grade a class here: a made-up one in which everybody has solved everything, each in a text of their own."""

import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from ..errors import KitError
from ..paths import ROOT
from . import engine, results, version


@dataclass(frozen=True)
class Figures:
    students: int
    seconds: float  # wall time
    again: float  # a second run of the unchanged class
    cpu: dict[str, list[float]]  # by lab, for each submission, sandbox included
    memory: int  # peak bytes of the engine's largest process

    def as_json(self) -> dict:
        each = [value for values in self.cpu.values() for value in values]
        return {
            "students": self.students, "submissions": len(each), "seconds": round(self.seconds, 1), "second_run_seconds": round(self.again, 1),
            "cpu_seconds_per_submission": round(sum(each) / len(each), 2), "engine_peak_mib": self.memory >> 20,
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
            raise KitError(f"not everything could be graded: {', '.join(missing)}", "./kit grade says why.")
        return Figures(students, seconds, again, cpu, watched.most)


def graded(into: Path) -> float:
    began = time.monotonic()
    run = subprocess.run([sys.executable, str(ROOT / "kit"), "grade", "--class", str(into)], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        raise KitError(f"./kit grade failed\n{run.stdout[-1000:]}")
    return time.monotonic() - began


def cpu_of(into: Path, lab: str) -> list[float]:
    found = [results.read(path) for path in sorted((into / "results" / lab).glob("*.json"))]
    return [each["cpu_seconds"] for each in found if each and each["graded"]]


class Watched:
    """Records the peak memory of the largest process that a run in this folder starts."""

    def __init__(self, into: Path):
        self.into = into
        self.most = 0
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
            self.most = max([self.most, *map(peak_of, engine.left_behind(self.into))])


def peak_of(pid: int) -> int:
    try:
        line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) << 10
    except (OSError, StopIteration, ValueError):
        return 0
