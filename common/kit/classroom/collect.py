"""The submissions, by student and lab: `./kit collect`."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import archive, clones, handin
from .archive import Entry, Refused, shown
from .handin import Stub
from .regions import NotALab, clean, splice
from .roster import Roster, Student
from .sandbox import Sandbox

CANVAS = re.compile(r"^(?P<name>[^/_]+)(?P<late>_LATE)?_(?P<user>\d+)_(?P<submission>\d+)_(?P<file>[^/]+)$")
MOODLE = re.compile(r"^(?P<name>[^/]+?)_(?P<user>\d+)_assignsubmission_[a-z]+_?(?:/(?P<file>.+))?$")
GRADESCOPE = re.compile(r"^(?:.*/)?submission_(?P<submission>\d+)/(?P<file>.+)$")
METADATA = "submission_metadata.yml"


@dataclass
class HandedIn:
    """A student's file, before it is known what it is."""

    names: tuple[str, ...]  # what the submission system calls the student
    entry: Entry
    file: str  # its path as the student handed it in
    late: bool = False  # according to the submission system


@dataclass
class Candidate:
    stub: Stub
    text: str
    time: float
    path: str
    late: bool
    touched: bool
    attempt: int
    flag: str = ""  # what an instructor should look at


@dataclass
class Report:
    taken: dict[str, dict[str, dict]] = field(default_factory=dict)  # student -> lab -> about
    refused: list[Refused] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    uncommitted: list[str] = field(default_factory=list)  # other than in the last commit of their clone
    strangers: list[str] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)  # lab -> students
    late: list[str] = field(default_factory=list)  # according to the submission system

    def as_json(self) -> dict:
        return {
            "refused": [{"path": each.path, "why": each.why} for each in self.refused],
            "duplicates": self.duplicates, "strangers": self.strangers, "missing": self.missing, "late": self.late,
            "uncommitted": self.uncommitted,
        }  # fmt: skip


def collect(source: Path, stubs: list[Stub], roster: Roster, into: Path, sandbox: Sandbox | None) -> Report:
    report = Report()
    candidates: dict[tuple[str, str], list[Candidate]] = {}
    commits: dict[str, clones.Commit | None] = {}
    for each in handed_in(source, roster, report):
        stub = handin.lab_of(each.file, each.entry.data, stubs)
        student = roster.find_or_add(*each.names)
        if not student.rostered and student.id not in report.strangers:
            report.strangers.append(student.id)
        report.taken.setdefault(student.id, {})
        if stub is None:
            continue
        found = candidate(each, stub, report)
        if found is not None:
            top, _, path = each.entry.path.partition("/")
            if top not in commits:
                commits[top] = clones.last_commit(source / top, sandbox)
            if commit := commits[top]:
                found.time, found.flag = clones.dated(commit, path, each.entry, found.path)
            candidates.setdefault((student.id, stub.name), []).append(found)
    for (student, lab), several in sorted(candidates.items()):
        keep(into, student, lab, several, report)
    for stub in stubs:
        absent = [student.id for student in roster.students.values() if stub.name not in report.taken.get(student.id, {})]
        if len(absent) < len(roster.students):
            report.missing[stub.name] = sorted(absent)
    return report


def candidate(each: HandedIn, stub: Stub, report: Report) -> Candidate | None:
    path = shown(each.entry.path)
    try:
        text = handin.as_source(each.file, each.entry.data, stub)
        touched = not splice(stub.text, text).untouched >= {rung for rung, _ in stub.keys}
    except NotALab as error:
        try:  # keep it if it is text: the instructor is told, and the student is not "missing"
            text, touched = clean(each.entry.data), True
        except NotALab:
            report.refused.append(Refused(path, str(error)))
            return None
    attempt = re.search(r"[ _-]\(?(\d+)\)?\.\w+$", each.file)
    return Candidate(stub, text, each.entry.time, path, each.late, touched, int(attempt[1]) if attempt else 0)


def keep(into: Path, student: str, lab: str, several: list[Candidate], report: Report) -> None:
    """Keeps the newest of those in which something was changed."""
    several.sort(key=lambda each: (each.touched, each.attempt, each.time, each.path))
    best = several[-1]
    others = {each.path for each in several[:-1] if each.touched and each.text != best.text}
    if others:
        report.duplicates.append(f"{student} {lab}: took {best.path}, not {', '.join(sorted(others))}")
    if best.late:
        report.late.append(f"{student} {lab}")
    if best.flag:
        report.uncommitted.append(f"{student} {lab}: {best.flag}")
    about = {"path": best.path, "time": best.time, "late": best.late, "flags": [best.flag] if best.flag else []}
    report.taken[student][lab] = about
    folder = into / "submissions" / student / lab
    new = folder.with_name(f".new-{lab}")
    shutil.rmtree(new, ignore_errors=True)  # left by a run that was ended
    try:
        new.mkdir(parents=True)
        (new / best.stub.file).write_text(best.text)
        (new / "about.json").write_text(json.dumps(about))
        shutil.rmtree(folder, ignore_errors=True)
        new.replace(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


# ---- what the download of each submission system looks like


def handed_in(source: Path, roster: Roster, report: Report) -> Iterator[HandedIn]:
    metadata: dict[str, dict] = {}
    waiting: list[Entry] = []
    for entry in archive.read(source):
        if isinstance(entry, Refused):
            report.refused.append(entry)
        elif entry.path.endswith(METADATA):
            metadata |= gradescope_metadata(entry.data)
        elif GRADESCOPE.match(entry.path):
            waiting.append(entry)  # the metadata says whose they are, and comes later
        else:
            yield from opened(whose(entry), report)
    for entry in waiting:
        match = GRADESCOPE.match(entry.path)
        about = metadata.get(match["submission"])
        names = about["names"] if about else (f"submission_{match['submission']}",)
        entry = Entry(entry.path, entry.data, about["time"] if about and about["time"] else entry.time)
        yield from opened(HandedIn(names, entry, match["file"]), report)


def whose(entry: Entry) -> HandedIn:
    if found := MOODLE.match(entry.path):
        return HandedIn((found["name"], found["user"]), entry, found["file"] or entry.path)
    name = entry.path.rpartition("/")[2]
    if found := CANVAS.match(name):
        return HandedIn((found["user"], found["name"]), entry, found["file"], late=found["late"] is not None)
    top, _, rest = entry.path.partition("/")
    if rest and (found := MOODLE.match(rest)):
        return HandedIn((found["name"], found["user"]), entry, found["file"] or rest)
    return HandedIn((top if rest else Path(top).stem,), entry, rest or top)


def opened(each: HandedIn, report: Report) -> Iterator[HandedIn]:
    """The file itself, or the contents of a student's own zip file."""
    if not each.entry.path.lower().endswith(".zip"):
        yield each
        return
    for inner in archive.nested(each.entry):
        if isinstance(inner, Refused):
            report.refused.append(Refused(f"{shown(each.entry.path)}: {inner.path}", inner.why))
        else:
            entry = Entry(f"{each.entry.path}/{inner.path}", inner.data, max(inner.time, each.entry.time))
            yield HandedIn(each.names, entry, inner.path, each.late)


def gradescope_metadata(data: bytes) -> dict[str, dict]:
    """submission number -> names and time, from the YAML that Gradescope writes, which is simple enough to read line by line."""
    found: dict[str, dict] = {}
    current: dict | None = None
    for line in data.decode(errors="replace").splitlines():
        if match := re.match(r"^submission_(\d+):", line):
            current = found[match[1]] = {"fields": {}, "time": 0.0}
        elif current is not None and (match := re.match(r"^[ -]*:(sid|email|name):\s*(.*)$", line)):
            current["fields"].setdefault(match[1], match[2].strip().strip("'\""))  # the first of a group
        elif current is not None and (match := re.match(r"^\s+:created_at:\s*(\S+ \S+)", line)):
            current["time"] = seconds(match[1])
    for each in found.values():
        each["names"] = tuple(each["fields"][key] for key in ("sid", "email", "name") if each["fields"].get(key)) or ("unknown",)
    return found


def seconds(text: str) -> float:
    from datetime import datetime, timezone

    try:
        return datetime.fromisoformat(text[:19]).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return 0.0


def students_in(into: Path, roster: Roster) -> list[Student]:
    """Everybody in the roster, and everybody else who handed something in."""
    folder = into / "submissions"
    handed = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    extra = [Student(name, name, rostered=not roster.students) for name in handed if name not in roster.students]
    return [*roster.students.values(), *extra]
