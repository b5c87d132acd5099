"""The submissions, by student and lab: `./kit class collect`."""

import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..course.roster import Roster, Student
from ..isolation.sandbox import Sandbox
from ..submission import archive, handin
from ..submission.archive import Entry, Listed, Refused, shown
from ..submission.handin import Stub
from ..submission.regions import NotALab, clean, splice
from . import collected, commits, forms, people
from .collected import PACKED, RefusedFile
from .forms import Form, Place
from .people import People

# What students hand in by mistake, and nothing here reads.
DOCUMENTS = (".pdf", ".doc", ".docx", ".odt", ".rtf", ".pages", ".ppt", ".pptx", ".png", ".jpg", ".jpeg", ".heic", ".txt", ".html", ".htm")
SOURCES = (".cpp", ".cc", ".c", ".cuh", ".h", ".hpp", ".py", ".ptx", ".o", ".exe")
MOST_LINES = 20  # about the files of one student that were not taken


@dataclass
class Candidate:
    stub: Stub
    text: str
    time: float
    path: str
    late: bool
    touched: bool
    attempt: int
    committed: bool = True  # as in the last commit of its clone, if it is in one
    remark: str = ""  # what an instructor should know about it

    @property
    def flags(self) -> list[str]:
        uncommitted = f"{self.path} is not the file of the last commit, so the file's own time counts if it is later"
        return [*([] if self.committed else [uncommitted]), *([self.remark] if self.remark else [])]


@dataclass
class Report:
    taken: dict[str, dict[str, dict]] = field(default_factory=dict)  # student -> lab -> about
    refused: list[RefusedFile] = field(default_factory=list)
    ignored: list[RefusedFile] = field(default_factory=list)  # of types that nobody can read
    remembered: list[RefusedFile] = field(default_factory=list)  # those ignored files that may be all that a student handed in
    collisions: list[str] = field(default_factory=list)
    namesakes: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)  # lab -> students
    late: list[str] = field(default_factory=list)  # according to the submission system
    uncommitted: list[str] = field(default_factory=list)  # other than in the last commit of their clone
    remarks: list[str] = field(default_factory=list)
    counted: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind and whose: the files that were not taken

    def leave(self, file: RefusedFile, whose: str = "") -> None:
        """Lists a file that is not taken; of one student's, only so many. `whose`: a name for those whose student is not known."""
        listed = self.ignored if file.kind == "ignored" else self.refused
        self.counted[file.kind, whose or file.student] += 1
        if self.counted[file.kind, whose or file.student] <= MOST_LINES:
            listed.append(file)
        elif self.counted[file.kind, whose or file.student] == MOST_LINES + 1:
            listed.append(RefusedFile("", f"more than {MOST_LINES} such files; the others are not listed", file.student, "", file.kind))


@dataclass
class Source:
    """A download or a folder of clones, while it is read."""

    path: Path
    form: Form
    who: People
    stubs: list[Stub]  # the labs asked for
    every: list[Stub]  # all labs, so that a file of another one is not called unreadable
    sandbox: Sandbox | None
    report: Report
    clones: dict[str, commits.Commit | None] = field(default_factory=dict)  # by folder


def collect(place: Path, stubs: list[Stub], roster: Roster, into: Path, sandbox: Sandbox | None, every: list[Stub] | None = None) -> Report:
    """`stubs`: the labs asked for; `every`: all labs."""
    report = Report()
    with archive.listed(place) as found:
        entries = list(found)
        files = [each for each in entries if isinstance(each, Listed)]
        form = form_of(place, files)
        placed = [(form.place(each.path), each) for each in files if not is_metadata(form, each.path)]
        # What nobody reads makes nobody a student, unless there is no roster and its path has a place for a name.
        naming = [at for at, each in placed if archive.wanted(each.path) or at.people[0].number or ("/" in each.path and not roster.given)]
        naming += [form.place(each.path) for each in entries if names_somebody(each, roster)]
        who = people.resolve((each for at in naming for each in at.people), roster, students_in(into, roster))
        report.namesakes, report.collisions = who.apart, sorted(set(who.collisions.values()))
        source = Source(place, form, who, stubs, every or stubs, sandbox, report)
        for each in entries:
            if isinstance(each, Refused):
                refuse(source, each)
        for student, theirs in by_student(source, placed).items():
            take(source, student, theirs, into)
    for person, student in who.students.items():
        apart = people.name_apart(person)
        if (
            person.number
            and student.id in roster.students
            and student.id in report.taken
            and apart not in (*roster.students, *report.taken)
        ):
            shutil.rmtree(into / "submissions" / apart, ignore_errors=True)  # from before the roster had the number
    report.remembered = [
        each
        for each in report.ignored
        if each.student and (each.path.lower().endswith(PACKED) or not report.taken.get(each.student)) and not is_taken(each, report)
    ]
    everybody = list(dict.fromkeys([*roster.students, *report.taken]))
    for stub in stubs:
        absent = [student for student in everybody if stub.name not in report.taken.get(student, {})]
        if len(absent) < len(everybody):
            report.missing[stub.name] = sorted(absent)
    return report


def form_of(source: Path, files: list[Listed]) -> Form:
    names = [each.path for each in files]
    within = forms.top_of(names)
    if within and (source / within / ".git").exists():
        return Form("folders")  # a clone, whatever its student called it
    kind = forms.kind_of(name.removeprefix(within) for name in names)
    about = next((each for each in files if each.path == within + forms.METADATA), None)
    if kind != "gradescope":
        return Form(kind)
    try:
        return Form(kind, within, forms.submissions(about.load()) if about else {})
    except archive.Unreadable:
        return Form(kind, within)


def is_metadata(form: Form, path: str) -> bool:
    return form.kind == "gradescope" and path == form.within + forms.METADATA


def names_somebody(entry: Listed | Refused, roster: Roster) -> bool:
    return isinstance(entry, Refused) and "/" in entry.path and not roster.given and not archive.why_not(entry.path)


def by_student(source: Source, placed: list[tuple[Place, Listed]]) -> dict[str, list[tuple[Place, Listed]]]:
    """Everything that each student, or the group of a student, handed in."""
    found: dict[str, list[tuple[Place, Listed]]] = {}
    for place, file in placed:
        for each in place.people:
            if each in source.who.collisions:
                if archive.wanted(file.path):
                    source.report.leave(RefusedFile(shown(file.path), source.who.collisions[each]), each.name)
            elif student := student_of(source.who, each):
                found.setdefault(student.id, []).append((place, file))
            else:
                ignore(source, "", file.path, place.file)
    return dict(sorted(found.items()))


def student_of(who: People, person: forms.Person) -> Student | None:
    return who.students.get(person) or people.match(who.everybody, person)


def refuse(source: Source, entry: Refused) -> None:
    """What was refused before it was read. A name that leads elsewhere says nothing about whose it is."""
    students: list[Student] = []
    file = entry.path
    if entry.path and not archive.why_not(entry.path):
        place = source.form.place(entry.path)
        file = place.file
        students = [student for each in place.people if each not in source.who.collisions and (student := student_of(source.who, each))]
    lab = handin.lab_by_name(file, source.stubs) if entry.path and not entry.ends else None
    for student in [each.id for each in students] or [""]:
        file = RefusedFile(entry.path, entry.why, student, lab.name if lab else "", "limit" if entry.ends else "refused")
        source.report.leave(file, entry.path.partition("/")[0])


# ---- one student


def take(source: Source, student: str, placed: list[tuple[Place, Listed]], into: Path) -> None:
    """Takes what counts of one student's files. Whatever a file contains, the next one follows."""
    places = {file.path: place for place, file in placed}
    group = sorted({found.id for place, _ in placed for each in place.people if (found := student_of(source.who, each))} - {student})
    found: dict[str, list[Candidate]] = {}
    for entry in archive.read([file for _, file in placed]):
        place, inner = place_of(places, entry.path)
        if isinstance(entry, Refused):
            lab = None if entry.ends else handin.lab_by_name(inner, source.stubs)
            source.report.leave(RefusedFile(entry.path, entry.why, student, lab.name if lab else "", "limit" if entry.ends else "refused"))
        elif entry.data is None:
            ignore(source, student, entry.path, inner)
        else:
            try:
                made = candidate(source, student, place, inner, entry, {student, *group})
            except Exception as error:  # a kind of damage that nobody has thought of
                why = f"it cannot be read ({type(error).__name__}: {shown(str(error))})"
                source.report.leave(RefusedFile(shown(entry.path), why, student))
                made = None
            if made is not None:
                found.setdefault(made.stub.name, []).append(made)
    for lab, several in sorted(found.items()):
        keep(into, student, lab, several, [student, *group] if group else [], source.report)


def place_of(places: dict[str, Place], path: str) -> tuple[Place, str]:
    """The place of a file, and its path as the student handed it in; in a zip file, its path there."""
    if path in places:
        return places[path], places[path].file
    outer = next((each for each in places if path.startswith(each + "/")), "")
    place = places.get(outer) or next(iter(places.values()))
    return place, path[len(outer) + 1 :] if outer else path


def candidate(source: Source, student: str, place: Place, file: str, entry: Entry, own: set[str]) -> Candidate | None:
    path, report = shown(entry.path), source.report
    if claim := why_another(source, entry.path, own):
        lab = handin.lab_by_name(file, source.stubs)
        report.leave(RefusedFile(path, claim, student, lab.name if lab else "", "claim"))
        return None
    name, remark = handin.as_named(file)
    stub = handin.lab_of(name, entry.data, source.stubs)
    report.taken.setdefault(student, {})
    known = source.who.everybody.students.get(student)
    if known is not None and not known.rostered and student not in report.strangers:
        report.strangers.append(student)
    if stub is None:
        refuse_unreadable(source, student, name, entry)
        return None
    try:
        text = handin.as_source(name, entry.data, stub)
        touched = not splice(stub.text, text).untouched >= {rung for rung, _ in stub.keys}
    except NotALab as error:
        try:  # keep it if it is a text: the instructor gets a message, and the student is not "missing"
            if name.lower().endswith((".md", ".ipynb")):
                raise
            text, touched = clean(entry.data), True
        except NotALab:
            why = handin.why_unreadable(name, entry.data) or str(error)
            report.leave(RefusedFile(path, why, student, stub.name))
            return None
    attempt = re.search(r"[ _-]\(?(\d{1,9})\)?\.\w+$", name)
    made = Candidate(stub, text, place.time or entry.time, path, place.late, touched, int(attempt[1]) if attempt else 0, remark=remark)
    top, _, rest = entry.path.partition("/")
    if commit := of_clone(source, top):
        made.time, made.committed = commits.dated(commit, rest, entry.data, made.time)
    return made


def of_clone(source: Source, top: str) -> commits.Commit | None:
    if source.form.kind != "folders" or not source.path.is_dir():
        return None
    if top not in source.clones:
        source.clones[top] = commits.last_commit(source.path / top, source.sandbox)
    return source.clones[top]


def why_another(source: Source, path: str, own: set[str]) -> str:
    """Why a file is refused that says it is somebody else's; "" if it does not."""
    if path.rpartition("/")[2].lower() == forms.METADATA:
        return "a student's own file, in the form in which Gradescope says who handed in what"
    if source.who.another(source.form.claims(path), own):
        return "its name is that of another student's submission in a download"
    return ""


def refuse_unreadable(source: Source, student: str, name: str, entry: Entry) -> None:
    """A file that belongs to no lab because nothing can be read in it."""
    why = handin.why_unreadable(name, entry.data)
    named = handin.lab_by_name(name, source.every) if why else None
    if not why or (named is None and name.lower().endswith(".md")) or (named is not None and named not in source.stubs):
        return
    lab = handin.lab_by_name(name, source.stubs)
    source.report.leave(RefusedFile(shown(entry.path), why, student, lab.name if lab else ""))


def ignore(source: Source, student: str, path: str, file: str) -> None:
    """Lists a file of a type that is never read, if a student may have meant it as the submission."""
    ending, top = Path(file).suffix.lower(), "/" not in file
    if archive.in_skipped(path) or not (ending in PACKED or (top and ending in (*DOCUMENTS, *SOURCES))):
        return
    lab = handin.lab_by_name(file, source.stubs)
    named = lab is not None and (len(source.stubs) > 1 or handin.is_named(Path(file).stem + "." + lab.file[-2:], lab.file))
    if ending in SOURCES and not named:
        return
    why = f"files of the type {ending} are not read; a lab's file, a .zip file of the folder or the handout is"
    source.report.leave(RefusedFile(shown(path), why, student, lab.name if lab else "", "ignored"))


def is_taken(each: RefusedFile, report: Report) -> bool:
    return each.lab in report.taken.get(each.student, {})


def keep(into: Path, student: str, lab: str, several: list[Candidate], group: list[str], report: Report) -> None:
    """Keeps the newest of those in which something was changed. `group`: all who handed it in together, or nobody."""
    several.sort(key=lambda each: (each.touched, each.attempt, each.time, each.path))
    best = several[-1]
    others = {each.path for each in several[:-1] if each.touched and each.text != best.text}
    if others:
        report.duplicates.append(f"{student} {lab}: took {best.path}, not {', '.join(sorted(others))}")
    if best.late:
        report.late.append(f"{student} {lab}")
    if not best.committed:
        report.uncommitted.append(f"{student} {lab}: {best.flags[0]}")
    if best.remark:
        report.remarks.append(f"{student} {lab}: {best.remark}")
    folder = into / "submissions" / student / lab
    about = {"path": best.path, "time": first_seen(folder, best), "late": best.late, "flags": best.flags} | (
        {"group": sorted(group)} if group else {}
    )
    report.taken[student][lab] = about
    new = folder.with_name(f".new-{lab}")
    shutil.rmtree(new, ignore_errors=True)  # left by a run that was ended
    try:
        new.mkdir(parents=True)
        (new / best.stub.file).write_text(best.text, "utf-8")
        (new / "about.json").write_text(json.dumps(about))
        shutil.rmtree(folder, ignore_errors=True)
        new.replace(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def first_seen(folder: Path, found: Candidate) -> float:
    """The time that counts. A text that was collected before keeps its time: copying a clone or setting a clock makes nobody late."""
    try:
        before = json.loads((folder / "about.json").read_text())["time"]
        same = handin.kept(folder / found.stub.file) == found.text
    except (OSError, ValueError, KeyError, TypeError):
        return found.time
    return min(before, found.time) if same and isinstance(before, int | float) else found.time


def students_in(into: Path, roster: Roster) -> list[Student]:
    """Everybody in the roster, and everybody else who handed something in; without a roster, also those of whom nothing could be taken."""
    folder = into / "submissions"
    handed = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
    if not roster.students:
        handed |= {student for student, _ in collected.refusals(into)}
    extra = [Student(name, name, rostered=not roster.students) for name in sorted(handed) if name not in roster.students]
    return [*roster.students.values(), *extra]
