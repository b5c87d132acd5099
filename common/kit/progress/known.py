"""What is known of the labs' rungs before their programs run again: what these said last, kept in .kit/answers.json, and what the text of
the regions says."""

import hashlib
import json
from pathlib import Path

from ..console import say
from ..errors import KitError
from ..paths import OWN
from ..programs import labs
from ..programs.folder import Build
from ..programs.labs import Lab
from ..programs.ninja import BuildFailed
from . import course

REMEMBERED = OWN / "answers.json"
KEPT = ("name", "state", "reason", "file", "line", "broken")  # of a rung
UNKNOWN = "not checked"  # in place of a state


class Known:
    def __init__(self, every: list[course.Rung]):
        self.every = every
        self.passed = course.Passed()
        try:
            self.kept: dict[str, dict] = dict(json.loads(REMEMBERED.read_text()))
        except (OSError, ValueError):
            self.kept = {}

    def answer(self, lab: Lab) -> list[dict]:
        """The lab's rungs as far as they are known now."""
        entry = self.kept.get(lab.name, {})
        if entry.get("text") == text_of(lab):
            return entry["rungs"]
        return [self.from_text(rung) for rung in self.every if rung.lab == lab]

    def from_text(self, rung: course.Rung) -> dict:
        place = course.todo(rung)
        at = {"file": str(place.file), "line": place.line} if place else {}
        if course.is_open(rung):
            return {"name": rung.name, "state": "todo", **at}
        return {"name": rung.name, "state": "pass" if rung in self.passed else UNKNOWN}

    def is_stale(self, build: Build, lab: Lab) -> bool:
        """Whether the lab's program has not been asked since anything changed."""
        return self.kept.get(lab.name, {}).get("stamp") != stamp(build, lab)

    def check(self, build: Build, lab: Lab) -> list[dict]:
        """The lab's rungs, checked if anything has changed. A lab that does not compile keeps nobody from the others."""
        try:
            labs.compile(build, [lab])
        except BuildFailed as error:
            return [not_built(rung, error) for rung in self.answer(lab)]
        if self.is_stale(build, lab):
            try:
                self.keep(lab, {"text": text_of(lab), "rungs": asked(lab), "stamp": stamp(build, lab)})
            except KitError as error:  # such as a region without its end
                say(f"{lab.name} cannot be checked: {error}")
                return self.answer(lab)
        return self.kept[lab.name]["rungs"]

    def keep(self, lab: Lab, entry: dict) -> None:
        self.kept[lab.name] = entry
        fresh = REMEMBERED.with_suffix(".new")
        fresh.write_text(json.dumps(self.kept, indent=1))
        fresh.replace(REMEMBERED)


def asked(lab: Lab) -> list[dict]:
    """What the lab's program says, and which rungs are still broken as they were handed out."""
    broken = {rung["name"] for rung in labs.ask(lab, "--list")["rungs"] if rung["state"] == "broken"}
    return [
        {key: value for key, value in {**rung, "broken": rung["name"] in broken}.items() if key in KEPT and value}
        for rung in labs.ask(lab)["rungs"]
    ]


def not_built(rung: dict, error: BuildFailed) -> dict:
    """A rung of a lab that does not compile; one that is still to do stays so."""
    if rung["state"] == "todo":
        return rung
    first = [line for line in str(error).splitlines()[1:] if line.strip()][:1]
    return {"name": rung["name"], "state": "not-built", "reason": "".join(first)}


def text_of(lab: Lab) -> str:
    text = b"\0".join(path.read_bytes() for path in course.sources(lab))
    return hashlib.sha256(text).hexdigest()[:16]


def stamp(build: Build, lab: Lab) -> list:
    """Of the program and what it runs on; the kernels of lab 10 are read when it runs."""
    return [text_of(lab), *(mark(path) for path in (lab.program, build.emulator()))]


def mark(path: Path) -> list:
    try:
        return [path.stat().st_mtime_ns, path.stat().st_size]
    except OSError:
        return []
