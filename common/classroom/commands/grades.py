"""`kit class grades`: marks in the format that a university's system accepts."""

from pathlib import Path

from kit.console import say
from kit.errors import USAGE, KitError
from kit.process import relative

from ..collecting.collect import students_in
from ..course import course_folder
from ..course.roster import Roster
from ..grading import index
from ..marking import exports, marks
from ..marking.formats import FORMATS

PURPOSE = "write the marks in the format that a university's system accepts"
ORDER = 230


def arguments(parser) -> None:
    formats = "; ".join(f"{each.name}: {each.holds}" for each in FORMATS)
    parser.add_argument("--to", required=True, choices=[each.name for each in FORMATS], help=f"the format ({formats})")
    course_folder.argument(parser)
    parser.add_argument("--export", type=Path, metavar="CSV", help="Canvas, Moodle: the file that you exported there, to be filled in")
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="LAB=NAME",
        help="Canvas, Moodle: the column of a lab, if its name does not identify it",
    )
    parser.add_argument("--lab", action="append", default=[], metavar="LAB", help="only this lab; may be repeated")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the file to write (standard output)")


def run(options) -> int:
    course = course_folder.collected(options.folder)
    labs, pieces = index.read(course.folder)
    labs = {lab: labs[lab] for lab in marks.labs_named(options.lab, labs, "no such lab has been graded")}
    students = students_in(course.folder, course.roster)
    made = marks.all_marks(course.folder, course.config, students, labs, pieces)
    text, problems = written(options, course, made, course.roster if course.roster.students else Roster(students))
    if options.out:
        options.out.write_text(text, "utf-8", newline="")
        say(f"wrote {relative(options.out)}")
    else:
        print(text, end="")
    for problem in problems:
        say(problem)
    return 0


def columns_given(given: list[str], labs: list[str]) -> dict[str, str]:
    """What --column says, by lab."""
    columns: dict[str, str] = {}
    for each in given:
        name, equals, column = each.partition("=")
        if not equals or not name.strip() or not column.strip():
            raise KitError(f"--column {each}: write it as LAB=NAME", 'For example: --column 09="Homework 9 (1234)".', USAGE)
        lab = marks.lab_named(name.strip(), labs, "--column")
        if lab in columns:
            raise KitError(f"--column {each}: the column of {lab} is given twice", code=USAGE)
        columns[lab] = column
    return columns


def written(options, course, made, roster) -> tuple[str, list[str]]:
    text_of = next(each.written for each in FORMATS if each.name == options.to)
    if text_of:
        return text_of(made, course.config), []
    if options.export is None:
        raise KitError(
            f"--to {options.to} fills in your own export",
            f"Export the grades there, then: --export FILE.csv --out {options.to}.csv",
            USAGE,
        )
    columns = columns_given(options.column, list(dict.fromkeys(mark.lab for mark in made)))
    return exports.filled_in(options.export, made, roster, columns, exports.SYSTEMS[options.to])
