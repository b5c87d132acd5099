"""The submissions, by student and lab: `./kit collect`."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import archive, collected, handin
from .archive import Entry, Refused, shown
from .collected import RefusedFile
from .handin import Stub
from .regions import NotALab, clean, splice
from .roster import Roster, Student, names_of, safe_id, squashed
from .sandbox import MIB, Limits, Room, Sandbox

CANVAS = re.compile(r"^(?P<name>[^/_]+)(?P<late>_LATE)?_(?P<user>\d+)_(?P<submission>\d+)_(?P<file>[^/]+)$")
MOODLE = re.compile(r"^(?P<name>[^/]+?)_(?P<user>\d+)_assignsubmission_[a-z]+_?(?:/(?P<file>.+))?$")
GRADESCOPE = re.compile(r"^(?:.*/)?submission_(?P<submission>\d+)/(?P<file>.+)$")
METADATA = "submission_metadata.yml"
# What students hand in by mistake, and nothing here reads.
PACKED = (".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".tbz2", ".xz", ".txz", ".zst")
DOCUMENTS = (".pdf", ".doc", ".docx", ".odt", ".rtf", ".pages", ".ppt", ".pptx", ".png", ".jpg", ".jpeg", ".heic", ".txt", ".html", ".htm")
SOURCES = (".cpp", ".cc", ".c", ".cuh", ".h", ".hpp", ".py", ".ptx", ".o", ".exe")


@dataclass
class HandedIn:
    """A student's file, before it is known what it is."""

    names: tuple[str, ...]  # what the submission system calls the student
    entry: Entry
    file: str  # its path as the student handed it in
    late: bool = False  # according to the submission system
    number: str = ""  # of the student in Moodle or Canvas
    group: tuple[str, str] = ("", "")  # the folder and the name there; several numbers in one group are several people

    @property
    def own_name(self) -> str:
        return next(name for name in self.names if name != self.number)


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
    refused: list[RefusedFile] = field(default_factory=list)
    ignored: list[RefusedFile] = field(default_factory=list)  # of types that nobody can read
    remembered: list[RefusedFile] = field(default_factory=list)  # those ignored files that may be all that a student handed in
    namesakes: list[str] = field(default_factory=list)
    metadata: dict[str, dict] = field(default_factory=dict)  # Gradescope's, by the number of the submission
    duplicates: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)  # lab -> students
    late: list[str] = field(default_factory=list)  # according to the submission system
    uncommitted: list[str] = field(default_factory=list)  # other than in the last commit of their clone


@dataclass
class People:
    """Who is who in one source: students of one name are told apart by the numbers that Moodle or Canvas give them."""

    roster: Roster
    several: dict[tuple[str, str], set[str]]  # by folder and name: the numbers, if there are several

    def same_name(self, each: HandedIn) -> list[str]:
        """The students of the roster who have the name of this file."""
        return [student.id for student in self.roster.students.values() if student.rostered and each.group[1] in names_of(student)]

    def is_ambiguous(self, each: HandedIn) -> bool:
        return bool(each.number) and (each.group in self.several or len(self.same_name(each)) > 1)

    def find(self, each: HandedIn) -> Student | None:
        if self.is_ambiguous(each):
            return self.roster.find(each.number)
        return self.roster.find(*each.names)

    def find_or_add(self, each: HandedIn, report: Report) -> Student:
        if not self.is_ambiguous(each):
            return self.roster.find_or_add(*each.names)
        if found := self.roster.find(each.number):
            return found
        name = each.own_name
        new = Student(self.name_apart(each), name, rostered=not self.roster.given)
        found = self.roster.students.setdefault(new.id, new)
        self.roster.known[squashed(each.number)] = found.id
        report.namesakes.append(
            f"{shown(name)} ({each.number}): several have this name; kept apart as {found.id}. To say whose it is, put {each.number} into the "
            "roster, in that student's row and a column of its own, and collect again"
        )
        return found

    def name_apart(self, each: HandedIn) -> str:
        """What find_or_add calls somebody whose number the roster lacks."""
        return safe_id(f"{each.own_name}_{each.number}")


def collect(
    source: Path, stubs: list[Stub], roster: Roster, into: Path, sandbox: Sandbox | None, every: list[Stub] | None = None
) -> Report:
    """`stubs`: the labs asked for; `every`: all labs, so that a file of another one is not called unreadable."""
    report = Report()
    candidates: dict[tuple[str, str], list[Candidate]] = {}
    commits: dict[str, Commit | None] = {}
    names = file_names(source)
    people = People(roster, several_numbers(names))
    for each in handed_in(source, people, stubs, report):
        stub = handin.lab_of(each.file, each.entry.data, stubs)
        student = people.find_or_add(each, report)
        if roster.given and people.is_ambiguous(each) and student.id != people.name_apart(each):
            shutil.rmtree(into / "submissions" / people.name_apart(each), ignore_errors=True)  # from before the roster had the number
        if not student.rostered and student.id not in report.strangers:
            report.strangers.append(student.id)
        report.taken.setdefault(student.id, {})
        if stub is None:
            refuse_unreadable(each, student, stubs, every or stubs, report)
            continue
        found = candidate(each, stub, student, report)
        if found is not None:
            top, _, path = each.entry.path.partition("/")
            if top not in commits:
                commits[top] = last_commit(source / top, sandbox)
            if commit := commits[top]:
                dated(found, commit, path, each.entry.data)
            candidates.setdefault((student.id, stub.name), []).append(found)
    for (student, lab), several in sorted(candidates.items()):
        keep(into, student, lab, several, report)
    for name in names:
        ignore(whose(Entry(name, b"", 0), report.metadata), people, stubs, report)
    report.remembered = [
        each
        for each in report.ignored
        if each.student and (each.path.lower().endswith(PACKED) or not report.taken.get(each.student)) and not is_taken(each, report)
    ]
    for stub in stubs:
        absent = [student.id for student in roster.students.values() if stub.name not in report.taken.get(student.id, {})]
        if len(absent) < len(roster.students):
            report.missing[stub.name] = sorted(absent)
    return report


def is_taken(each: RefusedFile, report: Report) -> bool:
    return each.lab in report.taken.get(each.student, {})


def refuse_unreadable(each: HandedIn, student: Student, stubs: list[Stub], every: list[Stub], report: Report) -> None:
    """A file that belongs to no lab because nothing can be read in it."""
    why = handin.why_unreadable(each.file, each.entry.data)
    named = handin.lab_by_name(each.file, every)
    if not why or (named is None and each.file.lower().endswith(".md")) or (named is not None and named not in stubs):
        return
    lab = handin.lab_by_name(each.file, stubs)
    report.refused.append(RefusedFile(shown(each.entry.path), why, student.id, lab.name if lab else ""))


def ignore(each: HandedIn, people: People, stubs: list[Stub], report: Report) -> None:
    """Lists a file of a type that is never read, if a student may have meant it as the submission."""
    ending, lab = Path(each.file).suffix.lower(), handin.lab_by_name(each.file, stubs)
    in_course = bool(set(each.entry.path.split("/")[:-1]) & archive.SKIPPED)
    named = lab is not None and (len(stubs) > 1 or handin.is_named(Path(each.file).stem + "." + lab.file[-2:], lab.file))
    top = each.file.count("/") == 0
    if in_course or not (ending in PACKED or (ending in DOCUMENTS and top) or (ending in SOURCES and top and named)):
        return
    why = f"files of the type {ending} are not read; a lab's file, a .zip file of the folder or the handout is"
    report.ignored.append(RefusedFile(shown(each.entry.path), why, owner(each, people), lab.name if lab else "", "ignored"))


def owner(each: HandedIn, people: People) -> str:
    """Whose a file is that is not taken. It makes nobody a student unless there is no roster, and the path has a place for a name."""
    if found := people.find(each):
        return found.id
    if people.is_ambiguous(each):
        return people.name_apart(each)
    has_a_name = bool(each.number) or "/" in each.entry.path
    return safe_id(each.names[0]) if has_a_name and not people.roster.given else ""


def file_names(source: Path) -> list[str]:
    """The names of all files in a source, good or bad, without reading any of them; those that lead elsewhere are left out."""
    found: list[str] = []
    try:
        if source.is_dir():
            for folder, folders, files in os.walk(source, followlinks=False):
                folders[:] = [name for name in folders if name not in archive.SKIPPED]
                found += [(Path(folder) / name).relative_to(source).as_posix() for name in files]
        elif zipfile.is_zipfile(source):
            found = zip_names(source.open("rb"))
    except OSError:
        return []
    return sorted(name for name in found if not archive.why_not(name))


def zip_names(file) -> list[str]:
    with file:
        try:
            return [entry.filename for entry in zipfile.ZipFile(file).infolist()[: archive.MOST_ENTRIES] if not entry.is_dir()]
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
            return []


def several_numbers(names: list[str]) -> dict[tuple[str, str], set[str]]:
    """Names that several people of one download have, with their numbers. Another folder is another download, in which Moodle gives
    other numbers."""
    numbers: dict[tuple[str, str], set[str]] = {}
    for name in names:
        each = whose(Entry(name, b"", 0))
        if each.number:
            numbers.setdefault(each.group, set()).add(each.number)
    return {group: found for group, found in numbers.items() if len(found) > 1}


def candidate(each: HandedIn, stub: Stub, student: Student, report: Report) -> Candidate | None:
    path = shown(each.entry.path)
    try:
        text = handin.as_source(each.file, each.entry.data, stub)
        touched = not splice(stub.text, text).untouched >= {rung for rung, _ in stub.keys}
    except NotALab as error:
        try:  # keep it if it is text: the instructor is told, and the student is not "missing"
            text, touched = clean(each.entry.data), True
        except NotALab:
            why = handin.why_unreadable(each.file, each.entry.data) or str(error)
            report.refused.append(RefusedFile(path, why, student.id, stub.name))
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


def handed_in(source: Path, people: People, stubs: list[Stub], report: Report) -> Iterator[HandedIn]:
    waiting: list[Entry] = []
    refused: list[Refused] = []
    for entry in archive.read(source):
        if isinstance(entry, Refused):
            refused.append(entry)
        elif entry.path.endswith(METADATA):
            report.metadata |= gradescope_metadata(entry.data)
        elif GRADESCOPE.match(entry.path):
            waiting.append(entry)  # the metadata says whose they are, and comes later
        else:
            yield from opened(whose(entry), people, stubs, report)
    for entry in refused:
        each = whose(Entry(entry.path, b"", 0), report.metadata)
        # A name that leads elsewhere says nothing about whose it is.
        student = "" if archive.why_not(entry.path) else owner(each, people)
        lab = handin.lab_by_name(each.file, stubs) if entry.path else None
        report.refused.append(RefusedFile(entry.path, entry.why, student, lab.name if lab else ""))
    for entry in waiting:
        yield from opened(whose(entry, report.metadata), people, stubs, report)


def whose(entry: Entry, metadata: dict[str, dict] | None = None) -> HandedIn:
    """`metadata`: Gradescope's, which says who handed in what."""

    def numbered(names: tuple[str, ...], found: re.Match, folder: str, late: bool = False) -> HandedIn:
        return HandedIn(names, entry, found["file"] or entry.path, late, found["user"], (folder, squashed(found["name"])))

    if found := GRADESCOPE.match(entry.path):
        about = (metadata or {}).get(found["submission"], {})
        names = about.get("names") or (f"submission_{found['submission']}",)
        return HandedIn(names, replace(entry, time=about.get("time") or entry.time), found["file"])
    if found := MOODLE.match(entry.path):
        return numbered((found["name"], found["user"]), found, "")
    folder, _, name = entry.path.rpartition("/")
    if found := CANVAS.match(name):
        return numbered((found["user"], found["name"]), found, folder, found["late"] is not None)
    top, _, rest = entry.path.partition("/")
    if rest and (found := MOODLE.match(rest)):
        return numbered((found["name"], found["user"]), found, top)
    return HandedIn((top if rest else Path(top).stem,), entry, rest or top)


def opened(each: HandedIn, people: People, stubs: list[Stub], report: Report) -> Iterator[HandedIn]:
    """The file itself, or the contents of a student's own zip file."""
    if not each.entry.path.lower().endswith(".zip"):
        yield each
        return
    for inner in archive.nested(each.entry):
        if isinstance(inner, Refused):
            lab = handin.lab_by_name(inner.path or each.file, stubs)
            path = f"{shown(each.entry.path)}: {inner.path}" if inner.path else shown(each.entry.path)
            report.refused.append(RefusedFile(path, inner.why, owner(each, people), lab.name if lab else ""))
        else:
            entry = Entry(f"{each.entry.path}/{inner.path}", inner.data, max(inner.time, each.entry.time))
            yield replace(each, entry=entry, file=inner.path)
    for name in zip_names(io.BytesIO(each.entry.data)):
        if not archive.why_not(name):
            ignore(replace(each, entry=Entry(f"{each.entry.path}/{name}", b"", 0), file=name), people, stubs, report)


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


@dataclass(frozen=True)
class Commit:
    """The last commit of a student's clone. Its time is whatever the student's machine said."""

    time: float
    files: dict[str, str]  # path -> the hash that git has of it


def last_commit(folder: Path, sandbox: Sandbox | None) -> Commit | None:
    """The last commit of a clone. Git reads untrusted settings there, so it runs in the sandbox."""
    if sandbox is None or sandbox.unsafe or not (folder / ".git").is_dir() or (folder / ".git").is_symlink() or not shutil.which("git"):
        return None
    room = Room(
        read={folder / ".git": "/repository"},
        environment={"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"},
    )
    git = ["git", "--git-dir=/repository"]
    limits = Limits(cpu=10, wall=20, output=8 * MIB)
    try:
        told = sandbox.run([*git, "log", "-1", "--format=%ct"], room, limits)
        listed = sandbox.run([*git, "ls-tree", "-r", "-z", "--full-tree", "HEAD"], room, limits)
        if told.code != 0:
            return None
        rows = [row.partition("\t") for row in listed.stdout.decode(errors="replace").split("\0") if row]
        return Commit(float(told.stdout), {path: words.split(" ")[-1] for words, _, path in rows})
    except (ValueError, subprocess.SubprocessError, OSError):
        return None


def dated(found: Candidate, commit: Commit, path: str, data: bytes) -> None:
    """The time of the commit for a file that is as it was committed; for one that was changed since, its own time if that is later, and a flag."""
    committed = commit.files.get(path, "")
    if committed in hashes_of(data):
        found.time = commit.time or found.time
    else:
        found.time = max(commit.time, found.time)
        found.flag = f"{found.path} is not the file of the last commit, so the file's own time counts if it is later"


def hashes_of(data: bytes) -> set[str]:
    """What git may call a file with these contents, with either kind of hash; a clone may have given it other line ends."""
    texts = (data, data.replace(b"\r\n", b"\n"), data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    return {name(b"blob %d\0" % len(text) + text).hexdigest() for text in texts for name in (hashlib.sha1, hashlib.sha256)}


def students_in(into: Path, roster: Roster) -> list[Student]:
    """Everybody in the roster, and everybody else who handed something in; without a roster, also those of whom nothing could be taken."""
    folder = into / "submissions"
    handed = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
    if not roster.students:
        handed |= {student for student, _ in collected.refusals(into)}
    extra = [Student(name, name, rostered=not roster.students) for name in sorted(handed) if name not in roster.students]
    return [*roster.students.values(), *extra]
