"""`kit status`: how far the student has got."""

import json
import sys
from pathlib import Path

from .. import options as shared
from .. import states
from ..console import fill, paint, say
from ..process import relative
from ..programs import folder, labs
from ..programs.ninja import BuildFailed
from ..progress import course, known
from ..table import Table

PURPOSE = "show each lab's rungs, their state and the next TODO"
MORE = "Shows what is known at once, then checks what has changed."
GROUP = "learn"
ORDER = 30


def arguments(parser) -> None:
    parser.add_argument("lab", nargs="?", metavar="LAB", help="show only this lab")
    shared.json(parser)


def run(options) -> int:
    build = folder.prepare()
    found = labs.find(build, solved=False)
    chosen = [labs.named(found, options.lab)] if options.lab else found
    if options.json:
        print(json.dumps([whole_answer(build, lab) for lab in chosen], indent=2))
        return 0
    all_known = known.Known(course.rungs(build, found))
    before = {lab.name: all_known.answer(lab) for lab in chosen}
    show(before)
    sys.stdout.flush()
    after = check(build, chosen, all_known)
    changed = {name: rungs for name, rungs in after.items() if news(rungs) != news(before[name])}
    if changed:
        print()
        show(after, [name for name in after if name in changed])
    return 0


def whole_answer(build: folder.Build, lab: labs.Lab) -> dict:
    try:
        labs.compile(build, [lab])
    except BuildFailed as error:
        rungs = known.Known(course.rungs(build, [lab])).answer(lab)
        return {"lab": lab.name, "source": str(lab.source), "rungs": [known.not_built(rung, error) for rung in rungs]}
    return labs.ask(lab)


def news(rungs: list[dict]) -> list[tuple]:
    """What a reader would notice; of a rung that is to do, the program may name another's TODO that comes before."""
    return [(rung["name"], rung["state"], reason(rung)) for rung in rungs]


def check(build: folder.Build, chosen: list[labs.Lab], all_known: known.Known) -> dict[str, list[dict]]:
    """The labs' rungs as they are now; says which are checked, since that takes a while."""
    stale = [lab.name for lab in chosen if all_known.is_stale(build, lab)]
    if stale:
        say(f"checking what has changed: {', '.join(stale) if len(stale) <= 3 else f'{len(stale)} labs'}")
    return {lab.name: all_known.check(build, lab) for lab in chosen}


def show(answers: dict[str, list[dict]], only: list[str] | None = None) -> None:
    """The table of these labs, and what comes next among all."""
    table = Table(["rung", "state", "where", "what"], left=4, drop_first=["what", "where"])
    for name, rungs in answers.items():
        if only is not None and name not in only:
            continue
        table.section(paint(name, "bold"))
        for rung in rungs:
            table.add(["  " + rung["name"], paint(rung["state"], colour(rung)), where(rung), reason(rung)])
    print(table.text())
    rungs = [rung for each in answers.values() for rung in each]
    if meanings := states.legend(rungs):
        print(paint("\n" + fill(meanings), "grey"))
    print(f"\n{sum(rung['state'] == 'pass' for rung in rungs)} of {len(rungs)} rungs pass.")
    if following := next((rung for rung in rungs if rung["state"] != "pass"), None):
        print(fill(f"Next: {following['name']} ({following['state']}) {where(following)}".rstrip()))


def colour(rung: dict) -> str:
    return "grey" if rung["state"] == known.UNKNOWN else states.of(rung).colour


def where(rung: dict) -> str:
    if not rung.get("file"):
        return ""
    return f"{relative(Path(rung['file']))}:{rung['line']}" if rung.get("line") else relative(Path(rung["file"]))


def reason(rung: dict) -> str:
    said = "" if rung["state"] in ("pass", "todo") else rung.get("reason", "")
    if rung.get("broken") and rung["state"] != "pass":
        return "handed out broken on purpose, for you to repair" + (f": {said}" if said else "")
    return said
