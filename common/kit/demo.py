"""`kit demo`: the ladder of all solved rungs, from the naive one up."""

import json

from . import labs, ladder, toolchain
from .build import Build
from .console import say


def arguments(parser) -> None:
    parser.add_argument("--json", action="store_true", help="the same for a program")
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
    if options.json:
        print(json.dumps(answers, indent=2))
    else:
        ladder.show(answers)
    return 0 if all(rung["state"] in ("pass", "skip") for answer in answers for rung in answer["rungs"]) else 1
