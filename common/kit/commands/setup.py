"""`kit setup`: what every command does first by itself, and the part of the build that no student's edit changes; for
machines that are prepared while there is time and a network connection."""

from ..console import say
from ..programs import folder, labs
from ..setup import packages, toolchain

PURPOSE = "install what the kit needs, and nothing else"
MORE = "The other commands do this automatically."
GROUP = "work on the kit"
ORDER = 120


def arguments(parser) -> None:
    parser.epilog = (
        "Labs 10 and 12 use OpenCL and MPI, which come from the system: as root on Debian or Ubuntu, --tests installs them. "
        f"{packages.how_to_install(packages.OF_ONE_LAB)}. The next command finds them by itself."
    )
    parser.add_argument("--tests", action="store_true", help="also install what `kit test` needs, with OpenCL and MPI")
    parser.add_argument("--nccl", action="store_true", help="also install NVIDIA's NCCL, for GPUs that this machine does not have itself")


def run(options) -> int:
    tools = toolchain.prepare(tests=options.tests, nccl_wanted=options.nccl)
    build = folder.configured(tools, tests=options.tests)
    labs.compile(build, labs.find(build, solved=True))
    say(f"ready: nvcc is {tools.nvcc}, Meson is {tools.meson}, Ninja is {tools.ninja}")
    return 0
