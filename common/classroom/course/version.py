"""The version of the course that a class is graded with: pristine files, programs and compiler, with a hash of all of them."""

import hashlib
import json
import os
import re
import shlex
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kit.errors import USAGE, KitError
from kit.paths import ROOT
from kit.process import output
from kit.programs import folder, labs
from kit.setup import toolchain

# Labs that no machine can grade safely, and why. They can have marks all the same: the instructor's.
# What a lab may include beside the compiler's own headers.
HEADERS = tuple(ROOT / "common" / "lab" / name for name in ("lab.hpp", "compute_90.cuh"))

BY_HAND = {
    "12_many_gpus": "its host functions drive several devices, NCCL and MPI, which cannot be recorded and replayed without them: "
    "run the rungs yourself, in a sandbox of yours, and put the points into overrides.csv",
}
FORMAT = 2  # of results; a new one means that everything is graded again


def digest(*parts: bytes) -> str:
    """One hash of several texts, built so that different lists of texts give different hashes."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


@dataclass(frozen=True)
class Lab:
    """One lab, as it is graded. Contains only paths and texts, as it is sent to worker processes."""

    name: str
    pristine: Path  # the stub as it was handed out
    solution: Path
    program: Path  # the trusted one
    emulator: Path  # the folder of its library
    recorder: Path  # the folder of its library
    headers: tuple[Path, ...]
    nvcc: Path
    arguments: tuple[str, ...]  # for nvcc
    libraries: tuple[Path, ...]  # folders of the program's libraries that are not the system's
    compilers: str  # what they print as their versions
    rungs: tuple[str, ...]
    runtime: Path | None = None  # the folder of NVIDIA's own CUDA runtime, for grading on a GPU

    @property
    def file(self) -> str:
        return self.pristine.name

    @property
    def is_opencl(self) -> bool:
        return self.pristine.suffix == ".cl"

    @cached_property
    def fingerprint(self) -> str:
        driver = [self.emulator / "libwarpfold_opencl.so"] if self.is_opencl else []
        emulator = sorted(self.emulator.glob("libcudart.so.*[0-9]"))
        files = [self.program, *emulator, *driver, *sorted(self.recorder.glob("*/*.o")), *self.headers]
        texts = [file.read_bytes() for file in files if file.is_file()]
        return digest(str(FORMAT).encode(), self.compilers.encode(), json.dumps(self.arguments).encode(), *texts)


def prepare(names: list[str] | None = None) -> list[Lab]:
    """Builds what grading these labs needs (all labs that can be graded if none is named)."""
    build = folder.prepare()
    build.compile([build.emulator()])  # Ninja reconfigures first, if that is needed
    stubs, solved = labs.find(build, solved=False), labs.find(build, solved=True)
    arguments = json.loads((build.path / "labs" / "nvcc_args.json").read_text())
    gradable = [lab for lab in stubs if (lab.name in arguments or lab.source.suffix == ".cl") and lab.name not in BY_HAND]
    chosen = [labs.named(stubs, name) for name in names] if names else gradable
    for lab in chosen:
        if lab not in gradable:
            raise KitError(
                f"{lab.name} is not graded by machine: {BY_HAND[lab.name]}" if lab.name in BY_HAND else f"{lab.name} cannot be graded",
                f"List {lab.name} in labs in course.toml, so that it has a column among the marks.",
                USAGE,
            )
    programs = {lab.name: lab for lab in solved}
    recorder = build.target("static library", "lab_recorder")
    emulator = build.emulator()
    driver = build.opencl() if any(lab.source.suffix == ".cl" for lab in chosen) else []
    build.compile([*(programs[lab.name].program for lab in chosen), emulator, *driver, recorder])
    nvcc = toolchain.nvcc().nvcc.resolve()
    said = output([nvcc, "--version"]).stdout + output(["c++", "--version"]).stdout
    clang = version_of_clang() if driver else ""
    found = []
    for lab in chosen:
        program = programs[lab.name]
        rungs = [rung["name"] for rung in labs.ask(program, "--list")["rungs"]]
        in_cuda = lab.name in arguments
        found.append(Lab(
            lab.name, lab.source, program.source, program.program, emulator.parent, recorder.parent, HEADERS if in_cuda else (), nvcc,
            tuple(for_grading(arguments[lab.name])) if in_cuda else (), libraries_of(program.program), said if in_cuda else said + clang,
            tuple(rungs), runtime_of(program.program, emulator.parent),
        ))  # fmt: skip
    return found


def version_of_clang() -> str:
    """Of the one that the OpenCL driver takes (common/emulator/opencl/compiler.cpp)."""
    found = next(filter(None, map(shutil.which, [*(f"clang-{version}" for version in range(40, 13, -1)), "clang"])), None)
    return output([found, "--version"]).stdout if found else ""


def for_grading(arguments: list[str]) -> list[str]:
    """Only one PTX, for the highest compute capability, which is what the emulator would choose."""
    targets = [found for argument in arguments if (found := re.fullmatch(r"-gencode=arch=compute_(\d+),code=compute_\d+", argument))]
    highest = max(targets, key=lambda found: int(found[1]))[0]
    others = [argument for argument in arguments if not argument.startswith("-gencode")]
    others = ["none" if index and others[index - 1] == "-cudart" else argument for index, argument in enumerate(others)]
    return [*others, highest, *shlex.split(os.environ.get("NVCC_PREPEND_FLAGS", ""))]


def libraries_of(program: Path) -> tuple[Path, ...]:
    named = re.findall(r"=> (/\S+)", output(["ldd", program]).stdout)
    folders = {Path(name).parent for name in named if "libcudart" not in name}
    return tuple(sorted(each for each in folders if not str(each).startswith(("/lib", "/usr"))))


def runtime_of(program: Path, emulator: Path) -> Path | None:
    """The folder of the CUDA runtime that a program loads if nothing makes it use the emulator's."""
    environment = os.environ | {"LD_LIBRARY_PATH": ""}
    found = re.search(r"libcudart\S+ => (/\S+)/[^/\s]+", output(["ldd", program], env=environment).stdout)
    return Path(found[1]) if found and Path(found[1]).resolve() != emulator.resolve() else None
