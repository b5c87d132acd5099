"""`kit setup`: what every command does first, by itself; for machines that are prepared while there is a network."""

from . import toolchain
from .build import Build
from .console import say


def arguments(parser) -> None:
    parser.add_argument("--tests", action="store_true", help="also what `kit test` needs")


def run(options) -> int:
    tools = toolchain.prepare(tests=options.tests)
    Build(tools, tests=options.tests)
    say(f"ready: nvcc is {tools.nvcc}, Meson is {tools.meson}, Ninja is {tools.ninja}")
    return 0
