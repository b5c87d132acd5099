"""What the downloads of the submission systems look like. A source has one form, which the names at its top decide: only those names,
and Gradescope's metadata beside them, say whose a file is. Everything below them was written by students and says nothing."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import PurePosixPath

CANVAS = re.compile(r"^(?P<name>[^/]+?)(?P<late>_LATE)?_(?P<user>\d+)_(?:\d+_(?P<file>[^/]+)|text\.html)$")
MOODLE = re.compile(r"^(?P<name>[^/]+)_(?P<user>\d+)_assignsubmission_[a-z]+_?$")
MOODLE_FLAT = re.compile(r"^(?P<name>[^/]+?)_(?P<user>\d+)_assignsubmission_[a-z]+_(?P<file>[^/]+\.[^/]+)$")
GRADESCOPE = re.compile(r"^submission_(?P<submission>\d+)$")
WRAPPER = re.compile(r"^assignment_\d+_export$")  # the folder in which Gradescope puts everything
METADATA = "submission_metadata.yml"


@dataclass(frozen=True)
class Person:
    """Somebody, as a source calls them."""

    system: str  # "canvas", "moodle", "gradescope" or "folders"
    ids: tuple[str, ...]  # numbers and addresses that nobody else has in that system
    name: str

    @property
    def label(self) -> str:
        """What they are called if the roster does not know them."""
        return self.ids[0] if self.system in ("canvas", "gradescope") and self.ids else self.name

    @property
    def number(self) -> str:
        return self.ids[0] if self.system in ("canvas", "moodle") else ""


@dataclass(frozen=True)
class Place:
    """Where a file is in a source."""

    people: tuple[Person, ...]  # several: a group
    file: str  # its path as the student handed it in
    late: bool = False  # according to the submission system
    time: float | None = None  # likewise


@dataclass(frozen=True)
class Form:
    kind: str  # "canvas", "moodle", "gradescope" or "folders"
    within: str = ""  # the path of the top, if it is not the source's own
    metadata: dict[str, "Submission"] = field(default_factory=dict)  # Gradescope's, by the number of the submission

    def place(self, path: str) -> Place:
        top, _, rest = path.removeprefix(self.within).partition("/")
        if self.kind == "canvas" and not rest and (found := CANVAS.match(top)):
            return Place((person("canvas", found),), found["file"] or top, found["late"] is not None)
        if self.kind == "moodle" and (found := MOODLE.match(top) if rest else MOODLE_FLAT.match(top)):
            return Place((person("moodle", found),), rest or found["file"])
        if self.kind == "gradescope" and rest and (found := GRADESCOPE.match(top)):
            known = self.metadata.get(found["submission"])
            return Place(known.people, rest, time=known.time) if known else Place((Person("folders", (), top),), rest)
        name = top if rest else PurePosixPath(top).stem
        return Place((Person("folders", (name,), name),), rest or top)

    def claims(self, path: str) -> Iterator[Person]:
        """Everybody whose submission a file's whole path could be mistaken for, if it were read by any system's pattern, at any depth."""
        for found in re.finditer(r"(?:^|[/_])(?=(?P<name>[^/_]*)(?:_LATE)?_(?P<user>\d+)_(?:\d+_|text\.html))", path):
            yield person("canvas", found)
        for found in re.finditer(r"_(?P<user>\d+)_assignsubmission_", path):
            before = path[: found.start()].rpartition("/")[2]
            yield from (Person("moodle", (found["user"],), name) for name in (before, before.rpartition("_")[2]))
        for found in re.finditer(r"(?:^|/)submission_(\d+)(?=/)", path):
            if known := self.metadata.get(found[1]):
                yield from known.people


def person(system: str, found: re.Match) -> Person:
    return Person(system, (found["user"],), found["name"])


def top_of(names: Iterable[str]) -> str:
    """The path below which the top is: "" or Gradescope's own folder, if there is nothing else."""
    tops = {name.partition("/")[0] for name in names}
    only = min(tops, default="")
    return f"{only}/" if len(tops) == 1 and WRAPPER.match(only) else ""


def kind_of(names: Iterable[str]) -> str:
    """The system in whose form most names at the top are; "folders" if there is no such system."""
    counted: Counter[str] = Counter()
    for top, is_folder in sorted({(name.partition("/")[0], "/" in name) for name in names}):
        if is_folder and GRADESCOPE.match(top):
            counted["gradescope"] += 1
        elif (MOODLE if is_folder else MOODLE_FLAT).match(top):
            counted["moodle"] += 1
        elif not is_folder and CANVAS.match(top):
            counted["canvas"] += 1
        elif top != METADATA:
            counted["folders"] += 1
    most = max(counted.values(), default=0)
    return "folders" if counted["folders"] == most else counted.most_common(1)[0][0]


# ---- Gradescope's metadata


@dataclass(frozen=True)
class Submission:
    people: tuple[Person, ...]  # who handed it in together
    time: float | None


def submissions(data: bytes) -> dict[str, Submission]:
    """Who handed in what, by number, from the YAML that Gradescope writes: simple enough to read line by line. Values are students' text;
    one of several lines is indented further than any key that counts here."""
    found: dict[str, Submission] = {}
    number, listed, members, time = "", False, [], None

    def finish() -> None:
        if number:
            people = tuple(member_of(each) for each in members if each) or (Person("folders", (), f"submission_{number}"),)
            found[number] = Submission(people, time)

    for line in data.decode(errors="replace").split("\n"):
        if start := re.match(r"submission_(\d{1,20}):", line):
            finish()
            number, listed, members, time = start[1], False, [], None
        elif key := re.match(r"  :(\w+):\s*(.*)", line):
            listed = key[1] == "submitters"
            if key[1] == "created_at":
                time = seconds(key[2])
        elif listed and (key := re.match(r"(  - |    ):(\w+):\s*(.*)", line)):
            if key[1] == "  - ":
                members.append({})
            if members:
                members[-1].setdefault(key[2], unquoted(key[3]))
    finish()
    return found


def member_of(fields: dict[str, str]) -> Person:
    ids = tuple(fields[key] for key in ("sid", "email") if fields.get(key))
    return Person("gradescope", ids, fields.get("name") or (ids[0] if ids else "unknown"))


def unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def seconds(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text.strip("'\"")[:19]).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
