"""`kit class collect`: a class's submissions, sorted by student and lab or refused."""

import textwrap
from pathlib import Path

from kit.console import complain, say, width
from kit.errors import USAGE, KitError
from kit.process import relative

from ..collecting import collect, collected
from ..course import course_folder
from ..grading.results import write
from ..isolation import sandbox
from ..marking import marks

PURPOSE = "sort submissions by student and lab: a folder or zip file from Canvas, Moodle or Gradescope, or one folder or clone per student"
ORDER = 210


def arguments(parser) -> None:
    parser.add_argument(
        "source",
        type=Path,
        metavar="SOURCE",
        help="a folder with one folder per student, or a download from Canvas, Moodle or Gradescope",
    )
    parser.add_argument("--roster", type=Path, metavar="CSV", help="who is in the class (needed once; a copy is kept)")
    parser.add_argument("--lab", action="append", default=[], metavar="LAB", help="only this lab; may be repeated")
    course_folder.argument(parser)


def run(options) -> int:
    if not options.source.exists():
        raise KitError(f"{options.source}: there is no such file or folder", code=USAGE)
    every = course_folder.stubs()
    named = marks.labs_named(options.lab, [stub.name for stub in every])
    stubs = [stub for stub in every if stub.name in named]
    course = course_folder.open(options.folder, options.roster)
    room = sandbox.Sandbox() if not sandbox.why_not() else None
    report = collect.collect(options.source, stubs, course.roster, course.folder, room, every)
    before = collected.read(course.folder)
    now = collected.merged(before, report, course.folder, course.roster, [stub.name for stub in every])
    write(collected.place(course.folder), now)
    taken = sum(len(labs) for labs in report.taken.values())
    if not taken:
        say(f"{relative(options.source)}: no file there belongs to a lab")
    for collision in report.collisions:
        complain(KitError(collision))
    say(f"{taken} files from {len(report.taken)} students are in {relative(course.folder / 'submissions')}")
    refused = collected.first_to_look_at(report.refused)
    show(
        "named as another student's, so refused",
        [f"{each.listed} (handed in by {each.student})" for each in refused if each.kind == "claim"],
    )
    show("refused", [each.listed for each in refused if each.kind != "claim"])
    show("ignored, as nothing reads such files", [each.listed for each in collected.first_to_look_at(report.ignored)])
    earlier = [each for each in collected.files(now["refused"]) if each not in report.refused and each not in report.remembered]
    show(
        "refused earlier, and not replaced since",
        [
            f"{each.listed} ({' '.join(filter(None, (each.student, each.lab)))})"
            for each in earlier
            if still_matters(each, course.folder, now["missing"])
        ],
    )
    show("several of one name", report.namesakes)
    show("handed in more than once", report.duplicates)
    show("not in the roster", report.strangers)
    show("late, according to the system they come from", report.late)
    show("changed after the last commit", report.uncommitted)
    show("taken, with a remark", report.remarks)
    for lab in report.missing:
        name(f"students without a submission for {lab}", now["missing"].get(lab, []))
    return 0 if taken and not report.collisions else 1


def still_matters(each: collected.RefusedFile, into: Path, missing: dict[str, list[str]]) -> bool:
    """Not if everything else of that student has come in since."""
    came = (into / "submissions" / each.student).is_dir()
    return bool(each.student) and (bool(each.lab) or not came or any(each.student in absent for absent in missing.values()))


def show(title: str, lines: list[str]) -> None:
    if lines:
        print(f"{title} ({len(lines)}):")
        print("\n".join(f"  {collect.shown(line)}" for line in lines))


def name(title: str, students: list[str]) -> None:
    """Many short names, side by side."""
    if students:
        print(f"{title} ({len(students)}):")
        print(textwrap.fill(", ".join(students), min(width(), 120), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False))
