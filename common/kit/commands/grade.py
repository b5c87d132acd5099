"""`kit grade`: grades the collected submissions in the sandbox, on all processors or on Slurm."""

from ..classroom import config, course_folder, engine, gpus, grader, index, marks, sandbox, version, work
from ..classroom.collect import students_in
from ..classroom.roster import Student
from ..console import paint, say
from ..errors import USAGE, KitError
from ..process import relative
from ..table import Table

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
        say(
            f"{len(pieces)} submissions from {len(chosen)} students, {len(pieces) - sum(piece.result is None for piece in pieces.values())} of them graded before"
        )
        settings = {"kind": "here"} if options.here else course.config.engine
        engine.run(list(to_do.values()), course.folder, settings)
        write_index(course, labs, pieces)
    rungs = {lab.name: lab.rungs for lab in labs} | ({} if options.lab else course_folder.by_hand(course))
    made = [mark for mark in marks.all_marks(course.folder, course.config, students, rungs, pieces) if mark.student.id in chosen]
    summary(made)
    say(f"next: ./kit grades --to csv, ./kit feedback (class folder: {relative(course.folder)})")
    return 1 if any(mark.state == "not graded" for mark in made) else 0


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


def summary(made: list[marks.Mark]) -> None:
    told_by_hand = [mark for mark in made if mark.lab in version.BY_HAND]
    made = [mark for mark in made if mark.lab not in version.BY_HAND]
    table = Table(["lab", "graded", "missing", "not graded", "full marks", "mean"])
    for lab in dict.fromkeys(mark.lab for mark in made):
        of = [mark for mark in made if mark.lab == lab]
        points = [mark.points for mark in of if mark.state == "graded" and mark.points is not None]
        full = sum(mark.points == mark.most for mark in of if mark.state == "graded")
        mean = f"{sum(points) / len(points):.2f} of {of[0].most:g}" if points else "-"
        table.add(
            [
                lab,
                str(len(points)),
                str(sum(mark.state in ("missing", "refused") for mark in of)),
                str(sum(mark.state == "not graded" for mark in of)),
                str(full),
                mean,
            ]
        )
    if made:
        print(table.text())
    for lab in dict.fromkeys(mark.lab for mark in told_by_hand):
        handed_in = [mark for mark in told_by_hand if mark.lab == lab and mark.state == "by hand"]
        have = sum(mark.points is not None for mark in handed_in)
        print(f"{lab}: {len(handed_in)} handed in, {have} with points in overrides.csv. No machine grades it: {version.BY_HAND[lab]}.")
    for mark in [*made, *told_by_hand]:
        if mark.state == "refused":
            print(paint(f"to look at: {mark.student.id} {mark.lab}: {mark.why}", "yellow"))
    for mark in made:
        if mark.state == "not graded":
            print(paint(f"not graded: {mark.student.id} {mark.lab}: {mark.why}", "yellow"))
