"""The course as a list of rungs, and what the kit remembers of those that passed."""

import hashlib
import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from ..errors import USAGE, KitError
from ..paths import OWN
from ..programs.folder import Build
from ..programs.labs import Lab
from ..programs.source import MARKER

REMEMBERED = OWN / "passed.json"
TODO = "// TODO"
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
CODE = re.compile(r"\S")
BAR = 24  # columns


@dataclass(frozen=True)
class Rung:
    lab: Lab
    name: str

    @property
    def key(self) -> str:
        return f"{self.lab.name}/{self.name}"


@dataclass(frozen=True)
class Place:
    """Where a rung's TODO is, and what it asks for."""

    file: Path
    line: int
    text: str


def rungs(build: Build, labs: list[Lab]) -> list[Rung]:
    """All rungs of these labs in the order of the course, which is the order of Meson's tests."""
    names: dict[str, list[str]] = {}
    for test in build.introspect("tests"):
        if found := re.fullmatch(r"(\d\d_\w+)/(\w+)/(emulator|cpu)", test["name"]):
            names.setdefault(found[1], []).append(found[2])
    return [Rung(lab, name) for lab in labs for name in names.get(lab.name, [])]


def named(every: list[Rung], name: str) -> Rung:
    """The rung of that name in any lab: `sequential`, or `02_tree/sequential`."""
    lab, _, rung = name.rpartition("/")
    found = [each for each in every if each.name == rung and lab in each.lab.name]
    if found:
        return found[0]
    known = [each.name for each in every]
    similar = get_close_matches(rung, known, 3, 0.5) or [each for each in known if rung and rung in each][:3]
    hint = f"Did you mean {' or '.join(similar)}? " if similar else ""
    raise KitError(f"no rung is called '{name}'", f"{hint}./kit status lists them all.", USAGE)


def sources(lab: Lab) -> list[Path]:
    """The files of a lab that a student edits: one or, in OpenCL, that of the kernels and that of the host."""
    return sorted(path for path in lab.source.parent.iterdir() if path.suffix in (".cu", ".cl", ".cpp"))


def regions(rung: Rung) -> list[tuple[Path, int, str]]:
    """For each region of the rung: file, number of its first line, text."""
    found = []
    for path in sources(rung.lab):
        begin, lines = None, path.read_text(errors="replace").splitlines()
        for index, line in enumerate(lines):
            marker = MARKER.match(line)
            if marker and marker[2] == rung.name:
                if marker[1] == "BEGIN":
                    begin = index
                elif begin is not None:
                    found.append((path, begin + 2, "\n".join(lines[begin + 1 : index])))
                    begin = None
    return found


def todo(rung: Rung) -> Place | None:
    """The first of its TODOs that is still there."""
    of_rung = regions(rung)
    for number, (path, line, text) in enumerate(of_rung, 1):
        for index, each in enumerate(text.splitlines()):
            if TODO in each:
                comment = [part.strip().removeprefix("//").strip() for part in text.splitlines()[index:] if part.strip().startswith("//")]
                which = f"region {number} of {len(of_rung)}: " if len(of_rung) > 1 else ""
                return Place(path, line + index, which + " ".join(comment).removeprefix("TODO").lstrip(": "))
    return None


def is_open(rung: Rung) -> bool:
    """Whether one of its regions contains only comments: then there is nothing to check yet."""
    return any(not CODE.search(COMMENTS.sub("", text)) for _, _, text in regions(rung))


def digest(rung: Rung) -> str:
    text = "\0".join(text for _, _, text in regions(rung))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Passed:
    """Which rungs passed, each with the text that passed: one that has been changed since must be checked again."""

    def __init__(self):
        try:
            self.known: dict[str, str] = dict(json.loads(REMEMBERED.read_text()))
        except (OSError, ValueError):
            self.known = {}

    def __contains__(self, rung: Rung) -> bool:
        return rung.key in self.known and self.known[rung.key] == digest(rung)

    def note(self, rung: Rung, passed: bool) -> bool:
        """True if this is new: the rung passes, and did not before."""
        was = rung in self
        if passed:
            self.known[rung.key] = digest(rung)
        else:
            self.known.pop(rung.key, None)
        if passed != was:
            REMEMBERED.parent.mkdir(parents=True, exist_ok=True)
            REMEMBERED.write_text(json.dumps(self.known, indent=1))
        return passed and not was


def bar(done: int, of: int) -> str:
    full = BAR * done // of if of else 0
    return f"[{'#' * full}{'.' * (BAR - full)}] {done} of {of} rungs pass"
