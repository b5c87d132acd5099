#!/usr/bin/env python3
"""Draws many_gpus.svg and fills the tables and figures of many_gpus.md, from many_gpus_h200.json (measured) and scaling_h200.json
(the model, fitted to it by tests/gpu/fit_scaling.py). Whatever stands between two marks of the page is written by this program."""

import json
import math
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "common"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "gpu"))

from fit_scaling import MEASURED_AS
from kit.ladder import scaling

HERE = Path(__file__).resolve().parent
DATA, PAGE, PICTURE = HERE / "many_gpus_h200.json", HERE / "many_gpus.md", HERE / "many_gpus.svg"
STRONG, WEAK = 2**33, 2**32  # floats in all, and per GPU
SIZES = [2**exponent for exponent in (14, 17, 20, 23, 26, 29, 32, 33)]
LINES = [
    ("one_kernel", "threads"), ("one_kernel", "rungs"), ("peer_reads", "rungs"), ("peer_copies", "rungs"), ("nccl_reduce", "rungs"),
    ("CUB + ncclReduce", "threads"), ("CUB + peer copies", "threads"), ("CUB, parts alone", "threads"), ("champion, parts alone", "threads"),
]  # fmt: skip


def power(n: int) -> str:
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else f"{n:,}"


def figure(us: float | None) -> str:
    return "-" if us is None else f"{us:.1f}" if us < 1000 else f"{us:,.0f}"


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def table(headings: list[str], rows: list[list[str]]) -> str:
    return "\n".join([row(*headings), "|" + "---|" * len(headings), *(row(*cells) for cells in rows)])


class Measured:
    def __init__(self, known: dict):
        self.known = known
        self.times = {(each["name"], each["method"], each["gpus"], each["n"]): each for each in known["times"]}
        self.gpus = sorted({each["gpus"] for each in known["times"]})

    def us(self, name: str, method: str, gpus: int, n: int) -> float | None:
        found = self.times.get((name, method, gpus, n))
        return found["us"] if found else None

    def lines(self) -> list[tuple[str, str]]:
        return [line for line in LINES if any(key[:2] == line for key in self.times)]


def named(name: str, method: str) -> str:
    how = {"rungs": "one host thread", "threads": "a host thread per GPU"}[method]
    return f"`{name}`, {how}" if "_" in name else f"{name}, {how}"


# ---- what was measured -----------------------------------------------------------------------------------------------------


def device(measured: Measured) -> str:
    known = measured.known
    when = f", {known['date']}" if "date" in known else ""
    return f"{known['gpus']} {known['device']} in one machine, driver {known['driver']}, NCCL {known['nccl']}{when}."


def strong(measured: Measured) -> str:
    rows = []
    for gpus in measured.gpus:
        for name, method in measured.lines():
            cells = [figure(measured.us(name, method, gpus, n)) for n in SIZES]
            if set(cells) != {"-"}:
                rows.append([str(gpus), named(name, method), *cells])
    return table(["GPUs", "us", *(power(n) for n in SIZES)], rows)


def weak(measured: Measured) -> str:
    rows = []
    for name, method in measured.lines():
        alone = measured.us("champion, parts alone", "threads", 1, WEAK)
        for gpus in measured.gpus:
            us = measured.us(name, method, gpus, WEAK * gpus)
            if us:
                efficiency = f"{alone / us:.1%}" if alone else "-"
                rows.append([named(name, method), str(gpus), figure(us), f"{4e-3 * WEAK * gpus / us:,.0f}", efficiency])
    return table(["way", "GPUs", "us", "GB/s in all", "efficiency"], rows)


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
            each["from"],
            *(f"{each[key]:.3g}" for key in ("start_us", "next_us", "issue_us", "tail_us")),
            f"{each['gb_per_s']:,.0f}",
        ]
        for way, each in made["ways"].items()
    ]
    ways = table(["way", "fitted to", "start, us", "next, us", "issue, us", "tail, us", "reading, GB/s"], rows)
    protocols = made["protocols"]
    rows = [
        [name, *(f"{each[kind][p]:.3g}" for kind in ("ring_step_us", "tree_step_us") for p in protocols), f"{each['gb_per_s']:,.0f}",
         "measured" if each["measured"] else "**published, not measured here**"]
        for name, each in made["levels"].items()
    ]  # fmt: skip
    heads = [f"{kind}, {name}, us" for kind in ("ring", "tree") for name in protocols]
    levels = table(["level", *heads, "GB/s", ""], rows)
    rows = [[name, f"{each['base_us']:.1f}", f"{each['share']:.2f}", f"{each['tree_share']:.2f}"] for name, each in protocols.items()]
    return "\n\n".join([ways, levels, table(["protocol", "base, us", "share of bandwidth, ring", "tree"], rows)])


def network(made: dict) -> str:
    return "The network's constants: " + re.sub(r"(https://[^\s,:]+[^\s,:.])", r"<\1>", made["levels"]["network"]["from"]) + "."


def pairs(measured: Measured, k: scaling.Constants) -> dict[str, list[tuple[float, float, str]]]:
    """Predicted, measured, and what it is, by way."""
    found: dict[str, list[tuple[float, float, str]]] = {}
    for way, line in MEASURED_AS.items():
        for (name, method, gpus, n), each in measured.times.items():
            if (name, method) == line and way in k.ways:
                what = f"{gpus} GPU{'s' if gpus > 1 else ''}, {power(n)}"
                found.setdefault(way, []).append((scaling.parts(way, n, gpus, k).us, each["us"], what))
    for each in measured.known["collectives"]:
        if each["gpus"] > 1:
            us = scaling.all_reduce_us(each["bytes"], each["gpus"], each["algorithm"], k)
            found.setdefault(f"all-reduce by {each['algorithm']}", []).append(
                (us, each["us"], f"{each['gpus']} GPUs, {each['bytes']:,} bytes")
            )
    return found


def errors(measured: Measured, k: scaling.Constants) -> str:
    rows = []
    for way, cases in pairs(measured, k).items():
        off = [abs(us / seen - 1) for us, seen, _ in cases]
        us, seen, what = max(cases, key=lambda case: abs(case[0] / case[1] - 1))
        rows.append(
            [f"`{way}`" if "_" in way else way, str(len(cases)), f"{statistics.median(off):.1%}", f"{max(off):.0%}",
             f"{what}: {figure(us)} predicted, {figure(seen)} measured"]
        )  # fmt: skip
    return table(["way", "cases", "median error", "largest", "where"], rows)


# ---- what others published -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    source: str
    what: str
    gpus: int
    size: int
    us: float | None  # or the next
    bus_gb_per_s: float | None
    algorithm: str | None  # that the source forced or names; None: NCCL's choice, held against the better of ring and tree
    remark: str = ""


MIB = 2**20
TUNED = "https://github.com/NVIDIA/dgxc-benchmarking/tree/main/nccl"
PUBLISHED = [
    Published(TUNED, "NVIDIA, DGX H100", 8, 8, 13.0, None, scaling.RING),
    Published(TUNED, "NVIDIA, DGX H100", 8, 65536, 18.85, None, scaling.RING),
    Published(TUNED, "NVIDIA, DGX H100", 8, MIB, 26.9, None, scaling.RING),
    Published("https://github.com/NVIDIA/nccl/issues/1455", "H100 SXM, ring", 2, 4096 * MIB, None, 367.5, scaling.RING, "365 to 370"),
    Published("https://github.com/NVIDIA/nccl/issues/1455", "H100 SXM, ring", 4, 4096 * MIB, None, 367.5, scaling.RING, "365 to 370"),
    Published(
        "https://github.com/stas00/ml-engineering/blob/master/network/benchmarks/results/all-reduce-8xH200.md",
        "H200, without NVLink SHARP", 8, 16384 * MIB, None, 367.6, scaling.RING,
    ),
    Published("https://github.com/NVIDIA/nccl-tests/issues/309", "H100, without NVLS", 8, 16384 * MIB, None, 368.8, scaling.RING),
    Published(
        "https://github.com/NVIDIA/nccl-tests/issues/290", "two nodes, ring, 8 adapters of 400 Gb/s", 16, 16384 * MIB, None, 376.0, scaling.RING,
        "the model's constant is from here",
    ),
    Published("https://github.com/drmysore/nebius-h100-16gpu-benchmark", "two nodes of H100, InfiniBand", 16, MIB, 88.0, None, None),
    Published("https://github.com/drmysore/nebius-h100-16gpu-benchmark", "two nodes of H100, InfiniBand", 16, 100 * MIB, 647.0, None, None),
    Published("https://github.com/drmysore/nebius-h100-16gpu-benchmark", "two nodes of H100, InfiniBand", 16, 1000 * MIB, 4520.0, None, None),
    Published("https://github.com/NVIDIA/nccl/issues/1244", "two nodes of H20, InfiniBand", 16, 4, 47.5, None, None, "measured with NVLSTree"),
    Published(
        "https://github.com/lessizzmore/create-a3mega-ztan-fork/blob/main/ztan-NCCL-test-result", "two nodes of H100, Ethernet of a cloud",
        16, 8, 123.0, None, None, "not InfiniBand",
    ),
    Published("https://github.com/NVIDIA/nccl-tests/issues/283", "248 nodes of H200", 1984, 512 * MIB, None, 350.0, None, "unsteady, at times below 300"),
]  # fmt: skip
SUMMIT = (
    "https://developer.nvidia.com/blog/massively-scale-deep-learning-training-nccl-2-4/",
    24576,
    6,
    180,
)  # GPUs, in a node, ring over tree


def predicted_us(of: Published, k: scaling.Constants) -> tuple[float, str]:
    """As nccl-tests measures it."""
    algorithms = [of.algorithm] if of.algorithm else [scaling.RING, scaling.TREE]
    return min((scaling.all_reduce_us(of.size, of.gpus, algorithm, k, queued=True), algorithm) for algorithm in algorithms)


def bytes_of(size: int) -> str:
    for unit, name in ((2**30, "GiB"), (MIB, "MiB"), (1024, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,} B"


def against(k: scaling.Constants) -> str:
    rows = []
    for each in PUBLISHED:
        us, algorithm = predicted_us(each, k)
        if each.us:
            seen, made, ratio = f"{each.us:,.1f} us", f"{us:,.1f} us", us / each.us
        else:
            reached = scaling.bus_bandwidth(each.size, each.gpus, us)
            seen, made, ratio = f"{each.bus_gb_per_s:,.0f} GB/s", f"{reached:,.0f} GB/s", reached / each.bus_gb_per_s
        rows.append(
            [
                f"[{each.what}]({each.source})",
                f"{each.gpus:,}",
                bytes_of(each.size),
                seen,
                f"{made}, {algorithm}",
                f"{ratio:.2f}",
                each.remark,
            ]
        )
    return table(["source", "GPUs", "bytes", "published", "predicted", "ratio", ""], rows)


def summit(k: scaling.Constants) -> str:
    source, gpus, node, times = SUMMIT
    ring, tree = (
        k.protocols["LL"].base_us - k.queued_us + scaling.step_us(each, gpus, "LL", k, node) for each in (scaling.RING, scaling.TREE)
    )
    return (
        f"On {gpus:,} V100 (Summit, {node} per node) NVIDIA found trees [up to {times} times]({source}) quicker than rings with few bytes. "
        f"With the constants above, which are for other GPUs and another network, the model gives {ring / tree:,.0f} times."
    )


# ---- to 16,384 -------------------------------------------------------------------------------------------------------------------

POWERS = [2**exponent for exponent in range(scaling.MOST.bit_length())]
DRAWN = {
    "all_reduce_tree": "ncclAllReduce, tree",
    "rank_per_gpu": "ncclReduce (a ring)",
    "all_reduce_ring": "ncclAllReduce, ring",
    "one_kernel": "one_kernel",
}
COLOURS = {"all_reduce_tree": "#2f6f9f", "rank_per_gpu": "#b3541e", "all_reduce_ring": "#8a6d1f", "one_kernel": "#2a8f5f"}
MEASURED_LINES = {"rank_per_gpu": ("CUB + ncclReduce", "threads"), "one_kernel": ("one_kernel", "threads")}


def sweep(way: str, k: scaling.Constants, strong_scaling: bool) -> list[tuple[int, scaling.Parts]]:
    return [(gpus, found) for gpus in POWERS if (found := scaling.parts(way, STRONG if strong_scaling else WEAK * gpus, gpus, k))]


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
            f"reading them. The least time is {figure(best.us)} us, on {best_gpus:,} GPUs."
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


STYLE = """
  text { font: 11px system-ui, sans-serif; fill: #24292f; }
  .title { font-size: 14px; font-weight: 600; }
  .heading { fill: #57606a; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .edge { stroke: #57606a; stroke-width: 1; stroke-dasharray: 2 3; }
  .alone { stroke: #8c959f; stroke-width: 1.2; stroke-dasharray: 1 3; fill: none; }
  polyline { fill: none; stroke-width: 2; }
  .predicted { stroke-dasharray: 6 4; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .heading { fill: #9ea7b3; }
    .grid { stroke: #30363d; }
    .edge { stroke: #9ea7b3; }
  }
"""
LEFT, TOP, WIDTH, HEIGHT, GAP, LABELS = 62, 62, 400, 330, 78, 128


@dataclass(frozen=True)
class Panel:
    left: float
    low: float
    high: float
    logarithmic: bool

    def x(self, gpus: float) -> float:
        return self.left + WIDTH * math.log2(gpus) / math.log2(scaling.MOST)

    def y(self, value: float) -> float:
        def at(v: float) -> float:
            return math.log10(v) if self.logarithmic else v

        part = (at(self.high) - at(value)) / (at(self.high) - at(self.low))
        return TOP + HEIGHT * min(1.0, max(0.0, part))

    def points(self, values: list[tuple[int, float]]) -> str:
        return " ".join(f"{self.x(gpus):.1f},{self.y(value):.1f}" for gpus, value in values)

    def frame(self, ticks: list[float], shown, measured_to: int) -> list[str]:
        made = []
        for tick in ticks:
            made.append(f'<line class="grid" x1="{self.left}" y1="{self.y(tick):.1f}" x2="{self.left + WIDTH}" y2="{self.y(tick):.1f}"/>')
            made.append(f'<text x="{self.left - 6}" y="{self.y(tick) + 4:.1f}" text-anchor="end">{shown(tick)}</text>')
        for gpus in POWERS[::2]:
            made.append(f'<line class="grid" x1="{self.x(gpus):.1f}" y1="{TOP}" x2="{self.x(gpus):.1f}" y2="{TOP + HEIGHT}"/>')
            made.append(f'<text x="{self.x(gpus):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{gpus:,}</text>')
        edge = self.x(measured_to)
        made.append(f'<line class="edge" x1="{edge:.1f}" y1="{TOP - 6}" x2="{edge:.1f}" y2="{TOP + HEIGHT}"/>')
        made.append(f'<text class="heading" x="{edge - 4:.1f}" y="{TOP - 8}" text-anchor="end">measured</text>')
        made.append(f'<text class="heading" x="{edge + 6:.1f}" y="{TOP - 8}">predicted, nothing measured</text>')
        made.append(f'<text x="{self.left + WIDTH / 2}" y="{TOP + HEIGHT + 34}" text-anchor="middle">GPUs</text>')
        return made

    def line(self, values: list[tuple[int, float]], colour: str, measured_to: int) -> list[str]:
        near, far = ([each for each in values if each[0] <= measured_to], [each for each in values if each[0] >= measured_to])
        made = [f'<polyline points="{self.points(near)}" stroke="{colour}"/>']
        if len(far) > 1:
            made.append(f'<polyline class="predicted" points="{self.points(far)}" stroke="{colour}"/>')
        return made


def labels(panel: Panel, ends: list[tuple[float, int, str, str]]) -> list[str]:
    """The names of the lines, at their ends, moved apart where they would touch."""
    made, lowest = [], 0.0
    for y, gpus, name, colour in sorted(ends):
        at = panel.x(gpus)
        if gpus < scaling.MOST:  # ends amid other lines, all of which come from the upper left
            made.append(f'<text x="{at - 2:.1f}" y="{y + 16:.1f}" text-anchor="end">{name}</text>')
            continue
        lowest = max(y, lowest + 14)
        made.append(f'<line x1="{at:.1f}" y1="{y:.1f}" x2="{at + 6:.1f}" y2="{lowest:.1f}" stroke="{colour}" stroke-width="0.7"/>')
        made.append(f'<text x="{at + 8:.1f}" y="{lowest + 4:.1f}">{name}</text>')
    return made


def raised(n: int) -> str:
    return f'2<tspan dy="-5" font-size="10">{n.bit_length() - 1}</tspan><tspan dy="5"> </tspan>'


def draw(measured: Measured, k: scaling.Constants) -> str:
    most = k.most_gpus_measured
    time = Panel(LEFT, 10, 100_000, True)
    speed = Panel(LEFT + WIDTH + LABELS + GAP, 0, 1, False)
    made = time.frame([10, 100, 1000, 10_000, 100_000], lambda tick: f"{tick:,}", most)
    made += speed.frame([0, 0.25, 0.5, 0.75, 1], lambda tick: f"{tick:.0%}", most)
    alone = [(gpus, parts.reading) for gpus, parts in sweep("rank_per_gpu", k, True) if parts.reading >= time.low]
    made.append(f'<polyline class="alone" points="{time.points(alone)}"/>')
    made.append(f'<text class="heading" x="{time.x(alone[-1][0]) - 6:.1f}" y="{TOP + HEIGHT - 8}" text-anchor="end">reading alone</text>')
    ends: dict[Panel, list] = {time: [], speed: []}
    words = []
    for way, name in DRAWN.items():
        times = [(gpus, parts.us) for gpus, parts in sweep(way, k, True)]
        weak_times = dict(sweep(way, k, False))
        speeds = [(gpus, weak_times[1].us / parts.us) for gpus, parts in weak_times.items()]
        for panel, values in ((time, times), (speed, speeds)):
            made += panel.line(values, COLOURS[way], most)
            if len(values) > 1:
                ends[panel].append((panel.y(values[-1][1]), values[-1][0], name, COLOURS[way]))
        words.append(f"{name}, predicted: {figure(times[-1][1])} us for {power(STRONG)} floats on {times[-1][0]:,} GPUs, "
                     f"{speeds[-1][1]:.0%} of one GPU's speed per GPU with {power(WEAK)} each")  # fmt: skip
        if line := MEASURED_LINES.get(way):
            for gpus in measured.gpus:
                if us := measured.us(*line, gpus, STRONG):
                    made.append(f'<circle cx="{time.x(gpus):.1f}" cy="{time.y(us):.1f}" r="4" fill="{COLOURS[way]}"/>')
                us, one = measured.us(*line, gpus, WEAK * gpus), measured.us(*line, 1, WEAK)
                if us and one:
                    made.append(f'<circle cx="{speed.x(gpus):.1f}" cy="{speed.y(one / us):.1f}" r="4" fill="{COLOURS[way]}"/>')
    for panel, names in ends.items():
        made += labels(panel, names)
    width, height = LEFT + 2 * (WIDTH + LABELS) + GAP, TOP + HEIGHT + 44
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t d">'
        f'<title id="t">Sums over many H200: measured up to {most} GPUs, predicted up to {scaling.MOST:,}</title>'
        f'<desc id="d">{"; ".join(words)}</desc><style>{STYLE}</style>'
        f'<text class="title" x="{LEFT}" y="20">Strong scaling: {raised(STRONG)} floats in all</text>'
        f'<text class="heading" x="{LEFT}" y="37">microseconds; dots measured, dashes predicted</text>'
        f'<text class="title" x="{speed.left}" y="20">Weak scaling: {raised(WEAK)} floats per GPU</text>'
        f'<text class="heading" x="{speed.left}" y="37">efficiency: speed per GPU, of one GPU alone</text>' + "".join(made) + "</svg>\n"
    )


# ---- the page ----------------------------------------------------------------------------------------------------------------------


def fill(page: str, blocks: dict[str, str]) -> str:
    for name, text in blocks.items():
        mark = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if len(mark.findall(page)) != 1:
            raise SystemExit(f"{PAGE.name} must have <!-- {name} --> and <!-- /{name} --> once")
        page = mark.sub(lambda found, text=text: found[1] + "\n" + text + "\n\n" + found[2], page)
    return page


def blocks(measured: Measured, made: dict) -> dict[str, str]:
    k = scaling.constants_in(made)
    return {
        "device": device(measured),
        "strong": strong(measured),
        "weak": weak(measured),
        "collectives": collectives(measured),
        "constants": constants(made) + "\n\n" + network(made),
        "errors": errors(measured, k),
        "published": against(k) + "\n\n" + summit(k),
        "predictions": predictions(k),
        "findings": findings(k),
    }


def main() -> None:
    measured, made = Measured(json.loads(DATA.read_text())), json.loads(scaling.FILE.read_text())
    PICTURE.write_text(draw(measured, scaling.constants_in(made)))
    PAGE.write_text(fill(PAGE.read_text(), blocks(measured, made)))


if __name__ == "__main__":
    main()
