"""A rung compared with the previous one: the counts of both, and the times that follow from them."""

import os

from .. import counters
from ..console import paint
from ..errors import KitError
from ..programs import labs, rungs
from . import predict

N = 1 << 20
# Labs in which each rung improves on the previous one; in the others the rungs are independent.
NO_LADDER = ("06_operators", "07_precision", "08_hazards", "10_opencl")
COMPARED = ["atomic_operations", "barriers", "bank_conflicts", "shared_load_wavefronts", "global_load_requests", "global_load_sectors",
        "warp_instructions"]  # fmt: skip
GPU = "H200"
SMALLEST_CHANGE = 0.02


def between(lab: labs.Lab, rung: str, before: str) -> list[str]:
    """Lines to print; none if there is nothing to compare with or it cannot be counted."""
    if not before or lab.name in NO_LADDER:
        return []
    try:
        # The prediction is of one GPU, and how often a kernel polls differs from run to run.
        if any(each.get("over_devices") for each in rungs.rungs_of(lab, [before, rung])):
            return []
        found = counted(lab, [before, rung])
    except KitError:
        return []
    if before not in found or rung not in found:
        return []
    return lines(found[before], found[rung], before, rung)


def counted(lab: labs.Lab, names: list[str]) -> dict[str, dict]:
    """The profile and prediction of each rung, all for the same n: the largest up to 2^20 that all of them accept."""
    gpu = predict.named(GPU)
    size = N
    while True:
        words = [word for name in names for word in ("--rung", name)]
        try:
            answer = labs.ask(lab, "--profile", "--device", "emulator", "--n", str(size), *words,
                              environment=os.environ | {"WARPFOLD_GRID_FOR": gpu.grid_for})  # fmt: skip
            break
        except KitError:
            if size <= 512:
                raise
            size = 512  # of one block
    predict.add_to([answer], gpu)
    return {rung["name"]: rung for rung in answer["rungs"] if "profile" in rung}


def lines(old: dict, new: dict, before: str, rung: str) -> list[str]:
    n = new["profile"]["n"]
    rows = []
    for key in COMPARED:
        was, now = (side["profile"]["counters"].get(key, 0) for side in (old, new))
        if abs(now - was) > SMALLEST_CHANGE * max(was, now):
            rows.append((counters.CATALOGUE[key].label, f"{was:,.0f}", f"{now:,.0f}", "green" if now < was else "yellow"))
    label = "predicted us on the " + new["predicted"]["gpu"]
    was, now = old["predicted"]["us"], new["predicted"]["us"]
    rows.append((label, f"{was:,.1f}", f"{now:,.1f}", "green" if now < was else "yellow"))
    label, left, right = (max(len(row[i]) for row in rows) for i in range(3))
    times = was / now if now < was else now / was
    verdict = (f"{times:.2f} times as fast" if now <= was else f"{times:.2f} times as long") if times >= 1.005 else "as fast"
    head = f"{rung} compared with {before}, n = {n:,}:"
    body = [f"    {name:<{label}}  {a:>{left}}  ->  {paint(f'{b:>{right}}', colour)}" for name, a, b, colour in rows]
    return [head, *body, f"    {verdict}, by times computed from the counts, not measured"]
