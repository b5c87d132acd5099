#!/usr/bin/env python3
"""Draws many_gpus.svg: strong and weak scaling as measured (many_gpus_h200.json, to which the model was fitted, and
many_gpus_8_h200.json, to which it was not), and as the model predicts it (scaling_h200.json)."""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "common"))

from kit.many_gpus import scaling

HERE = Path(__file__).resolve().parent
DATA, EIGHT, PICTURE = HERE / "many_gpus_h200.json", HERE / "many_gpus_8_h200.json", HERE / "many_gpus.svg"
STRONG, WEAK = 2**33, 2**32  # floats in all, and per GPU
POWERS = [2**exponent for exponent in range(scaling.MOST.bit_length())]
DRAWN = {
    "all_reduce_tree": "ncclAllReduce, tree",
    "rank_per_gpu": "ncclReduce (a ring)",
    "all_reduce_ring": "ncclAllReduce, ring",
    "one_kernel_threads": "one_kernel",
}
COLOURS = {"all_reduce_tree": "#2f6f9f", "rank_per_gpu": "#b3541e", "all_reduce_ring": "#8a6d1f", "one_kernel_threads": "#2a8f5f"}
MEASURED_LINES = {"rank_per_gpu": ("CUB + ncclReduce", "threads"), "one_kernel_threads": ("one_kernel", "threads")}

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


def power(n: int) -> str:
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else f"{n:,}"


def figure(us: float | None) -> str:
    return "-" if us is None else f"{us:.1f}" if us < 1000 else f"{us:,.0f}"


class Measured:
    def __init__(self, known: dict):
        self.known = known
        self.times = {(each["name"], each["method"], each["gpus"], each["n"]): each for each in known["times"]}
        self.gpus = sorted({each["gpus"] for each in known["times"]})

    def us(self, name: str, method: str, gpus: int, n: int) -> float | None:
        found = self.times.get((name, method, gpus, n))
        return found["us"] if found else None


def sweep(way: str, k: scaling.Constants, strong_scaling: bool) -> list[tuple[int, scaling.Parts]]:
    return [(gpus, found) for gpus in POWERS if (found := scaling.parts(way, STRONG if strong_scaling else WEAK * gpus, gpus, k))]


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
        made.append(f'<text class="heading" x="{edge - 4:.1f}" y="{TOP - 8}" text-anchor="end">fitted to</text>')
        made.append(f'<text class="heading" x="{edge + 6:.1f}" y="{TOP - 8}">predicted</text>')
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


def dots(measured: Measured, way: str, hollow: bool, time: Panel, speed: Panel) -> list[str]:
    """What was measured; of the run that was held out, only what no other run has: the most GPUs."""
    if way not in MEASURED_LINES:
        return []
    line = MEASURED_LINES[way]
    style = f'fill="none" stroke="{COLOURS[way]}" stroke-width="2"' if hollow else f'fill="{COLOURS[way]}"'
    made = []
    for gpus in measured.gpus[-1:] if hollow else measured.gpus:
        if us := measured.us(*line, gpus, STRONG):
            made.append(f'<circle cx="{time.x(gpus):.1f}" cy="{time.y(us):.1f}" r="4" {style}/>')
        us, one = measured.us(*line, gpus, WEAK * gpus), measured.us(*line, 1, WEAK)
        if us and one:
            made.append(f'<circle cx="{speed.x(gpus):.1f}" cy="{speed.y(one / us):.1f}" r="4" {style}/>')
    return made


def draw(measured: Measured, held_out: Measured, k: scaling.Constants) -> str:
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
        for each, hollow in ((measured, False), (held_out, True)):
            made += dots(each, way, hollow, time, speed)
    for panel, names in ends.items():
        made += labels(panel, names)
    width, height = LEFT + 2 * (WIDTH + LABELS) + GAP, TOP + HEIGHT + 44
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t d">'
        f'<title id="t">Sums over many H200: measured up to {held_out.gpus[-1]} GPUs, predicted up to {scaling.MOST:,}</title>'
        f'<desc id="d">{"; ".join(words)}</desc><style>{STYLE}</style>'
        f'<text class="title" x="{LEFT}" y="20">Strong scaling: {raised(STRONG)} floats in all</text>'
        f'<text class="heading" x="{LEFT}" y="37">microseconds; dots: measured (hollow: not fitted to); dashes: predicted</text>'
        f'<text class="title" x="{speed.left}" y="20">Weak scaling: {raised(WEAK)} floats per GPU</text>'
        f'<text class="heading" x="{speed.left}" y="37">efficiency: speed per GPU, of one GPU alone</text>' + "".join(made) + "</svg>\n"
    )


def main() -> None:
    measured, held_out = (Measured(json.loads(file.read_text())) for file in (DATA, EIGHT))
    PICTURE.write_text(draw(measured, held_out, scaling.fitted()))


if __name__ == "__main__":
    main()
