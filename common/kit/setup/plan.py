"""What a clone still needs before its first command can do its work: said beforehand with its cost, then numbered step by step."""

import shutil

from ..console import say, steps
from ..errors import SETUP, KitError
from ..paths import OWN

# Of each piece: megabytes to download, megabytes in .kit, and its steps (console.steps).
PIECES = {
    "venv": (0, 30, ["venv"]),
    "libraries": (2, 10, ["libraries"]),
    "build": (2, 15, ["build"]),
    "toolkit": (110, 270, ["toolkit"]),
    "compilation": (0, 120, ["configure", "compile"]),
}
MINUTES = 4  # of compiling, on two idle cores
TESTS = "about half an hour on two cores and 1.3 GB more on the disk"  # what all of them take
ALL = sum(disk for _, disk, _ in PIECES.values())


def announce(pieces: list[str]) -> None:
    download, disk = (sum(PIECES[piece][i] for piece in pieces) for i in (0, 1))
    require_space(disk)
    costs = [f"{download} MB to download"] if download else []
    costs += [f"{disk} MB on the disk in {OWN.name}/"]
    costs += [f"about {MINUTES} minutes on two cores"] if "compilation" in pieces else []
    say(f"setting up this clone, which happens once: {', '.join(costs)}")
    steps.plan([step for piece in pieces for step in PIECES[piece][2]])


def require_space(megabytes: int) -> None:
    free = shutil.disk_usage(OWN).free // 10**6
    if free < megabytes:
        raise KitError(f"the disk is too full: {OWN} needs {megabytes} MB more, and {free} MB are free",
                       "Make room, or clone onto another disk, and run the same command again.", SETUP)  # fmt: skip


def disk_full(what: str) -> tuple[str, str]:
    """For a disk that filled up while it was written to, or a quota, of which the free space says nothing."""
    return f"the disk is full: {what}", f"A whole set-up takes {ALL} MB in {OWN}. Make room, and run the same command again."
