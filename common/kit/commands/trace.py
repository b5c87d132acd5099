"""`kit trace LAB --rung R`: one block, barrier by barrier, as a page or a still picture."""

import json
from pathlib import Path

from . import rung_runs, trace_drawing, trace_page, trace_steps, trace_words
from .console import paint, say
from .errors import USAGE, KitError
from .process import relative, require_writable
from .report import readable

MOST_STEPS = 200
MOST_CELLS = 60_000  # of a whole page: beyond it a browser becomes slow
USUAL_BLOCK = 64  # two warps: small enough to see, large enough for barriers to matter


def arguments(parser) -> None:
    rung_runs.arguments(parser)
    parser.add_argument("--rung", required=True, metavar="R", help="the rung")
    parser.add_argument("--block-index", type=int, default=0, metavar="K", help="which block to follow (0)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page to step through (LAB-RUNG.html)")
    parser.add_argument("--svg", nargs=2, metavar=("STEP", "FILE"), help="write a still of that step, counted from 1, and no page")
    parser.add_argument("--text", action="store_true", help="print the steps in words, and write no page")
    parser.add_argument("--json", action="store_true", help="the same for a program")


def run(options) -> int:
    require_sensible(options)
    lab = rung_runs.find(options)
    rung = rung_runs.rungs_of(lab, [options.rung])[0]
    if rung["state"] == "todo":
        raise KitError(rung_runs.todo_text(rung), "Fill it first, or look at the solved file: --solutions.")
    traced = record(lab, rung["name"], options)
    steps = steps_of(traced, options.block_index)
    if options.json:
        print(json.dumps(to_json(traced, steps), indent=1))
    elif options.text:
        show(traced, steps)
    elif options.svg:
        write_still(traced, steps, *options.svg)
    else:
        write_page(traced, steps, options)
    return 0


def require_sensible(options) -> None:
    if options.block_index < 0:
        raise KitError(f"--block-index {options.block_index}: blocks are counted from 0", code=USAGE)
    if options.html:
        require_writable(options.html, "--html")
    if options.svg:
        require_writable(Path(options.svg[1]), "--svg")
        if not options.svg[0].isdecimal() or int(options.svg[0]) < 1:
            raise KitError(f"--svg {options.svg[0]}: give the number of a step, from 1", code=USAGE)


def record(lab, rung: str, options) -> rung_runs.Run:
    """Without a size given: a small one where the rung takes it, for the picture's sake."""
    chosen_block, chosen_n = options.block, options.n
    options.block = chosen_block or str(USUAL_BLOCK)
    if chosen_n is None and options.block.isdecimal():
        options.n = str(2 * int(options.block))
    try:
        return rung_runs.run(lab, rung, options, options.block_index)
    except KitError as error:
        if error.code != USAGE or chosen_block:
            raise
        options.block, options.n = None, chosen_n or "512"
        return rung_runs.run(lab, rung, options, options.block_index)


def steps_of(traced: rung_runs.Run, block_index: int) -> list[trace_steps.Step]:
    launches = traced.trace["launches"]
    if traced.n is None:
        launches = first_run(launches)  # of a wrong rung, the checks: the first one is enough to see it
    blocks = max((launch["grid"][0] * launch["grid"][1] * launch["grid"][2] for launch in launches), default=0)
    if block_index >= blocks:
        raise KitError(f"--block-index {block_index}: the launch has {blocks} block{'s' if blocks != 1 else ''}, counted from 0", code=USAGE)
    names = readable([launch["kernel"] for launch in launches])
    steps = []
    for index, launch in enumerate(launches, 1):
        launch["kernel"] = names.get(launch["kernel"], launch["kernel"])
        found = trace_steps.steps_of(launch, traced.report["hazards"])
        for step in found:
            step.launch = f"launch {index} of {len(launches)}: {step.kernel}" if len(launches) > 1 else step.kernel
        steps += found
    if any(launch["truncated"] for launch in launches) or len(steps) > MOST_STEPS:
        say(f"the block does more than can be shown: only its first {min(len(steps), MOST_STEPS)} steps are; a smaller --n or --block shows all")
    if not steps:
        raise KitError("this block accesses no memory", "Choose another with --block-index, or a larger --n.")
    return steps[:MOST_STEPS]


def first_run(launches: list[dict]) -> list[dict]:
    seen, kept = set(), []
    for launch in launches:
        key = (launch["kernel"], tuple(launch["grid"]))
        if key in seen:
            break
        seen.add(key)
        kept.append(launch)
    return kept


def show(traced: rung_runs.Run, steps: list) -> None:
    print(f"{paint(traced.rung, 'bold')}: {traced.verdict[0]}")
    for index, step in enumerate(steps, 1):
        print(f"\nStep {index} of {len(steps)}, {step.launch}. {trace_words.summary(step)}")
        for sentence in [*trace_words.sentences(step), trace_words.ending(step)]:
            if sentence:
                print(f"  {sentence}")


def write_still(traced: rung_runs.Run, steps: list, number: str, file: str) -> None:
    index = int(number)
    if index > len(steps):
        raise KitError(f"--svg {index}: the trace has {len(steps)} steps, counted from 1", code=USAGE)
    Path(file).write_text(trace_drawing.draw(steps[index - 1], alone=True, title=trace_words.title(traced, steps, index)))
    say(f"wrote {relative(Path(file))}")


def write_page(traced: rung_runs.Run, steps: list, options) -> None:
    cells, fitting = 0, 0
    for step in steps:
        cells += 2 * (step.threads + sum(min(array.count, trace_drawing.MOST_CELLS) for array in step.arrays if array.shared))
        if cells > MOST_CELLS and fitting:
            say(f"only the first {fitting} of {len(steps)} steps fit a page; a smaller --block shows all")
            break
        fitting += 1
    path = options.html or Path(f"{traced.lab.name}-{traced.rung}.html")
    path.write_text(trace_page.page(traced, steps[:fitting], options.block_index))
    say(f"wrote {relative(path)}: open it in a browser")


def to_json(traced: rung_runs.Run, steps: list) -> dict:
    def request(each) -> dict:
        return {"kind": each.kind, "line": each.line, "warp": each.warp, "array": each.array.name, "threads": each.touches,
                "bank_conflicts": each.conflicts if each.array.shared else 0, "sectors": each.sectors}  # fmt: skip

    def race(each) -> dict:
        return {"array": each.array.name, "element": each.element, "threads": each.threads, "lines": each.lines}

    return {
        "lab": traced.lab.name, "rung": traced.rung, "state": traced.result["state"],
        "steps": [
            {"kernel": step.kernel, "launch": step.launch, "threads": step.threads, "active": sorted(step.active()), "summary": trace_words.summary(step),
             "words": trace_words.sentences(step), "barrier_line": step.barrier_line,
             "requests": [request(each) for each in step.requests], "races": [race(each) for each in step.races]}
            for step in steps
        ],
    }  # fmt: skip
