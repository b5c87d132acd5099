"""From results to marks: points by rung and state, deductions for lateness, and the instructor's own decisions."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kit.errors import USAGE, KitError
from kit.paths import ROOT

from ..collecting import collected
from ..course.config import Course
from ..course.roster import Student
from ..course.version import BY_HAND
from ..grading import results
from ..grading.work import Piece
from ..submission import spreadsheet
from ..submission.archive import shown

COLUMNS = ["student", "lab", "rung", "points", "comment"]


@dataclass
class RungMark:
    name: str
    state: str
    reason: str
    points: float
    most: float
    by_hand: bool = False
    detail: dict = field(default_factory=dict)  # the rung's entry in the result


@dataclass
class Mark:
    """The mark of one student for one lab."""

    student: Student
    lab: str
    most: float
    points: float | None  # None: not graded, and `why` says why
    state: (
        str  # "graded", "not graded", "missing", "refused" (what came could not be read), "by hand" (the lab is one that no machine grades)
    )
    why: str = ""
    rungs: list[RungMark] = field(default_factory=list)
    days_late: int = 0
    factor: float = 1.0
    machine: float | None = None  # what the points would be without overrides
    comments: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    unsafe: bool = False
    handed_in: bool = True  # whether something came for this lab, readable or not, as far as is known

    @property
    def note(self) -> str:
        """One line, for a column of comments."""
        parts = [self.why] if self.why else []
        parts += [f"{rung.name}: {rung.state}" for rung in self.rungs if rung.state != "pass"]
        parts += [f"{self.days_late} day(s) late, times {self.factor:g}"] if self.days_late else []
        return "; ".join([*self.comments, *parts, *(["graded without a sandbox"] if self.unsafe else [])])


@dataclass(frozen=True)
class Override:
    points: float | None
    comment: str


@dataclass(frozen=True)
class Line:
    """A line of overrides.csv, before it is known what it is about."""

    number: int
    student: str
    lab: str
    rung: str
    override: Override


def override_lines(into: Path) -> list[Line]:
    """The file is the instructor's: the kit only reads it, or creates it with a header row."""
    path = into / "overrides.csv"
    if not path.exists():
        into.mkdir(parents=True, exist_ok=True)
        path.write_text(",".join(COLUMNS) + "\n")
        return []
    sheet = spreadsheet.read(path, tuple(COLUMNS))
    if lacking := [column for column in COLUMNS if column not in sheet.names]:
        advice = f"Its first line must name the columns: {','.join(COLUMNS)}"
        raise KitError(f"{path}, line 1: there is no column {', '.join(lacking)}", advice, USAGE)
    lines = []
    for number, row in zip(sheet.lines, sheet.rows, strict=True):
        if not any(cell.strip() for cell in row):
            continue
        where = f"{path}, line {number}"
        if len(row) > len(sheet.heading):
            raise KitError(f"{where}: more cells than the first line has", "Put a comment that contains commas in quotation marks.", USAGE)
        cells = {name: cell.strip() for name, cell in zip(sheet.names, row, strict=False)}
        points = number_of_points(cells.get("points", ""), sheet.separator, where)
        override = Override(points, cells.get("comment", ""))
        lines.append(Line(number, *(cells.get(name, "") for name in ("student", "lab", "rung")), override))
    return lines


def number_of_points(text: str, separator: str, where: str) -> float | None:
    """None if there is no text. A file with semicolons may have decimal commas."""
    try:
        points = float(text.replace(",", ".") if separator != "," else text) if text else None
    except ValueError:
        points = math.nan
    if points is not None and not (math.isfinite(points) and points >= 0):
        raise KitError(f"{where}: {shown(text)} is not a number of points", "Write 0 or more, for example 2.5, or nothing at all.", USAGE)
    return points


def overrides(
    into: Path, course: Course, students: list[Student], labs: dict[str, tuple[str, ...]]
) -> dict[tuple[str, str, str], Override]:
    """By student, lab and rung ("": the whole lab), of the labs given. Lines about other labs of the class are checked, but not used."""
    path = into / "overrides.csv"
    known = {student.id for student in students}
    every = labs_of_class(into, course, labs)
    found: dict[tuple[str, str, str], Line] = {}
    for line in override_lines(into):
        where = f"{path}, line {line.number}"
        lab = lab_of_class(line.lab, every)
        if line.student not in known or lab is None:
            why = (
                f"The students' ids: {', '.join(sorted(known))}." if line.student not in known else f"The labs: {', '.join(sorted(every))}."
            )
            by_hand = next((each for each in BY_HAND if line.lab and line.lab in each and each not in every), None)
            advice = f"{by_hand} has no marks as long as it is not in labs in course.toml." if lab is None and by_hand else why
            raise KitError(f"{where}: there is no {shown(f'{line.student} {line.lab}').strip()} in this class", advice, USAGE)
        if lab in labs and line.rung and line.rung not in labs[lab]:
            advice = f"Its rungs: {', '.join(labs[lab])}; or nothing, for the whole lab."
            raise KitError(f"{where}: there is no rung {shown(line.rung)} in {lab}", advice, USAGE)
        key = (line.student, lab, line.rung)
        if key in found:
            said = f"{path}: lines {found[key].number} and {line.number} are both about {line.student} {lab} {line.rung}".rstrip()
            raise KitError(said, "Keep one of them.", USAGE)
        if lab in labs and line.override.points is not None:
            most = course.points_of(lab, line.rung) if line.rung else sum(course.points_of(lab, rung) for rung in labs[lab])
            if line.override.points > most:
                what = f"{lab} {line.rung}".rstrip()
                advice = "[points] in course.toml says how many there are."
                raise KitError(f"{where}: {line.override.points:g} points are more than {what} has ({most:g})", advice, USAGE)
        found[key] = line
    return {key: line.override for key, line in found.items() if key[1] in labs}


def labs_of_class(into: Path, course: Course, labs: Iterable[str]) -> set[str]:
    """Those that course.toml lists (or all that a machine can grade), those that were graded, and those given."""
    try:
        graded = set(json.loads((into / "index.json").read_text())["labs"])
    except (OSError, ValueError, KeyError, TypeError):
        graded = set()
    every = {path.name for path in (ROOT / "labs").glob("[0-9][0-9]_*") if path.is_dir()}
    listed = {lab for name in course.labs if (lab := lab_of_class(str(name), every)) is not None} if course.labs else every - set(BY_HAND)
    return listed | graded | set(labs)


def lab_of_class(name: str, every: Iterable[str]) -> str | None:
    """The one lab of these that a name, which may be short, means."""
    every = set(every)
    found = [lab for lab in every if lab == name] or [lab for lab in every if name and name in lab]
    return found[0] if len(found) == 1 else None


def all_marks(
    into: Path, course: Course, students: list[Student], labs: dict[str, tuple[str, ...]], pieces: dict[tuple[str, str], Piece]
) -> list[Mark]:
    """The marks of each student for each lab, in that order. `labs`: the rungs of each."""
    by_hand = overrides(into, course, students, labs)
    refused = collected.refusals(into)
    return [
        mark(into, course, student, lab, rungs, pieces.get((student.id, lab)), by_hand, refused)
        for student in students
        for lab, rungs in labs.items()
    ]


def mark(
    into: Path,
    course: Course,
    student: Student,
    lab: str,
    rungs: tuple[str, ...],
    piece: Piece | None,
    by_hand: dict,
    refused: dict[tuple[str, str], collected.RefusedFile] | None = None,
) -> Mark:
    """`refused`: by student and lab ("": it is not known which), what could not be read."""
    refused = refused or {}
    of_lab = refused.get((student.id, lab))
    most = sum(course.points_of(lab, rung) for rung in rungs)
    if lab in BY_HAND and (into / "submissions" / student.id / lab).is_dir():
        return marked_by_hand(Mark(student, lab, most, None, "by hand", BY_HAND[lab]), by_hand)
    if piece is None and (unread := of_lab or refused.get((student.id, ""))):
        made = Mark(student, lab, most, 0.0, "refused", unread.text, handed_in=bool(of_lab))
    elif piece is None:
        made = Mark(student, lab, most, 0.0, "missing", "nothing was handed in", handed_in=False)
    elif (result := piece.result) is None:
        failure = results.read(results.failure_place(into, lab, piece.key))
        made = Mark(
            student,
            lab,
            most,
            None,
            "not graded",
            failure["why"] if failure else "not graded yet: ./kit class grade",
            flags=(failure or {}).get("flags", []),
        )
    else:
        made = graded(into, course, student, lab, most, result)
    if piece is not None and of_lab and of_lab.kind != "claim":
        made.flags = [*made.flags, of_lab.text]
    made.machine = made.points
    return with_overrides(made, by_hand)


def graded(into: Path, course: Course, student: Student, lab: str, most: float, result: dict) -> Mark:
    made = Mark(student, lab, most, None, "graded", flags=result["flags"], unsafe=result["unsafe"])
    for rung in result["rungs"]:
        worth = course.points_of(lab, rung["name"])
        made.rungs.append(
            RungMark(rung["name"], rung["state"], rung["reason"], worth * course.credit_for(rung["state"]), worth, detail=rung)
        )
    handed_in = about(into, student.id, lab)
    made.flags = [*result["flags"], *handed_in.get("flags", [])]
    when = handed_in.get("time")
    made.days_late = course.days_late(student.id, lab, when)
    made.factor = course.late_factor(made.days_late)
    made.points = rounded(made.factor * sum(rung.points for rung in made.rungs))
    return made


def with_overrides(made: Mark, by_hand: dict[tuple[str, str, str], Override]) -> Mark:
    for rung in made.rungs:
        if override := by_hand.get((made.student.id, made.lab, rung.name)):
            if override.points is not None:
                rung.points, rung.by_hand = override.points, True
                made.points = rounded(made.factor * sum(each.points for each in made.rungs))
            if override.comment:
                made.comments.append(f"{rung.name}: {override.comment}")
    if override := by_hand.get((made.student.id, made.lab, "")):
        if override.points is not None:
            made.points = override.points
        if override.comment:
            made.comments.append(override.comment)
    return made


def marked_by_hand(made: Mark, by_hand: dict[tuple[str, str, str], Override]) -> Mark:
    """The instructor's points for the lab or, if there are none, the sum of those for its rungs."""
    of_rungs = [each.points for (student, lab, rung), each in by_hand.items() if (student, lab) == (made.student.id, made.lab) and rung]
    given = [points for points in of_rungs if points is not None]
    made = with_overrides(made, by_hand)
    made.comments += [
        f"{rung}: {each.comment}"
        for (student, lab, rung), each in by_hand.items()
        if (student, lab) == (made.student.id, made.lab) and rung and each.comment
    ]
    if made.points is None and given:
        made.points = rounded(sum(given))
    if made.points is not None:
        made.why = ""
    return made


def to_look_at(made: list[Mark], files: list[collected.RefusedFile]) -> list[collected.RefusedFile]:
    """Of the files that could not be read, those that may be all that a student handed in for some lab."""
    refused = {(mark.student.id, mark.lab) for mark in made if mark.state == "refused"}
    students = {student for student, _ in refused}
    return [
        each for each in files if each.kind != "claim" and ((each.student, each.lab) in refused if each.lab else each.student in students)
    ]


def about(into: Path, student: str, lab: str) -> dict:
    try:
        return json.loads((into / "submissions" / student / lab / "about.json").read_text())
    except (OSError, ValueError):
        return {}


def lab_named(name: str, labs: Iterable[str], option: str) -> str:
    """The one lab that a name means, which may be short: "09". `option`: where the name comes from."""
    known = sorted(labs)
    found = lab_of_class(name, known)
    if found is None:
        what = "several labs are called so" if any(name in lab for lab in known) else "no such lab"
        raise KitError(f"{option} {name}: {what}", "The labs: " + ", ".join(known), USAGE)
    return found


def labs_named(asked: list[str], labs: Iterable[str], otherwise: str = "no such lab") -> list[str]:
    """The labs that these names mean, which may be short; all labs if there are none."""
    known = list(labs)
    for name in asked:
        if not any(name in lab for lab in known):
            raise KitError(f"--lab {name}: {otherwise}", "The labs: " + ", ".join(known), USAGE)
    return [lab for lab in known if not asked or any(name in lab for name in asked)]


def rounded(points: float) -> float:
    return round(points + 1e-9, 2)
