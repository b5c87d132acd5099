"""`kit class grade`: grades the collected submissions in the sandbox, on all processors or on Slurm."""

from kit.console import paint, say
from kit.errors import USAGE, KitError
from kit.process import relative
from kit.table import Table

from ..collecting import collected
from ..collecting.collect import students_in
from ..course import config, course_folder, version
from ..course.roster import Student
from ..grading import engine, grader, index, work
from ..isolation import gpus, sandbox
from ..marking import marks

PURPOSE = "grade the collected submissions in a sandbox, with hidden sizes, several at a time"
ORDER = 220


def arguments(parser) -> None:
    course_folder.argument(parser)
    parser.add_argument("--lab", action="append", default=[], metavar="LAB", help="only this lab; may be repeated")
    parser.add_argument("--student", action="append", default=[], metavar="ID", help="only this student; may be repeated")
    parser.add_argument(
        "--device",
        choices=grader.DEVICES,
        default=grader.EMULATOR,
        help="gpu: what passes on the emulator must be right on a GPU too (emulator)",
    )
    parser.add_argument("--unsafe", action="store_true", help="grade without a sandbox if none works here; every mark says so")
    parser.add_argument("--again", action="store_true", help="try once more what the grader itself failed on")
    parser.add_argument("--here", action="store_true", help="one after another in this process, without Parsl")


def run(options) -> int:
    course = course_folder.collected(options.folder)
    students = students_in(course.folder, course.roster)
    chosen = chosen_of(students, options.student)
    if options.device == grader.GPU and course.config.engine.get("kind", "local") == "local":
        gpus.require()  # a cluster's jobs have GPUs that this machine need not have
    room = sandbox.require(options.unsafe)
    if not options.here:
        engine.in_own_environment()
    labs = course_folder.labs_of(course, options.lab)
    with course_folder.locked(course):
        pieces = work.pieces(course.folder, chosen, labs, config.hidden(course.folder, course.config), room.unsafe, options.device)
        to_do = {piece.key: piece for piece in pieces.values() if piece.result is None and (options.again or not piece.is_given_up)}
        say(how_many(pieces, len(chosen)))
        settings = {"kind": "here"} if options.here else course.config.engine
        engine.run(list(to_do.values()), course.folder, settings)
        write_index(course, labs, pieces)
    rungs = {lab.name: lab.rungs for lab in labs} | ({} if options.lab else course_folder.by_hand(course))
    made = [mark for mark in marks.all_marks(course.folder, course.config, students, rungs, pieces) if mark.student.id in chosen]
    summary(made, collected.refused(course.folder))
    say(f"next: ./kit class grades --to csv, ./kit class feedback (class folder: {relative(course.folder)})")
    return 1 if any(mark.state == "not graded" for mark in made) else 0


def how_many(pieces: dict[tuple[str, str], work.Piece], students: int) -> str:
    texts = len({piece.key for piece in pieces.values()})
    before = sum(piece.result is not None for piece in pieces.values())
    shared = f" ({texts} different texts: identical ones share a result)" if texts < len(pieces) else ""
    return f"{len(pieces)} submissions from {students} students{shared}, {before} of them graded before"


def chosen_of(students: list[Student], asked: list[str]) -> list[str]:
    """The ids of the students asked for, or of all."""
    ids = [student.id for student in students]
    if unknown := [name for name in asked if name not in ids]:
        raise KitError(f"--student {unknown[0]}: there is no such student in this class", "The ids: " + ", ".join(ids), USAGE)
    return asked or ids


def write_index(course, labs, pieces) -> None:
    """Records which result belongs to whom, so that other commands need not build the course."""
    found = {
        "labs": {lab.name: list(lab.rungs) for lab in labs} | {lab: list(rungs) for lab, rungs in course_folder.by_hand(course).items()}
    }
    found["keys"] = {
        f"{student}/{lab}": [piece.key, piece.lab.file, index.hash_of(piece.source)] for (student, lab), piece in pieces.items()
    }
    index.update(course.folder, found)


def summary(made: list[marks.Mark], files: list[collected.RefusedFile]) -> None:
    """`files`: those that collect refused."""
    of_lab = {lab: [mark for mark in made if mark.lab == lab] for lab in dict.fromkeys(mark.lab for mark in made)}
    nobody = [lab for lab, of in of_lab.items() if not any(mark.handed_in for mark in of)]
    table = Table(["lab", "graded", "missing", "not graded", "full marks", "mean"])
    by_machine = [of for lab, of in of_lab.items() if lab not in (*nobody, *version.BY_HAND)]
    for of in by_machine:
        table.add(row(of))
    if by_machine:
        print(table.text())
    if nobody:
        print(f"handed in by nobody: {', '.join(nobody)}")
    for lab in (lab for lab in of_lab if lab in version.BY_HAND and lab not in nobody):
        handed_in = [mark for mark in of_lab[lab] if mark.state == "by hand"]
        have = sum(mark.points is not None for mark in handed_in)
        print(f"{lab}: {len(handed_in)} handed in, {have} with points in overrides.csv. No machine grades it: {version.BY_HAND[lab]}.")
    students = {mark.student.id for mark in made}
    claims = [each for each in files if each.kind == "claim" and each.student in students]
    for each in [*claims, *marks.to_look_at(made, files)]:
        print(paint(f"to look at: {each.student}: {each.listed}", "yellow"))
    for mark in made:
        if mark.state == "not graded":
            print(paint(f"not graded: {mark.student.id} {mark.lab}: {mark.why}", "yellow"))


def row(of: list[marks.Mark]) -> list[str]:
    """A lab's line of the table."""
    points = [mark.points for mark in of if mark.state == "graded" and mark.points is not None]
    return [
        of[0].lab,
        str(len(points)),
        str(sum(mark.state in ("missing", "refused") for mark in of)),
        str(sum(mark.state == "not graded" for mark in of)),
        str(sum(mark.points == mark.most for mark in of if mark.state == "graded")),
        f"{sum(points) / len(points):.2f} of {of[0].most:g}" if points else "-",
    ]
