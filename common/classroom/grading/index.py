"""Which result belongs to whom: class/index.json, written by `kit class grade` and read by the commands after it."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from kit.errors import KitError

from ..course.version import BY_HAND
from . import results


@dataclass(frozen=True)
class Found:
    """As much of a piece of work as marks need."""

    into: Path
    lab: str
    key: str

    @property
    def result(self) -> dict | None:
        return results.read(results.place(self.into, self.lab, self.key))


def hash_of(source: Path) -> str:
    return hashlib.sha256(source.read_bytes()).hexdigest()


def update(into: Path, index: dict) -> None:
    try:
        before = json.loads((into / "index.json").read_text())
    except (OSError, ValueError):
        before = {"labs": {}, "keys": {}}
    merged = {"format": results.FORMAT, "labs": before["labs"] | index["labs"], "keys": before["keys"] | index["keys"]}
    merged["labs"] = dict(sorted(merged["labs"].items()))
    results.write(into / "index.json", merged)


def read(into: Path) -> tuple[dict[str, tuple[str, ...]], dict[tuple[str, str], Found]]:
    """The labs with their rungs, and what was graded, by student and lab."""
    try:
        index = json.loads((into / "index.json").read_text())
    except (OSError, ValueError):
        if any(into.glob("results/*/*.json")):
            said = f"{into}: grading has not come to its end there"
            raise KitError(said, "Run ./kit class grade again: it goes on where it stopped. There are marks once it has ended.") from None
        raise KitError(f"{into}: nothing has been graded there yet", "Run ./kit class grade first.") from None
    pieces = {}
    for name, (key, file, text) in index["keys"].items():
        student, _, lab = name.rpartition("/")
        source = into / "submissions" / student / lab / file
        if source.is_file():  # what has been handed in since then is not graded yet
            pieces[student, lab] = Found(into, lab, key if hash_of(source) == text else "not-graded-yet")
    for lab in set(index["labs"]) - set(BY_HAND):
        for source in (into / "submissions").glob(f"*/{lab}/*.cu"):  # collected after the last grading, which is not "nothing handed in"
            pieces.setdefault((source.parent.parent.name, lab), Found(into, lab, "not-graded-yet"))
    return {lab: tuple(rungs) for lab, rungs in index["labs"].items()}, pieces
