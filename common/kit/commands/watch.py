"""`kit watch [LAB]`: checks a lab again whenever its file is saved, or follows the student from TODO to TODO."""

import signal
import sys

from .. import options as shared
from ..errors import USAGE, KitError
from ..programs import folder, labs, rungs
from ..progress import course
from ..progress.keys import Keys
from ..progress.session import Session

PURPOSE = "check a lab again whenever its file is saved"
MORE = "Without a lab, it follows you to the next TODO."
GROUP = "learn"
ORDER = 40


def arguments(parser) -> None:
    parser.add_argument(
        "lab",
        nargs="?",
        metavar="LAB",
        help="the lab, such as 04_shuffle, shuffle or labs/04_shuffle/ (default: all, one TODO after another)",
    )
    shared.rungs(parser)
    parser.add_argument("--times", type=int, metavar="N", help="stop after N checks")


def run(options) -> int:
    if options.times is not None and options.times < 1:
        raise KitError(f"--times {options.times}: at least 1 is needed", code=USAGE)
    if options.rung and not options.lab:
        raise KitError("--rung needs a lab", f"./kit watch LAB --rung {options.rung[0]}", USAGE)
    build = folder.prepare()
    found = labs.find(build, solved=False)
    every, chosen = course.rungs(build, found), None
    if options.lab:
        lab = labs.named(found, options.lab)
        of_lab = [rung for rung in every if rung.lab == lab]
        for name in options.rung:
            if name not in [rung.name for rung in of_lab]:
                raise rungs.no_such_rung(lab.name, name, [rung.name for rung in of_lab])
        chosen = [rung for rung in of_lab if not options.rung or rung.name in options.rung]
    for number in (signal.SIGTERM, signal.SIGHUP):  # ends in a way that restores the terminal and ends what runs
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    with Keys() as keys:
        return Session(build, every, chosen, options.rung, keys).run(options.times)
