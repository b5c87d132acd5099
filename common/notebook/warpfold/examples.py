"""A small program that no lab asks for, shown as a lab's rungs are: a reader sees what the pictures mean before anything is filled in."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

from . import clone
from .annotated import Annotated
from .progress import Progress
from .traces import framed, picture
from .verdict import BuildFailed, LabError

# By example: what it does, what its arrays are called, which step of its trace the picture shows, and what can be seen there.
EXAMPLES = {
    "every_fourth": ("Each thread copies one number, the first of every four.", ("numbers", "chosen"), 1,
                     "24 of the 32 threads have work. Their request touches 12 sectors; 24 numbers side by side would fill 3."),
    "neighbours": ("The block copies its numbers to shared memory and waits at a barrier. Then each thread subtracts one of its neighbours' numbers from the other.", ("numbers", "change"), 2,
                   "The first and the last thread are idle in this step, which follows the barrier. Each of the others reads two elements and writes one."),
}  # fmt: skip


class Example:
    """The picture of a step, the profile, and the trace to step through."""

    def __init__(self, does: str, still, seen: str, profile: Annotated, frame):
        self.parts = [
            (does, None),
            ("A picture shows one step. Threads at work are blue and idle ones grey; elements that are written have the strongest colour. " + seen, still),
            ("The profile shows each line's counts. Point at a column's title to read what it counts.", profile),
            ("The trace has all steps, as pictures to step through.", frame),
        ]  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(f"{text}\n{shown}" if shown else text for text, shown in self.parts)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        html = "".join(f"<p>{text}</p>{shown._repr_mimebundle_()['text/html'] if shown else ''}" for text, shown in self.parts)
        return {"text/plain": str(self), "text/html": html}


def example(name: str) -> Example:
    """What the pictures, the profile and the trace of a program of docs/examples look like."""
    from kit.trace import record

    clone.require_clone()
    if name not in EXAMPLES:
        raise LabError(f"no example {name}. There are: {', '.join(EXAMPLES)}")
    does, arrays, step, seen = EXAMPLES[name]
    with Progress() as progress, clone.lab_errors():
        report, trace = observed(built(name, progress), progress)
        for array in (array for launch in trace["launches"] for array in launch["arrays"]):
            array["name"] = re.sub(r"^allocation (\d+)", lambda found: arrays[int(found[1]) - 1], array["name"])
        steps = record.steps_of_launches(trace["launches"], report["hazards"], 0)
    run = SimpleNamespace(lab=SimpleNamespace(name="example"), rung=name)
    profiled = SimpleNamespace(rung="example", report=report, result={"state": f"{name}.cu"})
    caption = f"One block on the emulator, {steps[0].threads} threads, from barrier to barrier. The input is 1 to 9, again and again."
    return Example(
        does, picture(run, steps, step - 1), seen, Annotated([profiled], [], clone.ROOT), framed(run, steps, 0, caption, printed=False)
    )


def built(name: str, progress: Progress) -> Path:
    """The program; compiled once in a build folder, as all handouts show the same few."""
    from kit.emulate import compiler

    source = clone.ROOT / "docs" / "examples" / f"{name}.cu"
    folder = clone.folder(progress).path / "examples"
    words = compiler.find().command([str(source)])
    version = hashlib.sha256(source.read_bytes() + shlex.join(words).encode()).hexdigest()[:16]
    program = folder / f"{name}-{version}"
    if not program.exists():
        progress.show(f"compiling {source.name}")
        folder.mkdir(exist_ok=True)
        own = folder / f"{name}-{version}.{os.getpid()}"  # others may be compiling it at the same time
        said = subprocess.run([*words, "-o", str(own)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if said.returncode != 0:
            raise BuildFailed(said.stdout.strip())
        own.rename(program)
    return program


def observed(program: Path, progress: Progress) -> tuple[dict, dict]:
    """The emulator's report and the trace of the first block."""
    from kit.emulate import program as programs

    build = clone.folder(progress)
    build.compile([build.emulator()])
    progress.show(f"running {program.name.partition('-')[0]}")
    with tempfile.TemporaryDirectory() as folder:
        report, trace = Path(folder) / "report.json", Path(folder) / "trace.json"
        environment = programs.emulated(build.emulator().parent)
        environment |= {"WARPFOLD_CHECKS": "all", "WARPFOLD_REPORT": str(report), "WARPFOLD_TRACE": str(trace), "WARPFOLD_TRACE_BLOCK": "0"}
        said = subprocess.run([str(program)], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if said.returncode != 0 or not trace.exists():
            raise LabError(f"the example ended with code {said.returncode}\n{said.stdout}".strip())
        return json.loads(report.read_text()), json.loads(trace.read_text())
