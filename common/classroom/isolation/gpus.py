"""The GPUs that grading may use: one device node for one job at a time.

Only the trusted program gets the node; neither the compiler nor a student's host code does. What a kernel can do there is said
in docs/instructor/threat_model.md."""

import fcntl
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit import gpu
from kit.errors import SETUP, KitError

DEVICES = Path("/dev")
SHARED = ("nvidiactl", "nvidia-uvm")  # nodes that any use of the driver needs; they give access to no GPU


def nodes() -> list[Path]:
    """The nodes of the GPUs that this process may open: a cluster's job sees all of a machine's, and may open its own."""
    found = [path for path in DEVICES.glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name)]
    return [path for path in sorted(found, key=lambda path: int(path.name[6:])) if may_open(path)]


def may_open(node: Path) -> bool:
    try:
        os.close(os.open(node, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def why_not() -> str:
    """ "" if there is a GPU to grade on; else what is wrong."""
    try:
        gpu.find()
    except gpu.NoGpu as reason:
        return str(reason)
    if not nodes():
        return f"there is no node {DEVICES}/nvidia0 that may be opened, so no job can be given a GPU of its own"
    missing = [name for name in SHARED if not (DEVICES / name).exists()]
    return f"there is no {DEVICES / missing[0]}: nvidia-modprobe -u -c 0 makes it" if missing else ""


def require() -> None:
    if reason := why_not():
        raise KitError(
            f"--device gpu: {reason}",
            "Nothing was graded. Without --device gpu, the emulator alone grades, on any machine.",
            SETUP,
        )


@contextmanager
def taken() -> Iterator[tuple[Path, ...]]:
    """The nodes of a GPU that no other job of this user has, and those that all share. Waits for one."""
    while True:
        for node in nodes():
            place = Path(tempfile.gettempdir()) / f"warpfold-{os.getuid()}-{node.name}.lock"
            with open(os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "w") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield (node, *(DEVICES / name for name in SHARED if (DEVICES / name).exists()))
                return
        if not nodes():
            raise OSError(f"there is no node {DEVICES}/nvidia0 that may be opened")
        time.sleep(0.1)


def number_of(node: Path) -> int:
    return int(node.name.removeprefix("nvidia"))
