"""`kit setup`: what every command does first by itself, and the part of the build that no student's edit changes; for
machines that are prepared while there is time and a network connection."""

from ..building import folder, labs
from ..console import say
from ..setup import toolchain

PURPOSE = "install what the kit needs, and nothing else; the other commands do this automatically"
ORDER = 120


def arguments(parser) -> None:
    parser.add_argument("--tests", action="store_true", help="also install what `kit test` needs")
    parser.add_argument("--nccl", action="store_true", help="also install NVIDIA's NCCL, for GPUs that this machine does not have itself")


def run(options) -> int:
    tools = toolchain.prepare(tests=options.tests, nccl_wanted=options.nccl)
    say("building the emulator and the solved labs")
    build = folder.configured(tools, tests=options.tests)
    labs.compile(build, labs.find(build, solved=True))
    say(f"ready: nvcc is {tools.nvcc}, Meson is {tools.meson}, Ninja is {tools.ninja}")
    return 0
