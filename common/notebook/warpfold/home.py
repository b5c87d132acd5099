"""Where the course is, and the kit that the package works with.

In a clone, both are around this file. If pip has installed the package, the kit is inside it; a clone of the course
may be in the folder that the notebook runs in or in one above, and then that one's kit is taken, which fits its labs."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
IS_INSTALLED = (HERE / "common" / "kit").is_dir()


def is_clone(folder: Path) -> bool:
    return (folder / "kit").is_file() and (folder / "labs").is_dir() and (folder / "common" / "kit").is_dir()


def clone() -> Path | None:
    """The clone of the course, if there is one."""
    candidates = [HERE.parents[2]] if not IS_INSTALLED else [Path.cwd(), *Path.cwd().parents]
    return next((folder for folder in candidates if is_clone(folder)), None)


# The clone, or the package itself, in which the same folders lie as far as it needs them.
ROOT = clone() or HERE
sys.path.insert(0, str(ROOT / "common"))
