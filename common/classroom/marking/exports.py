"""Marks written into the export of Canvas or Moodle: no column is added, and a cell is written only if there is a mark for it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kit.errors import USAGE, KitError

from ..course.roster import NUMBERS, Roster, is_identifying, names_of, squashed
from ..submission import spreadsheet
from ..submission.archive import shown
from .formats import by_student, number, plain
from .marks import Mark

# How the columns are called that say who a row is about. Those of NAMED are not unique; all others are.
IDENTIFYING = {"sis user id", "sis login id", "id", "id number", "identifier", "email address", "email", "username"}
NAMED = {"student", "full name", "first name", "surname", "last name"}
EMAIL = {"email", "email address"}


def is_no_student(row: list[str]) -> bool:
    """A line that Canvas itself adds."""
    first = row[0].strip()
    return first in ("", "Student, Test") or first.startswith("Points") or "Points Possible" in first


@dataclass(frozen=True)
class System:
    name: str
    columns: str  # that say whose a row is, as the system writes them
    grade: str | None = None  # in an export of one assignment: the column of the marks,
    comments: str | None = None  # and that of the feedback
    adds: Callable[[list[str]], bool] = lambda row: False  # whether a row is the system's own, and nobody's


SYSTEMS = {
    "canvas": System("canvas", "SIS User ID, SIS Login ID, ID or Student", adds=is_no_student),
    "moodle": System("moodle", "Identifier, Full name or Email address", grade="Grade", comments="feedback comments"),
}


def filled_in(path: Path, marks: list[Mark], roster: Roster, columns: dict[str, str], system: System) -> tuple[str, list[str]]:
    """The export with the marks filled in, and messages about what could not be written."""
    sheet = spreadsheet.read(path, (*IDENTIFYING, *NAMED))
    heading = sheet.heading
    if not set(sheet.names) & (IDENTIFYING | NAMED):
        advice = f"The first line of an export names them: {system.columns}. In this file it is: {shown(', '.join(heading))}"
        raise KitError(f"{path}: it has no column that says who the rows are about", advice, USAGE)
    if not sheet.rows:
        raise KitError(f"{path}: it contains no students", code=USAGE)
    for row in sheet.rows:
        row += [""] * (len(heading) - len(row) if row else 0)
    labs = list(dict.fromkeys(mark.lab for mark in marks))
    places = columns_of(heading, labs, columns, system)
    comments = sheet.names.index(system.comments) if len(labs) == 1 and system.comments in sheet.names else None
    locked = sheet.names.index("grade can be changed") if "grade can be changed" in sheet.names else None
    written = (lambda points: number(points).replace(".", ",")) if sheet.decimal_comma else number
    of_student = by_student(marks)
    problems = [
        f"{lab}: left out, as {path.name} has no column for it (--column {lab}=NAME names one)" for lab in labs if lab not in places
    ]
    students, doubts = assigned(sheet, roster, system)
    problems += doubts
    missing: dict[str, int] = dict.fromkeys(places, 0)
    left: dict[tuple[str, str], list[str]] = {}  # by student and reason: the labs
    for row, student in zip(sheet.rows, students, strict=True):
        if student is None:
            continue
        for lab, place in places.items():
            mark = of_student.get(student, {}).get(lab)
            if mark is None or (mark.state == "missing" and mark.points == 0):
                missing[lab] += mark is not None
                continue
            if mark.points is None or (mark.state == "refused" and mark.points == 0):
                left.setdefault((student, mark.why or mark.state), []).append(lab)
                continue
            if locked is not None and row[locked].strip().casefold() in ("no", "0"):
                problems.append(f"{student} {lab}: the grade is locked")
                continue
            row[place] = written(mark.points)
            if comments is not None and mark.note:
                row[comments] = plain(mark.note)
    problems += [f"{student} {', '.join(of)}: {why}; the cell stays as it is" for (student, why), of in left.items()]
    problems += [f"{lab}: {count} handed in nothing; their cells stay as they are" for lab, count in missing.items() if count]
    problems += [f"{student} has no row in {path.name} that is surely theirs" for student in of_student if student not in students]
    return sheet.text(), problems


def columns_of(heading: list[str], labs: list[str], columns: dict[str, str], system: System) -> dict[str, int]:
    """The column of each lab that has one."""
    found = {lab: place for lab in labs if (place := column_of(heading, lab, columns, system, len(labs))) is not None}
    if labs and not found:
        advice = f"Say which: --column {labs[0]}=NAME, or ask for one lab (--lab). The columns: {', '.join(heading)}"
        raise KitError(f"no column for {', '.join(labs)}", advice, USAGE)
    for lab, place in found.items():
        if others := [other for other in found if other != lab and found[other] == place]:
            advice = f"Say which is whose: --column {lab}=NAME. The columns: {', '.join(heading)}"
            raise KitError(f'the column "{heading[place]}" would be that of {lab} and of {others[0]}', advice, USAGE)
    return found


def column_of(heading: list[str], lab: str, columns: dict[str, str], system: System, labs: int) -> int | None:
    """The column of a lab: the one that --column gives, or found by its name: "02_tree (1234)", "Lab 02", "Assignment: Tree (Real)"."""
    if lab in columns:
        matches = [index for index, name in enumerate(heading) if name.strip() == columns[lab].strip()]
        if not matches:
            raise KitError(
                f'--column {lab}={columns[lab]}: there is no column "{columns[lab]}"', f"The columns: {', '.join(heading)}", USAGE
            )
    else:
        if labs == 1 and system.grade in heading:
            return heading.index(system.grade)
        digits, _, words = lab.partition("_")
        wanted = (squashed(lab), squashed(f"lab{digits}"), squashed(f"lab{int(digits)}"), squashed(words))
        bare = [squashed(re.sub(r"\(.*?\)|^\s*Assignment:", "", name)) for name in heading]
        matches = next((found for each in wanted if (found := [index for index, name in enumerate(bare) if name == each])), [])
        matches = matches or [index for index, name in enumerate(bare) if squashed(lab) in name]
    if len(matches) > 1:
        several = ", ".join(f'"{heading[index]}"' for index in matches)
        raise KitError(f"several columns for {lab}: {several}", f"Say which: --column {lab}=NAME, with its whole name", USAGE)
    return matches[0] if matches else None


# ---- whose row it is


def assigned(sheet: spreadsheet.Sheet, roster: Roster, system: System) -> tuple[list[str | None], list[str]]:
    """For each row its student, or None; and why some rows have none. An id, a login or an e-mail address decides. A name does only if
    no other student and no other row has it, and if nothing else in the row contradicts it."""
    owners = owners_of_identifiers(roster)
    same = same_kind(sheet, roster, system)
    named = [students_named(sheet, row, roster) for row in sheet.rows]
    found: list[str | None] = []
    reasons: list[str] = []
    for index, row in enumerate(sheet.rows):
        who, why = whose(sheet, row, owners, system), ""
        if len(who) > 1:
            why = f"its ids belong to different students ({', '.join(sorted(who))})"
        elif (
            who
            and not who & named[index]
            and (conflict := contradiction(sheet, row, roster.students[min(who)].fields | {"": min(who)}, same))
        ):
            why = f"by one id it would be {min(who)}'s, but the name is another and {conflict}"
        elif not who and (who := named[index]):
            student = min(who)
            others = sum(bool(each & who) for each in named) - 1
            if len(who) > 1:
                why = f"several students have this name ({', '.join(sorted(who))}), and no id or e-mail address tells them apart"
            elif conflict := contradiction(sheet, row, roster.students[student].fields | {"": student}, same):
                why = f"by its name it would be {student}'s, but {conflict}"
            elif others:
                why = f"by its name it would be {student}'s, but {others + 1} rows have this name"
        elif not who:
            why = "not a student of this class"
        found.append(None if why else min(who))
        reasons.append(why)
    for student in {each for each in found if each is not None and found.count(each) > 1}:
        for index in [index for index, each in enumerate(found) if each == student]:
            found[index], reasons[index] = None, f"several rows are {student}'s"
    listed = [
        f"not filled in: {label(sheet, row)} (line {line}): {why}"
        for row, line, why in zip(sheet.rows, sheet.lines, reasons, strict=True)
        if why and any(row) and not system.adds(row)
    ]
    return found, listed


def cells_of(sheet: spreadsheet.Sheet, row: list[str], columns: set[str]) -> dict[str, str]:
    return {name: value.strip() for name, value in zip(sheet.names, row, strict=False) if name in columns and value.strip()}


def identifiers(sheet: spreadsheet.Sheet, row: list[str]) -> dict[str, str]:
    return {name: squashed(re.sub(r"^Participant ", "", value)) for name, value in cells_of(sheet, row, IDENTIFYING).items()}


def comparable(theirs: str, ours: str, system: System) -> bool:
    """Moodle's numbers of participants have nothing to do with the numbers that Canvas gives."""
    others = {column for name, columns in NUMBERS.items() if name != system.name for column in columns}
    return ours not in others and not (ours in NUMBERS["canvas"] and theirs not in ("id", "identifier"))


def owners_of_identifiers(roster: Roster) -> dict[str, dict[str, set[str]]]:
    """By column of the roster ("": the student's id) and value: the students who have it."""
    owners: dict[str, dict[str, set[str]]] = {}
    for student in roster.students.values():
        for column, value in (student.fields | {"": student.id}).items():
            if is_identifying(column) and squashed(value):
                owners.setdefault(column, {}).setdefault(squashed(value), set()).add(student.id)
    return owners


def whose(sheet: spreadsheet.Sheet, row: list[str], owners: dict[str, dict[str, set[str]]], system: System) -> set[str]:
    """The students to whom an id, a login or an e-mail address of this row belongs, if it belongs to only one."""
    found = set()
    for theirs, value in identifiers(sheet, row).items():
        for ours, students in owners.items():
            if comparable(theirs, ours, system) and len(students.get(value, ())) == 1:
                found |= students[value]
    return found


def students_named(sheet: spreadsheet.Sheet, row: list[str], roster: Roster) -> set[str]:
    cells = cells_of(sheet, row, NAMED)
    last = cells.get("surname", "") or cells.get("last name", "")
    names = {squashed(name) for name in (cells.get("student", ""), cells.get("full name", ""), f"{cells.get('first name', '')} {last}")}
    return {student.id for student in roster.students.values() if (names - {""}) & names_of(student)}


def same_kind(sheet: spreadsheet.Sheet, roster: Roster, system: System) -> set[tuple[str, str]]:
    """Pairs of a column of the export and one of the roster that hold the same kind of value: by their names, or because they have a
    value in common."""
    owners = owners_of_identifiers(roster)
    rows = [identifiers(sheet, row) for row in sheet.rows]
    pairs = set()
    for theirs in IDENTIFYING & set(sheet.names):
        values = {row[theirs] for row in rows if theirs in row}
        for ours in owners:
            by_name = (theirs in EMAIL and ours in EMAIL) or (theirs == ours != "id") or (theirs == "id" and ours in NUMBERS["canvas"])
            if comparable(theirs, ours, system) and (by_name or values & set(owners[ours])):
                pairs.add((theirs, ours))
    return pairs


def contradiction(sheet: spreadsheet.Sheet, row: list[str], fields: dict[str, str], same: set[tuple[str, str]]) -> str:
    """What in this row is another than in the roster; "" if nothing is."""
    shown_values, values = cells_of(sheet, row, IDENTIFYING), identifiers(sheet, row)
    for theirs, ours in sorted(same):
        if theirs in values and squashed(fields.get(ours, "")) not in ("", values[theirs]):
            return f"{theirs} is {shown(shown_values[theirs])}, and {shown(fields[ours])} in the roster"
    return ""


def label(sheet: spreadsheet.Sheet, row: list[str]) -> str:
    cells = cells_of(sheet, row, NAMED)
    last = cells.get("surname", "") or cells.get("last name", "")
    name = cells.get("student") or cells.get("full name") or f"{cells.get('first name', '')} {last}".strip()
    return shown((name or next((cell for cell in row if cell.strip()), "an empty row"))[:80])
