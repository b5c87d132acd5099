"""Marks in other formats: CSV, Canvas, Moodle, nbgrader, JUnit, JSON.

For Canvas and Moodle the instructor's own export is filled in: no column is added, and a cell is written only if there is a
mark for it. Nothing that a student wrote becomes a formula (OWASP, "CSV Injection")."""

import csv
import io
import json
import re
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

from ..errors import USAGE, KitError
from . import spreadsheet
from .archive import shown
from .config import Course
from .marks import Mark, rounded
from .roster import NUMBERS, Roster, is_identifying, names_of, squashed

FORMULA = ("=", "+", "-", "@")  # after what a spreadsheet drops, and in the wide form that Japanese and Chinese ones take for the same


def number(points: float | None) -> str:
    return "" if points is None else f"{points:g}"


def plain(text: str) -> str:
    """A cell that a spreadsheet treats as text."""
    text = "".join(character if character.isprintable() else " " for character in text)
    return "'" + text if unicodedata.normalize("NFKC", text).lstrip().startswith(FORMULA) else text


def table(rows: list[list[str]], bom: bool = False, crlf: bool = False) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n" if crlf else "\n").writerows(rows)
    return ("\ufeff" if bom else "") + out.getvalue()


def by_student(marks: list[Mark]) -> dict[str, dict[str, Mark]]:
    found: dict[str, dict[str, Mark]] = {}
    for mark in marks:
        found.setdefault(mark.student.id, {})[mark.lab] = mark
    return found


def as_csv(marks: list[Mark]) -> str:
    labs = list(dict.fromkeys(mark.lab for mark in marks))
    rows = [["student", "name", *labs, "total", "notes"]]
    for student, of in by_student(marks).items():
        any_mark = next(iter(of.values()))
        whole = all(mark.points is not None for mark in of.values())
        total = number(rounded(sum(mark.points for mark in of.values()))) if whole else ""
        notes = " | ".join(f"{mark.lab}: {mark.note}" for mark in of.values() if mark.note)
        rows.append([plain(student), plain(any_mark.student.name), *(number(mark.points) for mark in of.values()), total, plain(notes)])
    return table(rows)


def as_json(marks: list[Mark], course: Course) -> str:
    return json.dumps({"title": course.title, "marks": [one_as_json(mark) for mark in marks]}, indent=1) + "\n"


def one_as_json(mark: Mark) -> dict:
    return {
        "student": mark.student.id, "name": mark.student.name, "lab": mark.lab, "state": mark.state, "why": mark.why, "points": mark.points,
        "machine_points": mark.machine, "most": mark.most, "days_late": mark.days_late, "late_factor": mark.factor, "unsafe": mark.unsafe,
        "comments": mark.comments, "flags": mark.flags,
        "rungs": [{"name": rung.name, "state": rung.state, "reason": rung.reason, "points": rung.points, "most": rung.most, "by_hand": rung.by_hand} for rung in mark.rungs],
    }  # fmt: skip


def as_nbgrader(marks: list[Mark], course: Course) -> str:
    """The columns of `nbgrader export`."""
    rows = [
        [
            "assignment",
            "duedate",
            "timestamp",
            "student_id",
            "last_name",
            "first_name",
            "email",
            "raw_score",
            "late_submission_penalty",
            "score",
            "max_score",
        ]
    ]
    for mark in marks:
        first, _, last = mark.student.name.rpartition(" ")
        raw = rounded(sum(rung.points for rung in mark.rungs)) if mark.rungs else mark.points
        penalty = None if raw is None or mark.points is None else rounded(max(0.0, raw - mark.points))
        due = course.due[mark.lab].isoformat() if mark.lab in course.due else ""
        rows.append(
            [
                mark.lab,
                due,
                "",
                *map(plain, (mark.student.id, last, first, mark.student.fields.get("email", ""))),
                number(raw),
                number(penalty),
                number(mark.points),
                number(mark.most),
            ]
        )
    return table(rows)


def as_junit(marks: list[Mark]) -> str:
    root = ElementTree.Element("testsuites")
    for mark in marks:
        suite = ElementTree.SubElement(
            root, "testsuite", name=xml_text(f"{mark.student.id} {mark.lab}"), tests=str(max(1, len(mark.rungs)))
        )
        if not mark.rungs:
            case = ElementTree.SubElement(suite, "testcase", classname=xml_text(mark.student.id), name=mark.lab)
            kind = "skipped" if mark.state in ("missing", "by hand") else "error"
            ElementTree.SubElement(case, kind, message=xml_text(mark.why or mark.state))
        for rung in mark.rungs:
            case = ElementTree.SubElement(suite, "testcase", classname=xml_text(f"{mark.student.id}.{mark.lab}"), name=rung.name)
            if rung.state in ("todo", "skip"):
                ElementTree.SubElement(case, "skipped", message=xml_text(rung.reason))
            elif rung.state != "pass":
                ElementTree.SubElement(case, "failure", type=rung.state, message=xml_text(rung.reason))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def xml_text(text: str) -> str:
    """Without the characters that XML 1.0 cannot represent."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)


# ---- the instructor's own export


# How the columns are called that say who a row is about. Those of NAMED are not unique; all others are.
IDENTIFYING = {"sis user id", "sis login id", "id", "id number", "identifier", "email address", "email", "username"}
NAMED = {"student", "full name", "first name", "surname", "last name"}
EMAIL = {"email", "email address"}


def filled_in(path: Path, marks: list[Mark], roster: Roster, columns: dict[str, str], kind: str) -> tuple[str, list[str]]:
    """The export with the marks filled in, and messages about what could not be written."""
    sheet = spreadsheet.read(path, (*IDENTIFYING, *NAMED))
    heading = sheet.heading
    if not set(sheet.names) & (IDENTIFYING | NAMED):
        told = "SIS User ID, SIS Login ID, ID or Student" if kind == "canvas" else "Identifier, Full name or Email address"
        advice = f"The first line of an export names them: {told}. In this file it is: {shown(', '.join(heading))}"
        raise KitError(f"{path}: it has no column that says who the rows are about", advice, USAGE)
    if not sheet.rows:
        raise KitError(f"{path}: it contains no students", code=USAGE)
    for row in sheet.rows:
        row += [""] * (len(heading) - len(row) if row else 0)
    labs = list(dict.fromkeys(mark.lab for mark in marks))
    places = columns_of(heading, labs, columns, kind)
    comments = (
        sheet.names.index("feedback comments") if kind == "moodle" and len(labs) == 1 and "feedback comments" in sheet.names else None
    )
    locked = sheet.names.index("grade can be changed") if "grade can be changed" in sheet.names else None
    written = (lambda points: number(points).replace(".", ",")) if sheet.decimal_comma else number
    of_student = by_student(marks)
    problems = [
        f"{lab}: left out, as {path.name} has no column for it (--column {lab}=NAME names one)" for lab in labs if lab not in places
    ]
    students, doubts = assigned(sheet, roster, kind)
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


def columns_of(heading: list[str], labs: list[str], columns: dict[str, str], kind: str) -> dict[str, int]:
    """The column of each lab that has one."""
    found = {lab: place for lab in labs if (place := column_of(heading, lab, columns, kind, len(labs))) is not None}
    if labs and not found:
        advice = f"Say which: --column {labs[0]}=NAME, or ask for one lab (--lab). The columns: {', '.join(heading)}"
        raise KitError(f"no column for {', '.join(labs)}", advice, USAGE)
    for lab, place in found.items():
        if others := [other for other in found if other != lab and found[other] == place]:
            advice = f"Say which is whose: --column {lab}=NAME. The columns: {', '.join(heading)}"
            raise KitError(f'the column "{heading[place]}" would be that of {lab} and of {others[0]}', advice, USAGE)
    return found


def column_of(heading: list[str], lab: str, columns: dict[str, str], kind: str, labs: int) -> int | None:
    """The column of a lab: the one that --column gives, or found by its name: "02_tree (1234)", "Lab 02", "Assignment: Tree (Real)"."""
    if lab in columns:
        matches = [index for index, name in enumerate(heading) if name.strip() == columns[lab].strip()]
        if not matches:
            raise KitError(
                f'--column {lab}={columns[lab]}: there is no column "{columns[lab]}"', f"The columns: {', '.join(heading)}", USAGE
            )
    else:
        if kind == "moodle" and labs == 1 and "Grade" in heading:
            return heading.index("Grade")
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


def assigned(sheet: spreadsheet.Sheet, roster: Roster, kind: str) -> tuple[list[str | None], list[str]]:
    """For each row its student, or None; and why some rows have none. An id, a login or an e-mail address decides. A name does only if
    no other student and no other row has it, and if nothing else in the row contradicts it."""
    owners = owners_of_identifiers(roster)
    same = same_kind(sheet, roster, kind)
    named = [students_named(sheet, row, roster) for row in sheet.rows]
    found: list[str | None] = []
    reasons: list[str] = []
    for index, row in enumerate(sheet.rows):
        who, why = whose(sheet, row, owners, kind), ""
        if len(who) > 1:
            why = f"its ids belong to different students ({', '.join(sorted(who))})"
        elif (
            who and not who & named[index] and (told := contradiction(sheet, row, roster.students[min(who)].fields | {"": min(who)}, same))
        ):
            why = f"by one id it would be {min(who)}'s, but the name is another and {told}"
        elif not who and (who := named[index]):
            student = min(who)
            others = sum(bool(each & who) for each in named) - 1
            if len(who) > 1:
                why = f"several students have this name ({', '.join(sorted(who))}), and no id or e-mail address tells them apart"
            elif told := contradiction(sheet, row, roster.students[student].fields | {"": student}, same):
                why = f"by its name it would be {student}'s, but {told}"
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
        if why and any(row) and not (kind == "canvas" and is_no_student(row))
    ]
    return found, listed


def is_no_student(row: list[str]) -> bool:
    """A line that Canvas itself adds."""
    first = row[0].strip()
    return first in ("", "Student, Test") or first.startswith("Points") or "Points Possible" in first


def cells_of(sheet: spreadsheet.Sheet, row: list[str], columns: set[str]) -> dict[str, str]:
    return {name: value.strip() for name, value in zip(sheet.names, row, strict=False) if name in columns and value.strip()}


def identifiers(sheet: spreadsheet.Sheet, row: list[str]) -> dict[str, str]:
    return {name: squashed(re.sub(r"^Participant ", "", value)) for name, value in cells_of(sheet, row, IDENTIFYING).items()}


def comparable(theirs: str, ours: str, kind: str) -> bool:
    """Moodle's numbers of participants have nothing to do with the numbers that Canvas gives."""
    others = {column for system, columns in NUMBERS.items() if system != kind for column in columns}
    return ours not in others and not (ours in NUMBERS["canvas"] and theirs not in ("id", "identifier"))


def owners_of_identifiers(roster: Roster) -> dict[str, dict[str, set[str]]]:
    """By column of the roster ("": the student's id) and value: the students who have it."""
    owners: dict[str, dict[str, set[str]]] = {}
    for student in roster.students.values():
        for column, value in (student.fields | {"": student.id}).items():
            if is_identifying(column) and squashed(value):
                owners.setdefault(column, {}).setdefault(squashed(value), set()).add(student.id)
    return owners


def whose(sheet: spreadsheet.Sheet, row: list[str], owners: dict[str, dict[str, set[str]]], kind: str) -> set[str]:
    """The students to whom an id, a login or an e-mail address of this row belongs, if it belongs to only one."""
    found = set()
    for theirs, value in identifiers(sheet, row).items():
        for ours, students in owners.items():
            if comparable(theirs, ours, kind) and len(students.get(value, ())) == 1:
                found |= students[value]
    return found


def students_named(sheet: spreadsheet.Sheet, row: list[str], roster: Roster) -> set[str]:
    cells = cells_of(sheet, row, NAMED)
    last = cells.get("surname", "") or cells.get("last name", "")
    names = {squashed(name) for name in (cells.get("student", ""), cells.get("full name", ""), f"{cells.get('first name', '')} {last}")}
    return {student.id for student in roster.students.values() if (names - {""}) & names_of(student)}


def same_kind(sheet: spreadsheet.Sheet, roster: Roster, kind: str) -> set[tuple[str, str]]:
    """Pairs of a column of the export and one of the roster that hold the same kind of value: by their names, or because they have a
    value in common."""
    owners = owners_of_identifiers(roster)
    rows = [identifiers(sheet, row) for row in sheet.rows]
    pairs = set()
    for theirs in IDENTIFYING & set(sheet.names):
        values = {row[theirs] for row in rows if theirs in row}
        for ours in owners:
            by_name = (theirs in EMAIL and ours in EMAIL) or (theirs == ours != "id") or (theirs == "id" and ours in NUMBERS["canvas"])
            if comparable(theirs, ours, kind) and (by_name or values & set(owners[ours])):
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
