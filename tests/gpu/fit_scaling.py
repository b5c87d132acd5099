#!/usr/bin/env python3
"""Fits the constants of common/kit/many_gpus/scaling.py to what tests/gpu/many_gpus measured, and says how well they do.

    fit_scaling.py docs/results/many_gpus_h200.json           writes docs/results/scaling_h200.json
    fit_scaling.py docs/results/many_gpus_h200.json --check   writes nothing: says how well the constants there do

Least squares of the logarithm of predicted over measured, by coordinate descent, for each way of its own. The network cannot be
measured on one node: its constants are PUBLISHED, by those named there. Afterwards docs/results/fill_many_gpus.py draws the
picture and fills the page.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "common"))

from kit.many_gpus import scaling

# Which lines of the measurement each way is fitted to: name and method.
MEASURED_AS = {
    "one_kernel": ("one_kernel", "rungs"),
    "one_kernel_threads": ("one_kernel", "threads"),
    "peer_reads": ("peer_reads", "rungs"),
    "peer_copies": ("peer_copies", "rungs"),
    "nccl_reduce": ("nccl_reduce", "rungs"),
    "rank_per_gpu": ("CUB + ncclReduce", "threads"),
}

NVIDIA_TUNING = "https://github.com/NVIDIA/nccl/blob/master/src/graph/tuning.cc, hwLat, network"
NVIDIA_ADAPTER = "https://github.com/NVIDIA/nccl-tests/issues/290: 46 to 48 GB/s through a 400 Gb/s adapter; 8 of them in a node"
PUBLISHED = {
    "gpus": scaling.MOST,
    "gb_per_s": 8 * 47.0,
    "ring_step_us": {"LL": 2.7, "LL128": 4.0, "Simple": 14.0},
    "tree_step_us": {"LL": 5.0, "LL128": 8.5, "Simple": 14.0},
    "measured": False,
    "from": f"steps: {NVIDIA_TUNING}. Bandwidth: {NVIDIA_ADAPTER}",
}

# Where the search starts: NCCL's own constants for NVLink, in the file named above.
PROTOCOLS = {"LL": (6.6, 0.6, 0.25), "LL128": (14.0, 1.9, 0.9), "Simple": (8.4, 3.4, 1.0)}  # base, step, share

TRUST = 0.02  # in the constants the search starts from: squared logarithms count so much, which matters where the data say nothing

NOTHING = 1e-5  # a part of the loss: what lowers it by less is not worth following, such as a constant on its way to 0
LEAST = 0.01  # us: less than this, of times of 10 us and more, is none

PEERS = Path(__file__).resolve().parents[2] / "docs" / "results" / "peers_h200.json"
SMALL = 2**14  # floats, of which a sum takes as long as of one

Values = dict[str, float]


def descend(values: Values, loss: Callable[[Values], float], least: float = 1e-3) -> Values:
    """Changes one value at a time by a factor for as long as that lowers the loss, then by smaller factors."""
    best, lowest, step = dict(values), loss(values), 0.5
    while step > least:
        improved = False
        for name in best:
            for factor in (1 + step, 1 / (1 + step)):
                tried = best | {name: best[name] * factor}
                if (found := loss(tried)) < lowest * (1 - NOTHING) - 1e-8:
                    best, lowest, improved = tried, found, True
        if not improved:
            step /= 2
    return best


def squares(pairs: list[tuple[float, float]]) -> float:
    """Of the logarithms of predicted over measured."""
    return sum(math.log(predicted / measured) ** 2 for predicted, measured in pairs)


def residuals(pairs: list[tuple[float, float]]) -> dict:
    off = [abs(predicted / measured - 1) for predicted, measured in pairs]
    return {"cases": len(off), "median": round(statistics.median(off), 4), "largest": round(max(off), 4)}


def lines_of(known: dict, name: str, method: str) -> list[dict]:
    return [each for each in known["times"] if (each["name"], each["method"]) == (name, method)]


# ---- the collectives: protocols, and the levels inside a node --------------------------------------------------------------


def collective_constants(values: Values) -> dict:
    """In the form of the file, with what cannot be told apart set equal: a step over a link and one inside a node."""
    ring = {name: values[f"{name} step"] for name in PROTOCOLS}
    tree = {name: values[f"{name} tree step"] for name in PROTOCOLS}

    def level(gpus: int, name: str, gb_per_s: float) -> dict:
        return {"gpus": gpus, "gb_per_s": gb_per_s, "ring_step_us": ring, "tree_step_us": tree, "measured": True,
                "from": f"NCCL's all-reduce over {name}"}  # fmt: skip

    return {
        "levels": {
            "link": level(2, "2 GPUs", values["link GB/s"]),
            "node": level(scaling.NODE, "4 GPUs", values["node GB/s"]),
            "network": PUBLISHED,
        },
        "protocols": {
            name: {"base_us": values[f"{name} base"], "share": values[f"{name} share"], "tree_share": values[f"{name} tree share"]}
            for name in PROTOCOLS
        },
    }


def as_constants(known: dict) -> scaling.Constants:
    return scaling.constants_in({"device": "", "ways": {}, "queued_us": 0.0, "most_gpus_measured": 1} | known)


def collective_pairs(known: dict, k: scaling.Constants) -> list[tuple[float, float]]:
    return [
        (scaling.all_reduce_us(each["bytes"], each["gpus"], each["algorithm"], k), each["us"])
        for each in known["collectives"]
        if each["name"] == "all_reduce" and each["gpus"] > 1
    ]


def fit_collectives(known: dict) -> tuple[dict, dict]:
    start = {"link GB/s": 370.0, "node GB/s": 370.0}
    for name, (base, step, share) in PROTOCOLS.items():
        start |= {
            f"{name} base": base,
            f"{name} step": step,
            f"{name} tree step": step,
            f"{name} share": share,
            f"{name} tree share": share,
        }

    def loss(values: Values) -> float:
        # No protocol moves more than the level does; the one that moves most defines it.
        if max(values[f"{name} {which}"] for name in PROTOCOLS for which in ("share", "tree share")) > 1:
            return math.inf
        kept = sum(math.log(value / start[name]) ** 2 for name, value in values.items())
        return squares(collective_pairs(known, as_constants(collective_constants(values)))) + TRUST * kept

    host = queued_us(known)
    for name in PROTOCOLS:
        start[f"{name} base"] += host
    fixed = "Simple share"
    found = descend({name: value for name, value in start.items() if name != fixed}, lambda values: loss(values | {fixed: 1.0}))
    constants = collective_constants(found | {fixed: 1.0})
    return constants, residuals(collective_pairs(known, as_constants(constants)))


# ---- the ways ----------------------------------------------------------------------------------------------------------------


def way_pairs(way: str, measured: list[dict], values: Values, rest: dict) -> list[tuple[float, float]]:
    k = as_constants(rest | {"ways": {way: values}})
    return [(scaling.parts(way, each["n"], each["gpus"], k).us, each["us"]) for each in measured]


def fit_way(way: str, measured: list[dict], rest: dict) -> tuple[dict, dict]:
    start = {"start_us": 10.0, "next_us": 2.0, "gb_per_s": 4500.0, "issue_us": 5.0, "tail_us": 3.0}
    fixed = {}
    if way.startswith("one_kernel"):
        fixed["issue_us"] = 0.0  # the host issues nothing but the launch
        del start["issue_us"]
    found = descend(start, lambda values: squares(way_pairs(way, measured, values | fixed, rest))) | fixed
    found = {name: value if value >= LEAST else 0.0 for name, value in found.items()}
    return found, residuals(way_pairs(way, measured, found, rest))


def fit(known: dict) -> dict:
    made, off = fit_collectives(known)
    made = {"device": known["device"], "most_gpus_measured": max(each["gpus"] for each in known["times"])} | made
    errors = {"all_reduce": off}
    ways = {}
    for way, line in MEASURED_AS.items():
        if measured := lines_of(known, *line):
            found, errors[way] = fit_way(way, measured, made)
            ways[way] = found | {"measured_as": list(line)}
    made["queued_us"] = queued_us(known)
    return made | {"ways": ways, "residuals": errors}


def queued_us(known: dict) -> float:
    """What a call waits for the host if no other is queued behind it: the champion of lab 09 by wall clock on one GPU, less what it
    takes in a queue (tests/gpu/peers)."""
    alone = [each["us"] for each in lines_of(known, "champion, parts alone", "threads") if each["gpus"] == 1 and each["n"] == SMALL]
    in_queue = [
        each["us"] for each in json.loads(PEERS.read_text()) if (each["name"], each["method"], each["n"]) == ("champion", "queued", SMALL)
    ]
    return max(0.0, alone[0] - in_queue[0]) if alone else 0.0


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def report(known: dict, made: dict) -> None:
    k = scaling.constants_in(made)
    for way, line in MEASURED_AS.items():
        for each in lines_of(known, *line) if way in k.ways else []:
            us = scaling.parts(way, each["n"], each["gpus"], k).us
            print(
                f"{way:14} {each['gpus']} GPUs  n = {each['n']:>12,}  {us:10,.1f} us, measured {each['us']:10,.1f}  {us / each['us'] - 1:+.1%}"
            )
    for each in known["collectives"]:
        if each["gpus"] > 1:
            us = scaling.all_reduce_us(each["bytes"], each["gpus"], each["algorithm"], k)
            print(
                f"{each['algorithm']:14} {each['gpus']} GPUs  {each['bytes']:>12,} B    {us:10,.1f} us, measured {each['us']:10,.1f}"
                f"  {us / each['us'] - 1:+.1%}"
            )
    print(json.dumps(made["residuals"], indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    known = json.loads(options.file.read_text())
    if options.check:
        made = json.loads(scaling.FILE.read_text())
    else:
        made = rounded(fit(known))
        scaling.FILE.write_text(json.dumps(made, indent=1) + "\n")
    report(known, made)


if __name__ == "__main__":
    main()
