"""A rung's run with the trace of one block, and the steps found in it."""

import re

from ..console import say
from ..errors import USAGE, KitError
from ..programs import rungs
from ..report import readable
from . import steps

MOST_STEPS = 200
USUAL_BLOCK = 64  # two warps: small enough to see, large enough for barriers to matter


def record(lab, rung: str, options) -> rungs.Run:
    """The size if none is given: a small one if the rung accepts it, for the sake of the picture."""
    chosen_block, chosen_n = options.block, options.n
    options.block = chosen_block or str(USUAL_BLOCK)
    if chosen_n is None and options.block.isdecimal():
        options.n = str(2 * int(options.block))
    try:
        return on_digits(lab, rung, options)
    except KitError as error:
        if error.code != USAGE or chosen_block:
            raise
        options.block, options.n = None, chosen_n or "512"
        return on_digits(lab, rung, options)


def on_digits(lab, rung: str, options) -> rungs.Run:
    """The rung's verdict, with the trace of a run on 1 to 9 again and again: what it adds up can be followed in one's head."""
    judged = rungs.run(lab, rung, options)
    _, report, trace = rungs.observed(lab, rung, ["--once"], options, options.block_index)
    return rungs.Run(lab, rung, judged.result, report, trace)


def steps_of(traced: rungs.Run, block_index: int) -> list[steps.Step]:
    return steps_of_launches(traced.trace["launches"], traced.report["hazards"], block_index)


def steps_of_launches(launches: list[dict], hazards: list[dict], block_index: int) -> list[steps.Step]:
    blocks = max((launch["grid"][0] * launch["grid"][1] * launch["grid"][2] for launch in launches), default=0)
    if block_index >= blocks:
        raise KitError(
            f"--block-index {block_index}: the launch has {blocks} block{'s' if blocks != 1 else ''}, counted from 0", code=USAGE
        )
    names = readable([launch["kernel"] for launch in launches])
    found = []
    for index, launch in enumerate(launches, 1):
        launch["kernel"] = names.get(launch["kernel"], launch["kernel"])
        of_launch = steps.steps_of(launch, hazards)
        for step in of_launch:
            step.launch = f"{which(launch, index, len(launches))}: {step.kernel}" if len(launches) > 1 else step.kernel
        found += of_launch
    if any(launch["truncated"] for launch in launches) or len(found) > MOST_STEPS:
        say(f"only the first {min(len(found), MOST_STEPS)} steps of the block can be shown; a smaller --n or --block shows all of them")
    if not found:
        raise KitError("this block accesses no memory", "Choose another with --block-index, or a larger --n.")
    return found[:MOST_STEPS]


CALL_OF_NCCL = re.compile(r"\bnccl[A-Z]\w*\s*\(")
NCCL_UNSEEN = "What NCCL does is no kernel of this program, so its steps are not shown."


def unseen(lab, rung: str) -> str:
    """A sentence about what the rung does beside its kernels; empty if there is nothing."""
    regions = re.findall(rf"// BEGIN {re.escape(rung)}\b(.*?)// END {re.escape(rung)}\b", lab.source.read_text(errors="replace"), re.DOTALL)
    code = re.sub(r"//.*", "", "\n".join(regions))
    return NCCL_UNSEEN if CALL_OF_NCCL.search(code) else ""


def which(launch: dict, number: int, count: int) -> str:
    return f"launch {number} of {count}" + (f", on device {launch['device']}" if "device" in launch else "")
