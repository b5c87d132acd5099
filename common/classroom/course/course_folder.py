"""The folder of a class: course.toml, roster.csv, overrides.csv, submissions/, results/, feedback/."""

import fcntl
import os
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kit.errors import USAGE, KitError
from kit.paths import ROOT

from ..submission.handin import Stub
from ..submission.regions import take_apart
from . import config, roster, settings, version


@dataclass
class Class:
    folder: Path
    config: config.Course
    roster: roster.Roster


def argument(parser) -> None:
    parser.add_argument("--class", dest="folder", type=Path, default=Path("class"), metavar="FOLDER", help="the class's folder (class)")


def open(folder: Path, new_roster: Path | None = None) -> Class:
    folder = folder.resolve()
    if folder == ROOT or (folder / "meson.build").exists():
        raise KitError(f"--class {folder}: this is the course; a class needs a folder of its own")
    if folder.exists() and not folder.is_dir():
        raise KitError(f"--class {folder}: this is not a folder", "Name the class's folder; ./kit class collect makes it.", USAGE)
    course = config.load(folder)
    kept = folder / "roster.csv"
    if new_roster is not None:
        check_extensions(folder, course, roster.read(new_roster))  # raises an error if it is not a roster, too
        if new_roster.resolve() != kept:
            shutil.copyfile(new_roster, kept)
    known = roster.read(kept) if kept.exists() else roster.Roster([])
    check_extensions(folder, course, known)
    return Class(folder, course, known)


def check_extensions(folder: Path, course: config.Course, known: roster.Roster) -> None:
    """Refuses an extension of somebody who is neither in the roster nor has handed in anything. Without a roster, anybody may be in the class."""
    if known.students:
        handed_in = {path.name for path in (folder / "submissions").glob("*")}
        settings.check_students(folder / "course.toml", course.extensions, set(known.students) | handed_in)


def collected(folder: Path) -> Class:
    """A class in which something has been collected. Anything else is said before a folder is made or a tool installed."""
    handed_in = folder.resolve() / "submissions"
    if not any(handed_in.glob("*/*/*")):
        raise KitError(f"{folder}: nothing has been collected there", "Run ./kit class collect SOURCE first; --class names another folder.")
    return open(folder)


def stubs() -> list[Stub]:
    """The labs, as they are handed out."""
    files = [path for ending in ("cu", "cl") for path in (ROOT / "labs").glob(f"*/*.{ending}")]
    found = [Stub(path.parent.name, path.name, path.read_text()) for path in sorted(files)]
    return [stub for stub in found if re.match(r"\d\d_", stub.name)]


def labs_of(course: Class, asked: list[str]) -> list[version.Lab]:
    """Those that a machine grades."""
    listed = [lab for lab in course.config.labs if lab not in by_hand(course)]
    if course.config.labs and not listed and not asked:
        return []
    return version.prepare(asked or listed or None)


def by_hand(course: Class) -> dict[str, tuple[str, ...]]:
    """The labs of course.toml that are marked by hand, with their rungs."""
    listed = [lab for lab in version.BY_HAND if lab in course.config.labs]
    rungs = {stub.name: tuple(dict.fromkeys(rung for rung, _ in take_apart(stub.text).regions)) for stub in stubs()}
    return {lab: rungs[lab] for lab in listed if lab in rungs}


@contextmanager
def locked(course: Class):
    """One grader at a time in a class's folder. The lock goes with the process that holds it."""
    with (course.folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise KitError(f"{course.folder} is being graded by another process", "Wait for it, or stop it; nothing is lost.") from None
        os.set_inheritable(file.fileno(), False)
        yield
