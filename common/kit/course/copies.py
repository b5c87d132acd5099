"""A student's own copies of the handouts, which git does not track: what is written in them never meets `git pull`.

They lie in docs/work, as deep as docs/handouts, so that their links lead where those of the handouts do."""

import shutil
from pathlib import Path

from ..console import say
from ..paths import OWN, ROOT
from ..process import output, relative
from . import handouts

FOLDER = ROOT / "docs" / "work"
BASES = OWN / "handouts"  # each handout as it was when the copy last took it over


def of(handout: Path) -> Path:
    """The student's copy of a handout; all of them are made where they are missing, since they link to each other."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    BASES.mkdir(parents=True, exist_ok=True)
    for settings in handouts.FOLDER.glob("*.toml"):
        shutil.copyfile(settings, FOLDER / settings.name)
    for path in handouts.all_of_them():
        bring_up_to_date(path, FOLDER / path.name, BASES / path.name)
    return FOLDER / handout.name


def bring_up_to_date(handout: Path, copy: Path, base: Path) -> None:
    """Takes over what is new in the handout, and nothing from the student."""
    new = handout.read_text()
    if not copy.exists():
        copy.write_text(new)
        base.write_text(new)
        return
    if not base.exists():  # .kit was removed: what the student began with is not known
        base.write_text(new)
        return
    old, mine = base.read_text(), copy.read_text()
    if new == old:
        return
    merged = new if mine in (old, new) else merge(copy, base, handout)
    if merged is None:
        say(f"{relative(handout)} has changed where you have written in {relative(copy)}; your text stays as it is")
    else:
        copy.write_text(merged)
        say(f"{relative(copy)} now has the course's changes")
    base.write_text(new)


def merge(mine: Path, base: Path, theirs: Path) -> str | None:
    """Both sides' changes; None where they are in each other's way."""
    result = output(["git", "merge-file", "-p", "-q", mine, base, theirs])
    return result.stdout if result.returncode == 0 else None
