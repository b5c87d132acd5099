"""`kit emulate`: any CUDA program linked to the shared runtime, or OpenCL program, run on the emulator."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from .. import console, report
from ..console import say
from ..emulate import elf, program, standin, terminal, times
from ..errors import PROGRAM, KitError
from ..process import require_writable
from ..profile import annotate, listing

PURPOSE = "run any CUDA or OpenCL program without a GPU"
MORE = "A CUDA program must be linked to the shared runtime."
GROUP = "any CUDA program"
ORDER = 70

HAZARDS_FOUND = 66  # the exit code under --check of a program that succeeded but had hazards


def arguments(parser) -> None:
    parser.add_argument("--report", metavar="FILE", type=Path, help="write counters and hazards to FILE as JSON")
    parser.add_argument(
        "--check", action="store_true",
        help=f"look for races, bad accesses and other hazards, list them, and exit with {HAZARDS_FOUND} if there are any",
    )  # fmt: skip
    parser.add_argument("--leaks", action="store_true", help="with --check: also count memory that is never freed")
    parser.add_argument("--profile", action="store_true", help="print each kernel's source with counts beside the lines")
    parser.add_argument("--time", action="store_true", help="print where the emulator's time went: per kernel, copies, the rest")
    parser.add_argument("--devices", type=int, choices=range(1, 17), metavar="N", help="so many emulated devices, 1 to 16 (default: 1)")
    parser.add_argument("program", help="the program to run")
    parser.add_argument("args", nargs="...", help="its arguments")


def run(options) -> int:
    if options.leaks and not options.check:
        raise KitError("--leaks only works together with --check: give both", code=2)
    path = program.find(options.program)
    program.require_emulatable(path)
    if options.report:
        require_writable(options.report, "--report")
    library = standin.library()
    program.check_version(elf.read(path), library)
    program.check_opencl(elf.read(path), library.parent)
    environment = program.emulated(library.parent)
    if options.devices:
        environment["WARPFOLD_DEVICES"] = str(options.devices)
    if options.check:
        environment = program.checked(environment)
    command = [str(path), *options.args]
    reports = options.check or options.profile
    if options.report:
        environment["WARPFOLD_REPORT"] = str(options.report.resolve())
    if not (reports or options.time or sys.stderr.isatty()):
        os.execve(path, command, environment)
    with tempfile.TemporaryDirectory() as temporary:
        written = options.report.resolve() if options.report else Path(temporary) / "report.json"
        if reports:
            written.unlink(missing_ok=True)
            environment["WARPFOLD_REPORT"] = str(written)
        progress = Path(temporary) / "progress.json"
        status = child(command, environment, progress, options.time)
        if options.time:
            say_on_stderr(lambda: times.show(progress))
        return conclude(status, load(written), options) if reports else status


def child(command: list[str], environment: dict[str, str], progress: Path, timed: bool) -> int:
    if timed or sys.stderr.isatty():
        environment = environment | {"WARPFOLD_PROGRESS": str(progress)}
    if sys.stderr.isatty():
        status = terminal.run(command, environment, progress)
    else:
        process = subprocess.Popen(command, env=environment)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program receives it too, and decides what to do
        status = process.wait()
    return status if status >= 0 else 128 - status


def say_on_stderr(shown: Callable[[], None]) -> None:
    """Prints there, so that the program's own output stays unchanged."""
    sys.stdout.flush()
    with contextlib.redirect_stdout(sys.stderr):
        shown()


def load(path: Path) -> dict:
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise KitError("the program left no report: it ended before its work on the GPU, or was killed", code=PROGRAM) from error


def conclude(status: int, result: dict, options) -> int:
    if options.profile:
        print_profile(result)
    if options.check:
        say_on_stderr(lambda: report.print_hazards(result, options.leaks))
        if status == 128 + signal.SIGKILL:
            say("the program was killed (SIGKILL): this is what had been found by then")
        if status == 0 and any(report.fails_check(hazard, options.leaks) for hazard in result.get("hazards", [])):
            return HAZARDS_FOUND
    return status


def print_profile(result: dict) -> None:
    """The program's source with its counts; if the source is not available, a table of the lines."""
    kernels = annotate.kernels(result)
    shown = [kernel for kernel in kernels if kernel.excerpts]
    if len(shown) < len(kernels) or not kernels:
        report.print_profile(result)
        if any(not line["file"] for launch in result.get("launches", []) for line in launch["lines"]):
            say(f"to see source lines, build the program with {console.PROGRAM} nvcc, or with nvcc -lineinfo")
    columns = [column for kernel in shown for column in listing.show(kernel, [])]
    if shown:
        listing.legend(columns)
