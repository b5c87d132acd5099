"""`kit nvcc ...`: compiles a program so that it runs on a GPU and on the emulator."""

import os

from ..emulate import compiler

PURPOSE = "compile a CUDA program for a GPU and for the emulator: nvcc with -cudart shared -lineinfo"
ORDER = 65


def arguments(parser) -> None:
    parser.prefix_chars = "\0"  # what begins with - is nvcc's
    parser.add_argument("words", nargs="...", metavar="...", help="what nvcc is told, as: program.cu -o program")


def run(options) -> int:
    command = compiler.find().command(options.words)
    os.execv(command[0], command)
