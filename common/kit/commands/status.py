"""`kit status`: how far the student has got."""

import json
from pathlib import Path

from .. import options as shared
from .. import states
from ..building import folder, labs
from ..console import fill, paint
from ..process import relative
from ..table import Table

PURPOSE = "show each lab's rungs, their state and the next TODO"
GROUP = "learn"
ORDER = 30


def arguments(parser) -> None:
    parser.add_argument("lab", nargs="?", metavar="LAB", help="show only this lab")
    shared.json(parser)


def run(options) -> int:
    build = folder.prepare()
    chosen = labs.find(build, solved=False)
    if options.lab:
        chosen = [labs.named(chosen, options.lab)]
    labs.compile(build, chosen)
    answers = [labs.ask(lab) for lab in chosen]
    if options.json:
        print(json.dumps(answers, indent=2))
    else:
        show(chosen, answers)
    return 0


def show(chosen: list[labs.Lab], answers: list[dict]) -> None:
    table = Table(["rung", "state", "where", "what"], left=4, drop_first=["what", "where"])
    following = None
    for lab, answer in zip(chosen, answers, strict=True):
        table.section(paint(lab.name, "bold"))
        for rung in answer["rungs"]:
            state = states.of(rung)
            place = where(rung)
            table.add(["  " + rung["name"], paint(state.name, state.colour), place, reason(rung)])
            if following is None and state.kind != "pass":
                following = (rung["name"], state.name, place)
    print(table.text())
    rungs = [rung for answer in answers for rung in answer["rungs"]]
    if meanings := states.legend(rungs):
        print(paint("\n" + fill(meanings), "grey"))
    print(f"\n{sum(rung['state'] == 'pass' for rung in rungs)} of {len(rungs)} rungs pass.")
    if following:
        print(fill(f"Next: {following[0]} ({following[1]}) {following[2]}".rstrip()))


def where(rung: dict) -> str:
    if not rung.get("file"):
        return ""
    return f"{relative(Path(rung['file']))}:{rung['line']}"


def reason(rung: dict) -> str:
    return "" if rung["state"] in ("pass", "todo") else rung.get("reason", "")
