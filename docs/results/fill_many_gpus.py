#!/usr/bin/env python3
"""Fills many_gpus.md: whatever stands there between two marks is written by this program, from many_gpus_h200.json (measured),
scaling_h200.json (the model, fitted to it by tests/gpu/fit_scaling.py), many_gpus_8_h200.json (measured, held out of the fit) and
published_all_reduce.json (by others). Draws the picture too."""

import json
import re
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "common"))

import plot_scaling
from kit.lint import pages
from kit.many_gpus import scaling
from plot_scaling import DRAWN, HERE, STRONG, WEAK, Measured, figure, power, sweep

PAGE, PUBLISHED = HERE / "many_gpus.md", HERE / "published_all_reduce.json"
SIZES = [2**exponent for exponent in (14, 17, 20, 23, 26, 29, 32, 33)]
LINES = [
    ("one_kernel", "threads"), ("one_kernel", "rungs"), ("peer_reads", "rungs"), ("peer_copies", "rungs"), ("nccl_reduce", "rungs"),
    ("CUB + ncclReduce", "threads"), ("CUB + peer copies", "threads"), ("CUB, parts alone", "threads"), ("champion, parts alone", "threads"),
]  # fmt: skip


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def table(headings: list[str], rows: list[list[str]]) -> str:
    return "\n".join([row(*headings), "|" + "---|" * len(headings), *(row(*cells) for cells in rows)])


def lines_of(measured: Measured) -> list[tuple[str, str]]:
    return [line for line in LINES if any(key[:2] == line for key in measured.times)]


def named(name: str, method: str) -> list[str]:
    return [f"`{name}`" if "_" in name else name, {"rungs": "one", "threads": "one per GPU"}[method]]


# ---- what was measured -----------------------------------------------------------------------------------------------------


def device(measured: Measured) -> str:
    known = measured.known
    runs = [each["runs"] for each in known["times"]]
    return f"{known['gpus']} {known['device']} in one machine, {known['driver']}, NCCL {known['nccl']}, {known['date']}; medians of {min(runs)} to {max(runs)} runs."


def strong(measured: Measured) -> str:
    rows = []
    for gpus in measured.gpus:
        for name, method in lines_of(measured):
            cells = [figure(measured.us(name, method, gpus, n)) for n in SIZES]
            if set(cells) != {"-"}:
                rows.append([str(gpus), *named(name, method), *cells])
    return table(["GPUs", "way", "host threads", *(power(n) for n in SIZES)], rows)


def weak(measured: Measured) -> str:
    rows = []
    for name, method in lines_of(measured):
        alone = measured.us("champion, parts alone", "threads", 1, WEAK)
        for gpus in measured.gpus:
            us = measured.us(name, method, gpus, WEAK * gpus)
            if us:
                efficiency = f"{alone / us:.1%}" if alone else "-"
                rows.append([*named(name, method), str(gpus), figure(us), f"{4e-3 * WEAK * gpus / us:,.0f}", efficiency])
    return table(["way", "host threads", "GPUs", "us", "GB/s in all", "efficiency"], rows)


def ahead(measured: Measured, eight: Measured) -> str:
    """one_kernel against CUB and NCCL, and whether its bits are always the same."""
    rows = []
    for of, gpus in [*((measured, gpus) for gpus in measured.gpus if gpus > 1), (eight, eight.gpus[-1])]:
        times = [(of.us("CUB + ncclReduce", "threads", gpus, n), of.us("one_kernel", "threads", gpus, n)) for n in SIZES]
        rows.append([str(gpus), *(f"{nccl / own:.2f}" if nccl and own else "-" for nccl, own in times)])
    bits = [each for of in (measured, eight) for each in of.known["bits"]]
    most = max(each["different_results"] for each in bits)
    same = "all results had the same bits" if most == 1 else f"up to {most} different results came out"
    runs = f"In {bits[0]['runs']} runs each of {len(bits)} cases, with an input whose sum rounds, {same}."
    return table(["GPUs", *(power(n) for n in SIZES)], rows) + "\n\n" + runs


def links(measured: Measured, made: dict) -> str:
    found = measured.known["links"]
    reached = made["levels"]["link"]["gb_per_s"]

    def middle(key: str) -> float:
        return statistics.median(each[key] for each in found)

    return (
        f"Between any two of the GPUs (medians over {len(found)} pairs): {middle('gb_per_s'):.0f} GB/s one way, {middle('both_ways_gb_per_s'):.0f} GB/s "
        f"both ways together; a copy of few bytes takes {middle('copy_us'):.1f} us, and a read of the other's memory that waits for the one before "
        f"{middle('read_us'):.2f} us. NCCL's all-reduce over two GPUs reaches {reached / middle('gb_per_s'):.0%} of the bandwidth of a copy (fitted)."
    )


def collectives(measured: Measured) -> str:
    found = {(each["algorithm"], each["gpus"], each["bytes"]): each["us"] for each in measured.known["collectives"] if each["gpus"] > 1}
    kinds = sorted({key[:2] for key in found})
    rows = []
    for size in sorted({key[2] for key in found}):
        cells = [figure(found.get((*kind, size))) for kind in kinds]
        rows.append([f"{size:,}", *cells])
    return table(["bytes", *(f"{algorithm}, {gpus} GPUs" for algorithm, gpus in kinds)], rows)


# ---- the model -----------------------------------------------------------------------------------------------------------------


def constants(made: dict) -> str:
    rows = [
        [
            f"`{way}`",
            *named(*each["measured_as"]),
            *(f"{each[key]:.3g}" for key in ("start_us", "next_us", "issue_us", "tail_us")),
            f"{each['gb_per_s']:,.0f}",
        ]
        for way, each in made["ways"].items()
    ]
    ways = table(["way", "fitted to", "host threads", "start, us", "next, us", "issue, us", "tail, us", "reading, GB/s"], rows)
    protocols = made["protocols"]
    rows = [
        [name, *(f"{each[kind][p]:.3g}" for kind in ("ring_step_us", "tree_step_us") for p in protocols), f"{each['gb_per_s']:,.0f}",
         "measured" if each["measured"] else "**published, not measured here**"]
        for name, each in made["levels"].items()
    ]  # fmt: skip
    heads = [f"{kind}, {name}, us" for kind in ("ring", "tree") for name in protocols]
    levels = table(["level", *heads, "GB/s", "source"], rows)
    rows = [[name, f"{each['base_us']:.1f}", f"{each['share']:.2f}", f"{each['tree_share']:.2f}"] for name, each in protocols.items()]
    return "\n\n".join([ways, levels, table(["protocol", "base, us", "share of bandwidth, ring", "tree"], rows)])


def network(made: dict) -> str:
    return "The network's constants: " + re.sub(r"(https://[^\s,:]+[^\s,:.])", r"<\1>", made["levels"]["network"]["from"]) + "."


def pairs(measured: Measured, made: dict, only: int | None = None) -> dict[str, list[tuple[float, float, str]]]:
    """Predicted, measured, and what it is, by way; on `only` so many GPUs."""
    found: dict[str, list[tuple[float, float, str]]] = {}
    k = scaling.constants_in(made)
    for way, fit in made["ways"].items():
        for (name, method, gpus, n), each in measured.times.items():
            if [name, method] == fit["measured_as"] and gpus == (only or gpus):
                what = f"{gpus} GPU{'s' if gpus > 1 else ''}, {power(n)}"
                found.setdefault(way, []).append((scaling.parts(way, n, gpus, k).us, each["us"], what))
    for each in measured.known["collectives"]:
        if each["gpus"] > 1 and each["gpus"] == (only or each["gpus"]):
            us = scaling.all_reduce_us(each["bytes"], each["gpus"], each["algorithm"], k)
            found.setdefault(f"all-reduce by {each['algorithm']}", []).append(
                (us, each["us"], f"{each['gpus']} GPUs, {each['bytes']:,} bytes")
            )
    return found


def errors(measured: Measured, made: dict, only: int | None = None) -> str:
    rows = []
    for way, cases in pairs(measured, made, only).items():
        off = [abs(us / seen - 1) for us, seen, _ in cases]
        us, seen, what = max(cases, key=lambda case: abs(case[0] / case[1] - 1))
        rows.append(
            [f"`{way}`" if "_" in way else way, str(len(cases)), f"{statistics.median(off):.1%}", f"{max(off):.0%}",
             f"{what}: {figure(us)} predicted, {figure(seen)} measured"]
        )  # fmt: skip
    return table(["way", "cases", "median error", "largest", "where"], rows)


def held_out(measured: Measured, made: dict) -> str:
    """Predicted and measured on the most GPUs, by way and n."""
    k, gpus = scaling.constants_in(made), measured.gpus[-1]
    sizes = [n for n in [*SIZES, WEAK * gpus] if any(key[2:] == (gpus, n) for key in measured.times)]
    rows = []
    for way, fit in made["ways"].items():
        cells = [f"{figure(scaling.parts(way, n, gpus, k).us)} / {figure(measured.us(*fit['measured_as'], gpus, n))}" for n in sizes]
        rows.append([*named(*fit["measured_as"]), *cells])
    return table(["way", "host threads", *(power(n) for n in sizes)], rows)


def other_machine(measured: Measured, other: Measured) -> str:
    """How far two machines are apart where both measured the same."""
    off = [abs(each["us"] / measured.times[key]["us"] - 1) for key, each in other.times.items() if key in measured.times]
    return (
        f"Part of this is the machine: with up to {measured.gpus[-1]} GPUs, where both machines measured the same {len(off)} cases, they differ by "
        f"{statistics.median(off):.1%} in the median and by {max(off):.0%} at most."
    )


# ---- what others published ----------------------------------------------------------------------------------------------------


def predicted_us(of: dict, k: scaling.Constants) -> tuple[float, str]:
    """As nccl-tests measures it."""
    algorithms = [of["algorithm"]] if "algorithm" in of else [scaling.RING, scaling.TREE]
    return min((scaling.all_reduce_us(of["size"], of["gpus"], algorithm, k, queued=True), algorithm) for algorithm in algorithms)


def bytes_of(size: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (1024, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,} B"


def against(published: list[dict], k: scaling.Constants) -> str:
    rows = []
    for each in published:
        us, algorithm = predicted_us(each, k)
        if "us" in each:
            seen, made, ratio = f"{each['us']:,.1f} us", f"{us:,.1f} us", us / each["us"]
        else:
            reached = scaling.bus_bandwidth(each["size"], each["gpus"], us)
            seen, made, ratio = f"{each['bus_gb_per_s']:,.0f} GB/s", f"{reached:,.0f} GB/s", reached / each["bus_gb_per_s"]
        rows.append(
            [
                f"[{each['what']}]({each['source']})",
                f"{each['gpus']:,}",
                bytes_of(each["size"]),
                seen,
                f"{made}, {algorithm}",
                f"{ratio:.2f}",
                each.get("remark", ""),
            ]
        )
    return table(["source", "GPUs", "bytes", "published", "predicted", "ratio", "remark"], rows)


def summit(published: dict, k: scaling.Constants) -> str:
    source, gpus, node, times = (published[key] for key in ("source", "gpus", "node", "times"))
    ring, tree = (
        k.protocols["LL"].base_us - k.queued_us + scaling.step_us(each, gpus, "LL", k, node) for each in (scaling.RING, scaling.TREE)
    )
    return (
        f"On {gpus:,} V100 (Summit, {node} per node) NVIDIA found trees [up to {times} times]({source}) quicker than rings with few bytes. "
        f"With the constants above, which are for other GPUs and another network, the model gives {ring / tree:,.0f} times."
    )


# ---- to 16,384 --------------------------------------------------------------------------------------------------------------


def first(found: list[tuple[int, scaling.Parts]], fits) -> int | None:
    return next((gpus for gpus, parts in found if fits(parts)), None)


def findings(k: scaling.Constants) -> str:
    tree, chain = sweep("all_reduce_tree", k, True), sweep("rank_per_gpu", k, True)
    lines = []
    for name, found in (("`ncclAllReduce` by a tree", tree), ("`ncclReduce`", chain)):
        dearer = first(found, lambda parts: parts.exchange > parts.reading)
        best_gpus, best = min(found, key=lambda each: each[1].us)
        lines.append(
            f"- Strong scaling, {power(STRONG)} floats, {name}: from {dearer:,} GPUs on, bringing the sums together is predicted to cost more than "
            f"reading them. Of all powers of two, {best_gpus:,} GPUs take the least time, {figure(best.us)} us."
        )
    launch = first(tree, lambda parts: parts.launch > parts.reading)
    lines.append(
        f"- From {launch:,} GPUs on, launching a kernel alone is predicted to take longer than reading its share of {power(STRONG)} floats."
    )
    for name, way in (("a tree", "all_reduce_tree"), ("`ncclReduce`", "rank_per_gpu")):
        found = dict(sweep(way, k, False))
        lines.append(
            f"- Weak scaling, {power(WEAK)} floats per GPU, {name}: {found[1].us / found[64].us:.1%} of one GPU's speed per GPU is predicted on 64 GPUs, "
            f"{found[1].us / found[1024].us:.1%} on 1,024 and {found[1].us / found[scaling.MOST].us:.1%} on {scaling.MOST:,}."
        )
    return "\n".join(lines)


def predictions(k: scaling.Constants) -> str:
    shown = [8, 64, 512, 4096, 16384]
    rows = []
    for strong_scaling in (True, False):
        for way, name in DRAWN.items():
            found = dict(sweep(way, k, strong_scaling))
            n = power(STRONG) if strong_scaling else f"{power(WEAK)} per GPU"
            rows.append([n, f"`{name}`" if "_" in name else name, *(figure(found[gpus].us) if gpus in found else "-" for gpus in shown)])
    return table(["floats", "predicted us", *(f"{gpus:,} GPUs" for gpus in shown)], rows)


# ---- the page ----------------------------------------------------------------------------------------------------------------------


def fill(page: str, blocks: dict[str, str]) -> str:
    for name, text in blocks.items():
        mark = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if len(mark.findall(page)) != 1:
            raise SystemExit(f"{PAGE.name} must have <!-- {name} --> and <!-- /{name} --> once")
        page = mark.sub(lambda found, text=text: found[1] + "\n" + text + "\n\n" + found[2], page)
    return pages.filled(page)


def blocks(measured: Measured, eight: Measured, made: dict, published: dict) -> dict[str, str]:
    k = scaling.constants_in(made)
    return {
        "device": device(measured),
        "strong": strong(measured),
        "weak": weak(measured),
        "ahead": ahead(measured, eight),
        "links": links(measured, made),
        "collectives": collectives(measured),
        "constants": constants(made) + "\n\n" + network(made),
        "errors": errors(measured, made),
        "held-out": "\n\n".join(
            [device(eight), held_out(eight, made), errors(eight, made, eight.gpus[-1]), other_machine(measured, eight)]
        ),
        "published": against(published["all_reduce"], k) + "\n\n" + summit(published["ring_over_tree"], k),
        "predictions": predictions(k),
        "findings": findings(k),
    }


def main() -> None:
    files = (plot_scaling.DATA, plot_scaling.EIGHT, scaling.FILE, PUBLISHED)
    measured, eight, made, published = (json.loads(file.read_text()) for file in files)
    plot_scaling.main()
    PAGE.write_text(fill(PAGE.read_text(), blocks(Measured(measured), Measured(eight), made, published)))


if __name__ == "__main__":
    main()
