"""`kit nvcc ...`: compiles a program so that it runs on a GPU and on the emulator."""

import subprocess
import sys

from .. import console
from ..console import say
from ..emulate import compiler, removed

PURPOSE = "compile a program for a GPU and for the emulator"
GROUP = "any CUDA program"
ORDER = 65
HELP = """usage: {kit} nvcc ...

{purpose}. Everything that follows is passed to nvcc:

    {kit} nvcc program.cu -o program
    {kit} emulate --check ./program

--legacy, anywhere among the arguments, supplies what CUDA's headers no longer have, such as cudaThreadSynchronize and
__shfl_xor. If a program does not compile because such a name is missing, the last lines say what it became."""


def arguments(parser) -> None:
    parser.prefix_chars = "\0"  # what begins with - is nvcc's
    parser.add_argument("words", nargs="...", metavar="...", help="the arguments for nvcc, such as: program.cu -o program")


def run(options) -> int:
    if options.words in (["--help"], ["-h"]):
        print(HELP.format(kit=console.PROGRAM, purpose=PURPOSE[0].upper() + PURPOSE[1:]))
        return 0
    status, complaints = compiled(compiler.find().command(options.words))
    if status != 0:
        explain(removed.named_in(complaints))
    return status


def compiled(command: list[str]) -> tuple[int, str]:
    """nvcc's exit code, and what it wrote to stderr, which is shown as it comes."""
    complaints = b""
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while part := process.stderr.read1():
            sys.stderr.buffer.write(part)
            sys.stderr.flush()
            complaints += part
    status = process.returncode
    return status if status >= 0 else 128 - status, complaints.decode(errors="replace")


def explain(found: list[removed.Removed]) -> None:
    for row in found:
        say(str(row))
    if advice := removed.advice(found, f"{console.PROGRAM} nvcc"):
        say(advice)
