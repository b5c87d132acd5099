"""The handouts: which there are, and the package that their cells import."""

import os
from pathlib import Path

from ..errors import USAGE, KitError
from ..paths import ROOT

FOLDER = ROOT / "docs" / "handouts"
PACKAGE = ROOT / "common" / "notebook"


def all_of_them() -> list[Path]:
    return sorted(FOLDER.glob("*.md"))


def named(name: str) -> Path:
    """The handout of that name; any unambiguous part of its name will do."""
    known = all_of_them()
    found = [path for path in known if path.stem == name] or [path for path in known if name in path.stem]
    if len(found) != 1:
        what = "could be several handouts" if found else "no such handout"
        raise KitError(f"{name}: {what}", "There are: " + ", ".join(path.stem for path in found or known), USAGE)
    return found[0]


def before(variable: str, path: Path) -> str:
    """The value of an environment variable that lists folders, with this one in front."""
    rest = os.environ.get(variable, "")
    return f"{path}:{rest}" if rest else str(path)
