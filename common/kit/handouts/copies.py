"""A student's own copies of the handouts, which git does not track: what is written in them never meets `git pull`.

They are in docs/work, at the same depth as docs/handouts, so that their links lead to the same places."""

import shutil
from pathlib import Path

from .. import handouts
from ..console import say
from ..paths import OWN, ROOT
from ..process import output, relative

FOLDER = ROOT / "docs" / "work"
BASES = OWN / "handouts"  # each handout as it was when its copy was last updated


def of(handout: Path) -> Path:
    """The student's copy of a handout; all copies that are missing are made, since they link to each other."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    BASES.mkdir(parents=True, exist_ok=True)
    for settings in handouts.FOLDER.glob("*.toml"):
        shutil.copyfile(settings, FOLDER / settings.name)
    for path in handouts.all_of_them():
        bring_up_to_date(path, FOLDER / path.name, BASES / path.name)
    return FOLDER / handout.name


def bring_up_to_date(handout: Path, copy: Path, base: Path) -> None:
    """Copies what is new in the handout, and takes nothing from the student."""
    new = handout.read_text()
    if not copy.exists():
        copy.write_text(new)
        base.write_text(new)
        return
    if not base.exists():  # .kit was removed: the text that the student began with is not known
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
    """Merges both sides' changes; None if they conflict."""
    result = output(["git", "merge-file", "-p", "-q", mine, base, theirs])
    return result.stdout if result.returncode == 0 else None
