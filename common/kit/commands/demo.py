"""`kit demo`: the ladder of all solved rungs, from the naive one up."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .. import gpu
from .. import options as shared
from ..console import say
from ..errors import USAGE, KitError
from ..ladder import listing, peers, picture, predict
from ..many_gpus import efficiency, runs
from ..many_gpus import listing as many_gpus_listing
from ..many_gpus import picture as many_gpus_picture
from ..paths import ROOT
from ..programs import folder, labs
from ..setup import toolchain

PURPOSE = "run every solved rung and show what it costs"
GROUP = "learn"
ORDER = 10


def arguments(parser) -> None:
    shared.json(parser)
    parser.add_argument("--picture", metavar="FILE", type=Path, help="also draw the ladder as SVG into FILE")
    parser.add_argument("--lab", action="append", default=[], metavar="LAB", help="run only this lab; may be repeated")
    parser.add_argument(
        "--n",
        metavar="N",
        help="without a GPU: count at this many elements if the rung allows it (default: 2^20); docs/ladder.svg uses 2^24",
    )
    parser.add_argument(
        "--gpu", metavar="NAME", default="H200", help=f"without a GPU: the GPU whose times are predicted: {predict.KNOWN} (default: H200)"
    )
    parser.add_argument("--peers", action="store_true", help="with a GPU: also time CUB, Thrust, cuBLAS and a copy")
    parser.add_argument(
        "--gpus",
        metavar="K",
        type=runs.number,
        help="show lab 12 over K GPUs instead, beside CUB with NCCL; without a GPU, over K emulated devices",
    )


def run(options) -> int:
    predicted_for = predict.named(options.gpu)
    if options.gpus:
        return over_several(options, predicted_for)
    if options.peers:
        peers.require_gpu()
    emulated = is_emulated()
    if emulated:
        # Grids that fit the machine are those of the GPU that the prediction is for.
        os.environ.setdefault("WARPFOLD_GRID_FOR", predicted_for.grid_for)
    else:
        gpu.warn_if_busy()
    build = folder.configured(toolchain.prepare(tests=options.peers), tests=options.peers)
    # A students' edition has no solutions: there the ladder shows the rungs that are filled in.
    solved = (ROOT / "solutions").is_dir()
    chosen = labs.find(build, solved=solved)
    if options.lab:
        named = {labs.named(chosen, name) for name in options.lab}
        chosen = [lab for lab in chosen if lab in named]
    labs.compile(build, chosen)
    if not solved:
        chosen = [lab for lab in chosen if filled(lab)]
    # Counts do not depend on what else runs; times measured on a GPU do.
    with ThreadPoolExecutor(os.cpu_count() if emulated else 1) as pool:
        asked = list(pool.map(lambda lab: ask(lab, solved, options.n if emulated else None), chosen))
    answers = [answer for answer in asked if answer]
    if not asked:
        say("nothing is filled in yet: docs/handouts/01_naive_atomic.md explains how to start, ./kit status shows what comes next")
        return 0
    predict.add_to(answers, predicted_for)
    if options.peers:
        answers.append(peers.ask(build))
    if options.picture:
        write(options.picture, picture.draw(answers))
    if options.json:
        print(json.dumps(answers, indent=2))
    else:
        listing.show(answers)
    return 0 if all(rung["state"] in ("pass", "skip") for answer in answers for rung in answer["rungs"]) else 1


def ask(lab: labs.Lab, solved: bool, n: str | None) -> dict | None:
    """None, and the reason on the terminal, if the machine lacks what the lab needs."""
    say(f"running {lab.name}")
    tree = ["--solutions"] if solved else [f"--rung={name}" for name in filled(lab)]
    try:
        answer = labs.ask(lab, *tree, "--time")
    except KitError as error:
        if error.code != labs.SKIPPED:
            raise
        say(str(error))
        return None
    if n:
        counted = {
            rung["name"]: rung
            for rung in labs.ask(lab, *tree, "--profile", "--device", "emulator", "--n", n)["rungs"]
            if rung.get("profile")
        }
        answer["rungs"] = [counted.get(rung["name"], rung) for rung in answer["rungs"]]
    return answer


def over_several(options, predicted_for: predict.Gpu) -> int:
    if options.lab or options.peers:
        raise KitError("--gpus shows lab 12 alone, beside CUB and NCCL", "Leave out --lab and --peers.", USAGE)
    if is_emulated():
        return over_emulated(options, predicted_for)
    if options.n:
        raise KitError("--n is for counts, which are taken without a GPU", code=USAGE)
    runs.require_gpus(options.gpus, gpu.count())
    runs.require_program()
    gpu.warn_if_busy()
    build = folder.configured(toolchain.prepare(tests=True), tests=True)
    measured = runs.measure(build, options.gpus, gpu.find())
    if options.picture:
        write(options.picture, many_gpus_picture.draw(measured))
    if options.json:
        print(json.dumps(efficiency.as_json(measured), indent=2))
    else:
        many_gpus_listing.show(measured, f"Lab 12 on {options.gpus} x {measured.device}")
    return 0


def over_emulated(options, predicted_for: predict.Gpu) -> int:
    """What is counted on emulated devices, and what is predicted for GPUs."""
    os.environ.setdefault("WARPFOLD_GRID_FOR", predicted_for.grid_for)
    predicted = runs.predict(predicted_for, options.gpus)
    if options.picture and not predicted.lines:
        raise KitError(f"--picture: there is nothing to draw without GPUs: no times are predicted for {options.gpus} {predicted_for.name}",
                       code=USAGE)  # fmt: skip
    build = folder.prepare()
    solved = (ROOT / "solutions").is_dir()
    lab = labs.named(labs.find(build, solved=solved), runs.LAB)
    labs.compile(build, [lab])
    tree = ["--solutions"] if solved else [f"--rung={name}" for name in filled(lab)]
    if not tree:
        say("nothing of lab 12 is filled in yet: docs/handouts/12_many_gpus.md explains how to start")
        return 0
    say(f"running {lab.name} on {'one emulated device' if options.gpus == 1 else f'{options.gpus} emulated devices'}")
    rungs = runs.count(lab, tree, options.gpus, options.n)
    if options.picture:
        write(options.picture, many_gpus_picture.draw(predicted))
    if options.json:
        counted = runs.as_json(rungs, predicted_for)
        print(json.dumps({"gpus": options.gpus, "counted": counted, "predicted": efficiency.as_json(predicted)}, indent=2))
    else:
        many_gpus_listing.show_counted(rungs, options.gpus, predicted_for)
        if predicted.lines:
            print()
            many_gpus_listing.show(predicted, f"Predicted, not measured: {options.gpus} x {predicted.device}")
    return 0 if all(rung.state in ("pass", "skip") for rung in rungs) else 1


def filled(lab: labs.Lab) -> list[str]:
    """The rungs in which the student has changed something: not those that are empty or as broken as they were handed out."""
    return [rung["name"] for rung in labs.ask(lab, "--list")["rungs"] if rung["state"] == "filled"]


def is_emulated() -> bool:
    try:
        gpu.find()
    except gpu.NoGpu:
        return True
    return False


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise KitError(f"--picture {path}: {error.strerror}", code=USAGE) from error
