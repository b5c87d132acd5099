"""The labs and their rungs: Meson says which programs there are, and the programs say what they contain."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from ..child import bound
from ..errors import PROGRAM, USAGE, KitError
from .folder import Build


@dataclass(frozen=True)
class Lab:
    name: str  # 02_tree
    program: Path
    source: Path  # of its kernels, which the student edits


def find(build: Build, solved: bool) -> list[Lab]:
    """The labs in order: the student's own files, or the solutions."""
    folder = "solutions" if solved else "labs"
    found = []
    for target in build.introspect("targets"):
        sources = [Path(os.path.normpath(name)) for group in target["target_sources"] for name in group.get("sources", [])]
        for source in sources:
            if target["type"] == "executable" and source.parent.parent.name == folder:
                kernels = source.with_suffix(".cl") if source.suffix == ".cpp" else source
                found.append(Lab(source.parent.name, Path(target["filename"][0]), kernels))
    return sorted(found, key=lambda lab: lab.name)


def named(labs: list[Lab], name: str) -> Lab:
    """The lab of that name; its number or any unambiguous part of its name will do, and so will its folder or file."""
    if "/" in name:
        name = next((part for part in Path(name).parts if any(lab.name == part for lab in labs)), name)
    matches = [lab for lab in labs if lab.name == name] or [lab for lab in labs if name in lab.name]
    if len(matches) == 1:
        return matches[0]
    what = "could be several labs" if matches else "no such lab"
    similar = [] if matches else get_close_matches(name, [lab.name for lab in labs] + [lab.name[3:] for lab in labs], 2, 0.6)
    hint = f"Did you mean {' or '.join(similar)}? " if similar else ""
    raise KitError(f"{name}: {what}", f"{hint}The labs: " + ", ".join(lab.name for lab in matches or labs), USAGE)


def compile(build: Build, labs: list[Lab], show: Callable[[int, int], None] | None = None) -> str:
    """Builds the labs' programs, and the emulator, which any of them may use. Returns the compiler's warnings about the labs."""
    # A program that uses another emulator (common/lab/run/device.cpp) does not need this build's.
    emulator = [] if os.environ.get("WARPFOLD_EMULATOR_DIR") else [build.emulator()]
    if emulator and any(lab.source.suffix == ".cl" for lab in labs):
        emulator += build.opencl()
    return build.compile([*(lab.program for lab in labs), *emulator], show)


SKIPPED = 77  # the exit code of a program that has nothing to check, or lacks what it needs


def ask(lab: Lab, *words: str, environment: dict[str, str] | None = None) -> dict:
    """Runs the lab's program and reads the JSON that it prints; exit code 1 only means that a rung is wrong."""
    result = subprocess.run([str(lab.program), "--json", *words], text=True, capture_output=True, env=environment,
                            preexec_fn=bound())  # fmt: skip
    try:
        return json.loads(result.stdout) | {"printed": printed(result.stderr)}
    except ValueError:
        said = (result.stderr or result.stdout).strip()
        if result.returncode == SKIPPED:
            raise KitError(f"{lab.name} was not run: {said}", code=SKIPPED) from None
        raise KitError(f"{lab.name} {' '.join(words)} ended with code {result.returncode}\n{said}", code=PROGRAM) from None


NOT_THE_KERNELS = ("No usable GPU", "Times are taken on a GPU", "OpenCL device:")  # what the program itself says on stderr


def printed(stderr: str) -> list[str]:
    """What kernels printed: if the program answers in JSON, this is on its stderr."""
    return [line for line in stderr.splitlines() if line.strip() and not line.startswith(NOT_THE_KERNELS)]
