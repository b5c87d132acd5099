"""From results to marks: points by rung and state, deductions for lateness, and the instructor's own decisions."""

import csv
import json
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import USAGE, KitError
from . import results
from .config import Course
from .roster import Student
from .version import BY_HAND
from .work import Piece

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
    state: str  # "graded", "not graded", "missing", "by hand" (the lab is one that no machine grades)
    why: str = ""
    rungs: list[RungMark] = field(default_factory=list)
    days_late: int = 0
    factor: float = 1.0
    machine: float | None = None  # what the points would be without overrides
    comments: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    unsafe: bool = False

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


def overrides(into: Path) -> dict[tuple[str, str, str], Override]:
    """By student, lab and rung ("": the whole lab). The file is the instructor's: the kit only reads it, or creates it with a header row."""
    path = into / "overrides.csv"
    if not path.exists():
        into.mkdir(parents=True, exist_ok=True)
        path.write_text(",".join(COLUMNS) + "\n")
        return {}
    found = {}
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames is None or not set(COLUMNS[:2]) <= set(reader.fieldnames):
            raise KitError(f"{path}: its first line must name the columns", f"{','.join(COLUMNS)}", USAGE)
        for number, row in enumerate(reader, 2):
            text = (row.get("points") or "").strip()
            try:
                points = float(text) if text else None
            except ValueError:
                raise KitError(f"{path}, line {number}: {text} is not a number of points", code=USAGE) from None
            key = ((row.get("student") or "").strip(), (row.get("lab") or "").strip(), (row.get("rung") or "").strip())
            found[key] = Override(points, (row.get("comment") or "").strip())
    return found


def all_marks(
    into: Path, course: Course, students: list[Student], labs: dict[str, tuple[str, ...]], pieces: dict[tuple[str, str], Piece]
) -> list[Mark]:
    """The marks of each student for each lab, in that order. `labs`: the rungs of each."""
    by_hand = overrides(into)
    known = {student.id for student in students}
    for student, lab, rung in by_hand:
        if student not in known or lab not in labs or (rung and rung not in labs[lab]):
            advice = f"Without {lab} in labs in course.toml, it has no marks." if lab in BY_HAND else ""
            raise KitError(f"overrides.csv: there is no {student} {lab} {rung}".rstrip(), advice, USAGE)
    return [
        mark(into, course, student, lab, rungs, pieces.get((student.id, lab)), by_hand)
        for student in students
        for lab, rungs in labs.items()
    ]


def mark(into: Path, course: Course, student: Student, lab: str, rungs: tuple[str, ...], piece: Piece | None, by_hand: dict) -> Mark:
    most = sum(course.points_of(lab, rung) for rung in rungs)
    if lab in BY_HAND and (into / "submissions" / student.id / lab).is_dir():
        return marked_by_hand(Mark(student, lab, most, None, "by hand", BY_HAND[lab]), by_hand)
    if piece is None:
        made = Mark(student, lab, most, 0.0, "missing", "nothing was handed in")
    elif (result := piece.result) is None:
        failure = results.read(results.failure_place(into, lab, piece.key))
        made = Mark(
            student,
            lab,
            most,
            None,
            "not graded",
            failure["why"] if failure else "not graded yet: ./kit grade",
            flags=(failure or {}).get("flags", []),
        )
    else:
        made = graded(into, course, student, lab, most, result)
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


def about(into: Path, student: str, lab: str) -> dict:
    try:
        return json.loads((into / "submissions" / student / lab / "about.json").read_text())
    except (OSError, ValueError):
        return {}


def rounded(points: float) -> float:
    return round(points + 1e-9, 2)
