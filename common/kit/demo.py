"""`kit demo`: the ladder of all solved rungs, from the naive one up."""

import json
from pathlib import Path

from . import labs, ladder, picture, toolchain
from .build import Build
from .console import say
from .errors import USAGE, KitError


def arguments(parser) -> None:
    parser.add_argument("--json", action="store_true", help="the same for a program")
    parser.add_argument("--picture", metavar="FILE", type=Path, help="also draw the ladder to FILE, as SVG")
    parser.add_argument("--lab", metavar="LAB", help="only this lab")


def run(options) -> int:
    build = Build(toolchain.prepare())
    chosen = labs.find(build, solved=True)
    if options.lab:
        chosen = [labs.named(chosen, options.lab)]
    labs.compile(build, chosen)
    answers = []
    for lab in chosen:
        say(f"running {lab.name}")
        answers.append(labs.ask(lab, "--solutions", "--time"))
    if options.picture:
        write(options.picture, picture.draw(answers))
    if options.json:
        print(json.dumps(answers, indent=2))
    else:
        ladder.show(answers)
    return 0 if all(rung["state"] in ("pass", "skip") for answer in answers for rung in answer["rungs"]) else 1


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise KitError(f"--picture {path}: {error.strerror}", code=USAGE) from error
