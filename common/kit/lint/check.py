"""What a check is, and which files there are to look at."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import USAGE, KitError
from ..paths import OWN, ROOT
from ..process import output

NOT_OURS = re.compile(r"(^|/)(\.git|\.kit|build[^/]*|__pycache__|packagefiles|\.ipynb_checkpoints)/")


@dataclass(frozen=True)
class Check:
    """One convention. `files` matches the paths that it checks (None: it checks the clone as a whole); `run` returns a line for each
    thing that is wrong, and fixes what it can if asked to."""

    name: str
    purpose: str
    files: re.Pattern | None
    run: Callable[[list[Path], bool], list[str]]
    mends: bool = False

    def chosen(self, everything: list[Path]) -> list[Path]:
        return [path for path in everything if self.files and self.files.search(str(path.relative_to(ROOT)))]


def tree() -> list[Path]:
    """All handwritten files: those that git tracks, and those that it does not ignore."""
    listing = output(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    if listing.returncode == 0:
        names = [name for name in listing.stdout.split("\0") if name]
    else:  # a copy without git
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if not path.is_relative_to(OWN)]
    paths = [ROOT / name for name in sorted(set(names)) if not NOT_OURS.search(name)]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def named(names: list[str]) -> list[Path]:
    """Only these files; a folder stands for what is in it."""
    wanted = [Path(name).resolve() for name in names]
    for path, name in zip(wanted, names, strict=True):
        if not path.exists() or not path.is_relative_to(ROOT):
            raise KitError(f"{name}: there is no such file in this clone", code=USAGE)
    return [path for path in tree() if any(path == one or one in path.parents for one in wanted)]


def lines(text: str) -> list[str]:
    """A tool's output, with file names relative to the root of the clone."""
    return [line.replace(f"{ROOT}/", "") for line in text.splitlines() if line.strip()]
