"""`kit trace LAB --rung R`: one block, barrier by barrier, as a page, a picture, text or JSON."""

import json
from argparse import Namespace
from pathlib import Path

from .. import options as shared
from ..console import paint, say, width
from ..errors import USAGE, KitError
from ..process import relative, require_writable
from ..programs import rungs
from ..trace import animation, drawing, page, record, small, tree, words

PURPOSE = "follow one block through memory, step by step"
MORE = "It adds up 1 to 9 again and again, and is shown on a page, in a picture or as text."
GROUP = "look closer"
ORDER = 60

MOST_FAILING = 2  # steps; the others often follow from the first
WIDEST = 1000  # columns of text
MOST_CELLS = 60_000  # of a whole page: with more, a browser becomes slow


def arguments(parser) -> None:
    rungs.arguments(parser)
    parser.add_argument("--rung", metavar="R", help="the rung to follow (default: the lab's only one)")
    parser.add_argument("--block-index", type=int, default=0, metavar="K", help="which block to follow (0)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page to step through (LAB-RUNG.html)")
    parser.add_argument("--svg", nargs=2, metavar=("STEP", "FILE"), help="write a picture of that step, counted from 1, instead of a page")
    parser.add_argument("--animation", type=Path, metavar="FILE", help="write an animation of all steps (SVG) instead of a page")
    parser.add_argument("--text", action="store_true", help="print the steps as text instead of writing a page")
    parser.add_argument("--failing", action="store_true",
                        help="print the steps in which threads race; if there are none, the whole run on a few numbers, and how a wrong result was made")  # fmt: skip
    parser.add_argument("--tree", action="store_true",
                        help="print how the result is made, step by step; with --html or --json, a page or JSON of that")  # fmt: skip
    parser.add_argument("--element", type=int, metavar="I", help="print the way of this element, counted from 0, to the result")
    shared.json(parser)


def run(options) -> int:
    require_sensible(options)
    lab = rungs.find(options)
    rung = rungs.one_to_trace(lab, options.rung)
    if options.failing:
        return show_failing(lab, rung, options)
    if options.tree or options.element is not None:
        return show_tree(lab, rung, options)
    traced = record.record(lab, rung, options)
    steps = record.steps_of(traced, options.block_index)
    if options.json:
        print(json.dumps(to_json(traced, steps), indent=1))
    elif options.text:
        show(traced, steps)
    elif options.animation:
        options.animation.write_text(animation.animate(steps, f"{lab.name} {traced.rung}, block {options.block_index}, step by step"))
        say(f"wrote {relative(options.animation)}")
    elif options.svg:
        write_still(traced, steps, *options.svg)
    else:
        write_page(traced, steps, options)
    if not options.json and (unseen := record.unseen(lab, rung)):
        (print if options.text else say)(unseen)
    return 0


def require_sensible(options) -> None:
    if (options.tree or options.element is not None) and (
        other := next((name for name in ("svg", "animation", "failing") if getattr(options, name)), "")
    ):
        raise KitError(f"--{other} shows steps, and --tree and --element how a result is made: choose one of them", code=USAGE)
    if options.block_index < 0:
        raise KitError(f"--block-index {options.block_index}: blocks are counted from 0", code=USAGE)
    if options.html:
        require_writable(options.html, "--html")
    if options.animation:
        require_writable(options.animation, "--animation")
    if options.svg:
        require_writable(Path(options.svg[1]), "--svg")
        if not options.svg[0].isdecimal() or int(options.svg[0]) < 1:
            raise KitError(f"--svg {options.svg[0]}: give the number of a step, from 1", code=USAGE)


def show_failing(lab, rung: str, options) -> int:
    asked = Namespace(**vars(options))
    traced = record.record(lab, rung, options)
    try:
        steps = record.steps_of(traced, options.block_index)
    except KitError:
        steps = []
    racing = [step for step in steps if step.races]
    if racing:
        show(traced, steps, racing[:MOST_FAILING])
    else:
        asked.n, asked.block = asked.n or str(small.USUAL_N), asked.block
        looked_at = small.run(lab, rung, asked)
        small.show(looked_at, min(width(), WIDEST))
        if not looked_at.right and not looked_at.answer["error"]:
            print()
            tree.show(tree.follow(lab, rung, asked), min(width(), WIDEST))
    return 0


def show_tree(lab, rung: str, options) -> int:
    found = tree.follow(lab, rung, options, options.element)
    if options.json:
        print(
            json.dumps(
                found.answer | {"result": found.result, "unread": found.unread, "nodes": [vars(node) for node in found.nodes.values()]},
                indent=1,
            )
        )
    elif options.html:
        options.html.write_text(tree.page(found, options.element))
        say(f"wrote {relative(options.html)}")
    else:
        tree.show(found, min(width(), WIDEST), options.element)
    return 0


def show(traced: rungs.Run, steps: list, chosen: list | None = None) -> None:
    """All steps, or the chosen ones."""
    wide = min(width(), WIDEST)
    print("\n".join(words.filled(f"{paint(traced.rung, 'bold')}: {traced.verdict[0]}", wide, "  ", "")))
    for index, step in enumerate(steps, 1):
        if chosen is not None and step not in chosen:
            continue
        print("\n" + "\n".join(words.filled(f"Step {index} of {len(steps)}, {step.launch}. {words.summary(step)}", wide, "  ", "")))
        for sentence in [*words.sentences(step), words.ending(step)]:
            if sentence:
                print("\n".join(words.filled(sentence, wide, "    ", "  ")))


def write_still(traced: rungs.Run, steps: list, number: str, file: str) -> None:
    index = int(number)
    if index > len(steps):
        raise KitError(f"--svg {index}: the trace has {len(steps)} steps, counted from 1", code=USAGE)
    Path(file).write_text(drawing.draw(steps[index - 1], alone=True, title=words.title(traced, steps, index)))
    say(f"wrote {relative(Path(file))}")


def write_page(traced: rungs.Run, steps: list, options) -> None:
    cells, fitting = 0, 0
    for step in steps:
        cells += 2 * (step.threads + sum(min(array.count, drawing.MOST_CELLS) for array in step.arrays if array.shared))
        if cells > MOST_CELLS and fitting:
            say(f"only the first {fitting} of {len(steps)} steps fit on a page; a smaller --block shows all of them")
            break
        fitting += 1
    path = options.html or Path(f"{traced.lab.name}-{traced.rung}.html")
    path.write_text(page.page(traced, steps[:fitting], options.block_index))
    say(f"wrote {relative(path)}: open it in a browser")


def to_json(traced: rungs.Run, steps: list) -> dict:
    def request(each) -> dict:
        return {"kind": each.kind, "line": each.line, "warp": each.warp, "array": each.array.name, "threads": each.touches,
                "bank_conflicts": each.conflicts if each.array.shared else 0, "sectors": each.sectors}  # fmt: skip

    def race(each) -> dict:
        return {"array": each.array.name, "element": each.element, "threads": each.threads, "lines": each.lines}

    return {
        "lab": traced.lab.name, "rung": traced.rung, "state": traced.result["state"],
        "steps": [
            {"kernel": step.kernel, "launch": step.launch, "threads": step.threads, "active": sorted(step.active()), "summary": words.summary(step),
             "words": words.sentences(step), "barrier_line": step.barrier_line,
             "requests": [request(each) for each in step.requests], "races": [race(each) for each in step.races]}
            for step in steps
        ],
    }  # fmt: skip
