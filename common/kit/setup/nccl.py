"""NVIDIA's NCCL, which lab 12 needs on several GPUs: the machine's, or the package from PyPI in the kit's own environment.

Without GPUs, and on one, the stand-in takes its place, which is built with the emulator."""

import os
import platform
import re
import sys
from pathlib import Path

from ..console import say
from ..errors import KitError
from ..paths import NCCL, VENV
from . import environment
from .toolkit_paths import Toolkit

DEVICES = Path("/dev")
FEWEST_GPUS = 2  # 200 MB and more, of no use to one
LIBRARY = "lib/libnccl.so.2"


def gpus() -> int:
    """How many GPUs this machine has, by the driver's device nodes."""
    return sum(bool(re.fullmatch(r"nvidia\d+", path.name)) for path in DEVICES.glob("nvidia*"))


def group(toolkit: Toolkit) -> str:
    """NCCL is built for each major version of CUDA, and needs a driver that knows it."""
    return "nccl13" if toolkit.version[0] >= 13 else "nccl12"


def of_machine(toolkit: Toolkit) -> bool:
    """Whether it is where common/emulator/nccl/meson.build looks for it, besides NCCL."""
    system = Path(f"/usr/lib/{platform.machine()}-linux-gnu")
    libraries = [toolkit.library / "libnccl.so.2", system / "libnccl.so.2"]
    headers = [toolkit.library.parent / "include" / "nccl.h", toolkit.include.parent / "include" / "nccl.h", Path("/usr/include/nccl.h")]
    return any(path.exists() for path in libraries) and any(path.exists() for path in headers)


def provide(toolkit: Toolkit, wanted: bool = False) -> None:
    """Installs it if it is wanted, or if there are GPUs for it and the machine has none. It is no reason to stop: the stand-in
    is right on GPUs, too, if slow."""
    if of_machine(toolkit) or (platform.machine() not in ("x86_64", "aarch64")):
        return
    if not wanted and gpus() < FEWEST_GPUS and not environment.is_installed(group(toolkit)):
        return
    try:
        environment.install(group(toolkit), "lab 12: reductions over several GPUs")
    except KitError as error:
        say(f"{str(error).splitlines()[0]}; lab 12 uses a stand-in for NCCL, whose times say nothing")
        return
    packages = VENV / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    if (packages / "nvidia/nccl" / LIBRARY).exists():
        NCCL.unlink(missing_ok=True)
        NCCL.symlink_to(os.path.relpath(packages / "nvidia/nccl", NCCL.parent))


def found() -> str:
    """The kit's own, for a build folder to remember; "" if there is none."""
    return str(NCCL.resolve()) if (NCCL / LIBRARY).exists() else ""
