"""The formats of marks: FORMATS has a row for each.

Canvas and Moodle take their own export, filled in: exports.py. Nothing that a student wrote becomes a formula (OWASP, "CSV Injection")."""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from xml.etree import ElementTree

from ..course.config import Course
from .marks import Mark, rounded

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


def as_csv(marks: list[Mark], course: Course) -> str:
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


def as_junit(marks: list[Mark], course: Course) -> str:
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


@dataclass(frozen=True)
class Format:
    name: str  # what --to takes
    holds: str  # what a file of it holds
    written: Callable[[list[Mark], Course], str] | None  # its text; None: the marks go into the system's own export


FORMATS = [
    Format("csv", "a row per student and a column per lab, with the total and remarks", as_csv),
    Format("canvas", "Canvas's own export, filled in", None),
    Format("moodle", "Moodle's own export, filled in", None),
    Format("nbgrader", "the columns of nbgrader export", as_nbgrader),
    Format("junit", "JUnit's XML, with a test per rung", as_junit),
    Format("json", "everything that is known about a mark", as_json),
]
