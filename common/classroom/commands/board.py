"""`kit class board`: the fastest kernels of lab 09 by predicted time, under pseudonyms."""

from kit.console import paint, say
from kit.errors import KitError
from kit.ladder import predict
from kit.process import relative
from kit.table import Table

from ..collecting.collect import students_in
from ..course import config, course_folder
from ..feedback import board, pages
from ..grading import work
from ..isolation import sandbox

PURPOSE = "put the fastest kernels of lab 09 on a board, by predicted time and under pseudonyms"
ORDER = 245


def arguments(parser) -> None:
    course_folder.argument(parser)
    parser.add_argument("--gpu", default="H200", metavar="NAME", help=f"the GPU that the times are for: {predict.KNOWN} (default: H200)")
    parser.add_argument("--names", action="store_true", help="show in the terminal who is who; the page never does")


def run(options) -> int:
    gpu = predict.named(options.gpu)
    course = course_folder.collected(options.folder)
    students = students_in(course.folder, course.roster)
    if not any((course.folder / "submissions").glob(f"*/{board.LAB}/*.cu")):
        raise KitError(f"nobody has handed in {board.LAB}, so there is nothing to put on a board")
    room = sandbox.require(unsafe=False)
    labs = course_folder.labs_of(course, [board.LAB])
    with course_folder.locked(course):
        pieces = work.pieces(course.folder, [student.id for student in students], labs, config.hidden(course.folder, course.config), False)
        names = board.pseudonyms([student.id for student in students], config.secret(course.folder))
        of_lab = {student: piece for (student, _), piece in pieces.items()}
        made = board.lines(
            of_lab,
            names,
            lambda launches: predict.run_us(launches, gpu),
            lambda n: 4 * n / (1e3 * gpu.bandwidth),
            room,
        )
        ours = solved(labs[0], gpu, config.hidden(course.folder, course.config), room)
    limit = 4 * ours.n / (1e3 * gpu.bandwidth)
    made = sorted([*made, ours], key=lambda line: (bool(line.remark), line.us))
    pages.write(course.folder / "board.html", board.page(course.config.title, gpu.name, made, limit))
    table = Table(["who", f"predicted us on {gpu.name}", "of the bandwidth", "remark"], left=1)
    for line in made:
        who = who_is(line.student, line.name, options.names)
        table.add([who, line.time, line.share(limit), line.remark])
    print(table.text())
    for student, piece in of_lab.items():
        if why := board.why_absent(piece):
            print(f"not on the board: {who_is(student, names[student], options.names)}: {why}")
    print(paint("Computed from counts, not measured (docs/results/model.md says how, and how accurately).", "grey"))
    say(f"wrote {relative(course.folder / 'board.html')}")
    return 0


def who_is(student: str, pseudonym: str, named: bool) -> str:
    return f"{pseudonym} ({student})" if named and student else pseudonym


def solved(lab, gpu, hidden, room) -> board.Line:
    launches, n = board.launches(lab, lab.solution.read_text(), hidden, room)
    return board.Line("", "the course's own", predict.run_us(launches, gpu), n)
