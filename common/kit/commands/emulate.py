"""`kit emulate`: any CUDA program linked to the shared runtime, run on the emulator."""

import contextlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from . import annotate, elf, listing, report, toolchain
from .build import Build
from .console import say
from .errors import PROGRAM, USAGE, KitError
from .process import require_writable

HAZARDS_FOUND = 66  # the exit code of a program that ran well but not cleanly, under --check

RELINK = """Link it to the shared runtime instead. With plain nvcc, or any build that calls nvcc:
  NVCC_APPEND_FLAGS="-cudart shared" nvcc -o program program.cu
With CMake: -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared"""


def arguments(parser) -> None:
    parser.add_argument("--report", metavar="FILE", type=Path, help="write counters and hazards to FILE as JSON")
    parser.add_argument(
        "--check", action="store_true",
        help=f"look for races, bad accesses and the like, list them, and exit {HAZARDS_FOUND} where there are any",
    )  # fmt: skip
    parser.add_argument("--profile", action="store_true", help="print each kernel's source with counts beside the lines")
    parser.add_argument("program", help="the program to run")
    parser.add_argument("args", nargs="...", help="its arguments")


def run(options) -> int:
    program = find(options.program)
    require_emulatable(program)
    if options.report:
        require_writable(options.report, "--report")
    library = Build(toolchain.prepare()).emulator()
    check_version(elf.read(program), library)
    environment = emulated(library.parent)
    if options.check:
        environment["WARPFOLD_CHECKS"] = "all"
    command = [str(program), *options.args]
    if not (options.check or options.profile):
        if options.report:
            environment["WARPFOLD_REPORT"] = str(options.report.resolve())
        os.execve(program, command, environment)
    with tempfile.TemporaryDirectory() as folder:
        path = options.report.resolve() if options.report else Path(folder) / "report.json"
        path.unlink(missing_ok=True)
        environment["WARPFOLD_REPORT"] = str(path)
        status = child(command, environment)
        return conclude(status, load(path), options)


def emulated(folder: Path) -> dict[str, str]:
    """The environment in which a program finds the emulator in place of NVIDIA's runtime."""
    rest = os.environ.get("LD_LIBRARY_PATH", "")
    return os.environ | {"LD_LIBRARY_PATH": f"{folder}:{rest}" if rest else str(folder)}


def child(command: list[str], environment: dict[str, str]) -> int:
    process = subprocess.Popen(command, env=environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program gets it too, and decides
    status = process.wait()
    return status if status >= 0 else 128 - status


def load(path: Path) -> dict:
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise KitError("the program left no report: it ended before its CUDA work, or was killed", code=PROGRAM) from error


def conclude(status: int, result: dict, options) -> int:
    if options.profile:
        print_profile(result)
    if options.check:
        sys.stdout.flush()
        with contextlib.redirect_stdout(sys.stderr):  # the program's own output stays what it was
            report.print_hazards(result)
        if status == 0 and result.get("hazards"):
            return HAZARDS_FOUND
    return status


def print_profile(result: dict) -> None:
    """The program's source with its counts; where that is not at hand, a table of the lines."""
    kernels = annotate.kernels(result)
    shown = [kernel for kernel in kernels if kernel.excerpts]
    if len(shown) < len(kernels) or not kernels:
        report.print_profile(result)
        if any(not line["file"] for launch in result.get("launches", []) for line in launch["lines"]):
            say("to see source lines, build the program with nvcc -lineinfo")
    for kernel in shown:
        listing.show(kernel)
    if shown:
        listing.legend(shown)


def find(name: str) -> Path:
    """As a shell would: a name with a slash is a path, one without is looked up on PATH, then here."""
    if "/" not in name:
        found = shutil.which(name) or (name if Path(name).is_file() else None)
        if found is None:
            raise KitError(f"no program called {name}, neither on PATH nor here", "Give its path, as ./program.", PROGRAM)
        name = found
    path = Path(name)
    if not path.exists():
        raise KitError(f"no such program: {name}", "Build it first, or check the path.", PROGRAM)
    if path.is_dir():
        raise KitError(f"{name} is a folder, not a program", code=PROGRAM)
    if not os.access(path, os.R_OK):
        raise KitError(f"{name} cannot be read", f"chmod u+r {name}", PROGRAM)
    return path.absolute()


def require_emulatable(path: Path) -> None:
    if path.suffix in (".cu", ".cpp", ".cc", ".c"):
        raise KitError(
            f"{path.name} is source code, not a program", f"nvcc -cudart shared -lineinfo -o {path.stem} {path.name}", PROGRAM
        )
    try:
        program = elf.read(path)
    except elf.NotElf as error:
        raise KitError(f"{error}: not a program that nvcc built", script_advice(path), PROGRAM) from error
    if program.bits != 64 or program.machine != platform.machine():
        raise KitError(f"{path.name} is a program for {program.machine}; this machine is {platform.machine()}", code=PROGRAM)
    if not os.access(path, os.X_OK):
        raise KitError(f"{path.name} is not executable", f"chmod +x {path.name}", PROGRAM)
    parts = [program, *elf.libraries(program)]
    if any(part.runtime for part in parts):
        return
    static = next((part for part in parts if part.carries_gpu_code), None)
    if static:
        raise KitError(f"{static.path.name} is linked to the static CUDA runtime, which nothing can stand in for", RELINK, PROGRAM)
    raise KitError(
        f"{path.name} is not a CUDA program: it carries no GPU code and links to no CUDA runtime",
        "Only programs that nvcc built with -cudart shared run on the emulator.",
        PROGRAM,
    )


def script_advice(path: Path) -> str:
    with open(path, "rb") as file:
        if file.read(2) == b"#!":
            return "It is a script: give kit emulate the program that the script starts."
    return "Give the file that nvcc or the linker wrote."


def check_version(program: elf.Elf, emulator: Path) -> None:
    """The loader takes a library by its exact name, so a CUDA 12 program never meets a stand-in for CUDA 13's runtime."""
    for part in [program, *elf.libraries(program)]:
        if part.runtime and not (emulator.parent / part.runtime).exists():
            raise KitError(
                f"{part.path.name} needs {part.runtime}; this clone's emulator stands in for {emulator.name}",
                "Build the program with the toolkit that the kit uses, or configure the kit with the program's toolkit "
                "(NVCC=.../bin/nvcc ./kit setup).",
                PROGRAM,
            )
