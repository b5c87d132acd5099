"""`kit nvcc ...`: compiles a program so that it runs on a GPU and on the emulator."""

import os

from .. import console
from ..emulate import compiler

PURPOSE = "compile a program for a GPU and for the emulator"
GROUP = "any CUDA program"
ORDER = 65
HELP = """usage: {kit} nvcc ...

{purpose}. Everything that follows is passed to nvcc:

    {kit} nvcc program.cu -o program
    {kit} emulate --check ./program"""


def arguments(parser) -> None:
    parser.prefix_chars = "\0"  # what begins with - is nvcc's
    parser.add_argument("words", nargs="...", metavar="...", help="the arguments for nvcc, such as: program.cu -o program")


def run(options) -> int:
    if options.words in (["--help"], ["-h"]):
        print(HELP.format(kit=console.PROGRAM, purpose=PURPOSE[0].upper() + PURPOSE[1:]))
        return 0
    command = compiler.find().command(options.words)
    os.execv(command[0], command)
