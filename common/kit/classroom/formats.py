"""Marks in other formats: CSV, Canvas, Moodle, nbgrader, JUnit, JSON.

For Canvas and Moodle the instructor's own export is filled in: no column is added, and a cell is written only if there is a
mark for it. Nothing that a student wrote becomes a formula (OWASP, "CSV Injection")."""

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

from ..errors import USAGE, KitError
from .config import Course
from .marks import Mark, rounded
from .roster import Roster, squashed

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def number(points: float | None) -> str:
    return "" if points is None else f"{points:g}"


def plain(text: str) -> str:
    """A cell that a spreadsheet treats as text."""
    text = "".join(character if character.isprintable() else " " for character in text)
    return "'" + text if text.startswith(FORMULA) else text


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


def filled_in(path: Path, marks: list[Mark], roster: Roster, columns: dict[str, str], kind: str) -> tuple[str, list[str]]:
    """The export with the marks filled in, and messages about what could not be written."""
    try:
        data = path.read_bytes().decode("utf-8-sig")
        bom = path.read_bytes().startswith(b"\xef\xbb\xbf")
    except (OSError, UnicodeDecodeError) as error:
        raise KitError(f"{path}: {error}", code=USAGE) from error
    rows = list(csv.reader(io.StringIO(data, newline="")))
    if len(rows) < 2:
        raise KitError(f"{path}: it contains no students", code=USAGE)
    heading = rows[0]
    labs = list(dict.fromkeys(mark.lab for mark in marks))
    places = {lab: column_of(heading, lab, columns, kind, len(labs)) for lab in labs}
    comments = (
        next((index for index, name in enumerate(heading) if name.strip().casefold() == "feedback comments"), None)
        if kind == "moodle" and len(labs) == 1
        else None
    )
    locked = next((index for index, name in enumerate(heading) if name.strip().casefold() == "grade can be changed"), None)
    of_student, problems, met = by_student(marks), [], set()
    missing: dict[str, int] = dict.fromkeys(labs, 0)
    for row in rows[1:]:
        student = who(heading, row, roster)
        if student is None:
            if kind == "canvas" and (
                "Points Possible" in row[0] or row[0].strip() in ("", "Student, Test") or row[0].strip().startswith("Points")
            ):
                continue
            problems.append(f"not a student of this class: {row[0][:80]}")
            continue
        met.add(student)
        for lab, place in places.items():
            mark = of_student.get(student, {}).get(lab)
            if mark is None or (mark.state == "missing" and mark.points == 0):
                missing[lab] += mark is not None
                continue
            if mark.points is None:
                problems.append(f"{student} {lab}: {mark.why or mark.state}; the cell stays as it is")
                continue
            if locked is not None and row[locked].strip().casefold() in ("no", "0"):
                problems.append(f"{student} {lab}: the grade is locked")
                continue
            row[place] = number(mark.points)
            if comments is not None and mark.note:
                row[comments] = plain(mark.note)
    problems += [f"{lab}: {count} handed in nothing; their cells stay as they are" for lab, count in missing.items() if count]
    problems += [f"{student} is not in {path.name}" for student in of_student if student not in met]
    return table(rows, bom, "\r\n" in data), problems


def column_of(heading: list[str], lab: str, columns: dict[str, str], kind: str, labs: int) -> int:
    """The column of a lab: the one that --column gives, or found by its name: "02_tree (1234)", "Lab 02", "Assignment: Tree (Real)"."""
    if lab in columns:
        matches = [index for index, name in enumerate(heading) if name.strip() == columns[lab]]
    else:
        if kind == "moodle" and labs == 1 and "Grade" in heading:
            return heading.index("Grade")
        digits, _, words = lab.partition("_")
        wanted = (squashed(lab), squashed(f"lab{digits}"), squashed(f"lab{int(digits)}"), squashed(words))
        bare = [squashed(re.sub(r"\(.*?\)", "", name)) for name in heading]
        matches = next((found for each in wanted if (found := [index for index, name in enumerate(bare) if name == each])), [])
        matches = matches or [index for index, name in enumerate(bare) if squashed(lab) in name]
    if len(matches) != 1:
        what = "no column" if not matches else "several columns"
        raise KitError(f"{what} for {lab}", f"Say which: --column {lab}=NAME. The columns: {', '.join(heading)}", USAGE)
    return matches[0]


def who(heading: list[str], row: list[str], roster: Roster) -> str | None:
    names = {name.strip().casefold(): value.strip() for name, value in zip(heading, row, strict=False)}
    order = ("sis user id", "sis login id", "id", "identifier", "email address", "email", "username", "student", "full name")
    values = [re.sub(r"^Participant ", "", names[key]) for key in order if names.get(key)]
    first, last = names.get("first name", ""), names.get("surname", "") or names.get("last name", "")
    found = roster.find(*values, f"{first} {last}")
    return found.id if found else None
