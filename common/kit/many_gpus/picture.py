"""Strong and weak scaling as a picture. Lines differ in dashes and marks as well as in colour, so that a grey print tells them apart."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from ..ladder import picture
from . import efficiency
from .efficiency import Line, Scaling
from .listing import gpus, power

TOP, HEIGHT = 78, 270
STRONG_LEFT, STRONG_WIDTH = 58, 372
WEAK_LEFT, WEAK_WIDTH = 508, 190
LABELS = 96  # beside the weak panel
MARGIN = 6
SHOWN_AT_LEAST = 0.02  # of efficiency, lest a tenth of a percent look like a fall
WIDTH = WEAK_LEFT + WEAK_WIDTH + LABELS
KEYS_TOP = TOP + HEIGHT + 44
NOTE = "Efficiency on p GPUs: GB/s in all, over p times the GB/s of the same line on one GPU."
KEYS_PER_ROW, KEY_WIDTH, KEY_HEIGHT = 3, WIDTH / 3, 18

STYLE = (
    picture.STYLE
    + """
  .grid { stroke: #d0d7de; }
  .axis { stroke: #57606a; }
  .small { font-size: 10px; }
  polyline { fill: none; stroke-width: 1.8; }
  .ideal { stroke: #57606a; stroke-width: 1; stroke-dasharray: 1 3; fill: none; }
  @media (prefers-color-scheme: dark) {
    .grid { stroke: #30363d; }
    .axis, .ideal { stroke: #9ea7b3; }
  }
"""
)


@dataclass(frozen=True)
class Look:
    colour: str
    dashes: str
    mark: str


# By name, so that a line looks the same in every picture.
LOOKS = {
    "peer_copies": Look("#b3541e", "6 3", "square"),
    "peer_reads": Look("#8a6d00", "2 2", "triangle"),
    "nccl_reduce": Look("#7a5195", "8 3 2 3", "cross"),
    "one_kernel": Look("#3d7a3d", "4 2", "circle"),
    "one_kernel, a thread per GPU": Look("#2f6f9f", "", "disc"),
    "CUB + ncclReduce": Look("#c0392b", "12 3", "diamond"),
    "CUB + peer copies": Look("#57606a", "3 5", "plus"),
    "rank_per_gpu": Look("#4361a8", "10 2 2 2", "diamond"),
}
OTHER = Look("#57606a", "1 2", "circle")


@dataclass(frozen=True)
class Axes:
    """From figures to places on the page."""

    left: float
    width: float
    x: tuple[float, float]  # the figures at the left and at the right end
    y: tuple[float, float]  # below and above

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return self.left + across * self.width, TOP + HEIGHT * (1 - up)

    def across(self, y: float, text: str) -> list[str]:
        """A line of the grid and its figure."""
        _, at = self.at(self.x[0], y)
        return [f'<line class="grid" x1="{self.left}" x2="{self.left + self.width}" y1="{at:.1f}" y2="{at:.1f}"/>',
                f'<text class="n small" x="{self.left - 6}" y="{at + 3.5:.1f}" text-anchor="end">{text}</text>']  # fmt: skip

    def below(self, x: float, text: str) -> list[str]:
        at, _ = self.at(x, self.y[0])
        return [f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP + HEIGHT}" y2="{TOP + HEIGHT + 4}"/>',
                f'<text class="n small" x="{at:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{text}</text>']  # fmt: skip

    def base(self) -> str:
        return f'<line class="axis" x1="{self.left}" x2="{self.left + self.width}" y1="{TOP + HEIGHT}" y2="{TOP + HEIGHT}"/>'


def draw(scaling: Scaling) -> str:
    lines = drawn(scaling)
    looks = {line.name: LOOKS.get(line.name, OTHER) for line in lines}
    what = f"{scaling.gpus} x {scaling.device}, {'predicted by a model, not measured' if scaling.predicted else 'measured in one run'}"
    rows = math.ceil((len(lines) + bool(scaling.champion())) / KEYS_PER_ROW)
    height = KEYS_TOP + rows * KEY_HEIGHT + 12
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} 0 {WIDTH + MARGIN} {height}" role="img" aria-labelledby="title text">',
        f'<title id="title">Sums over several GPUs: {escape(what)}</title>',
        f'<desc id="text">{escape(description(scaling, lines))}</desc>',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="0" y="16">Sums over {escape(gpus(scaling.gpus))}</text>',
        f'<text class="heading" x="0" y="33">{escape(what)}</text>',
        *strong_panel(scaling, lines, looks),
        *weak_panel(scaling, lines, looks),
        *keys(scaling, lines, looks),
        f'<text class="n small" x="0" y="{height - 6}">{NOTE}</text>',
        "</svg>",
        "",
    ])  # fmt: skip


def drawn(scaling: Scaling) -> list[Line]:
    """The rungs and what NCCL is beside them: what brings no sums together is only the limit."""
    return [line for line in scaling.lines if not line.name.endswith("parts alone")]


def strong_panel(scaling: Scaling, lines: list[Line], looks: dict[str, Look]) -> list[str]:
    sizes = scaling.sizes()
    curves = {line.name: [(n, value) for n in sizes if (value := efficiency.gb_per_s(line, scaling.gpus, n))] for line in lines}
    ideal = [(n, value) for n in sizes if (value := at_best(scaling, n))]
    values = [value for points in [*curves.values(), ideal] for _, value in points]
    if not values:
        return []
    rates = rounded(min(values), max(values))
    axes = Axes(STRONG_LEFT, STRONG_WIDTH, (math.log2(sizes[0]), math.log2(sizes[-1])), (math.log10(rates[0]), math.log10(rates[-1])))
    parts = heading(STRONG_LEFT, "Strong scaling: GB/s in all (log)", "by elements in all (log)")
    for rate in rates:
        parts += axes.across(math.log10(rate), f"{rate:,g}")
    for n in sizes:
        parts += axes.below(math.log2(n), power(n) if n in labelled(sizes) else "")
    parts.append(axes.base())
    parts.append(polyline("ideal", "", [axes.at(math.log2(n), math.log10(value)) for n, value in ideal]))
    for line in lines:
        parts += curve([axes.at(math.log2(n), math.log10(value)) for n, value in curves[line.name]], looks[line.name])
    return parts


def labelled(sizes: list[int]) -> list[int]:
    """As many as have room for their names, and the last."""
    room = math.log2(sizes[-1] / sizes[0]) * 34 / STRONG_WIDTH
    kept = [sizes[-1]]
    for n in sizes:
        if math.log2(sizes[-1] / n) >= room and (len(kept) == 1 or math.log2(n / kept[-1]) >= room):
            kept.append(n)
    return kept


def rounded(least: float, most: float) -> list[float]:
    """1, 3, 10, 30 ...: the last below all figures, to the first above them."""
    steps = [digit * 10.0**exponent for exponent in range(-6, 9) for digit in (1, 3)]
    return [step for step, after in zip(steps, steps[1:], strict=False) if after > least and step < most] + [
        next(step for step in steps if step >= most)
    ]


def at_best(scaling: Scaling, n: int) -> float | None:
    """So many times what the champion reads per second on one GPU."""
    champion = scaling.champion()
    alone = efficiency.gb_per_s(champion, 1, n) if champion else None
    return scaling.gpus * alone if alone else None


def weak_panel(scaling: Scaling, lines: list[Line], looks: dict[str, Look]) -> list[str]:
    counts = scaling.counts()
    curves = {line.name: [(count, value) for count in counts if (value := efficiency.weak(line, count))] for line in lines}
    values = [value for points in curves.values() for _, value in points]
    if not values:
        return []
    steps = percents(min(*values, 1 - SHOWN_AT_LEAST), max(values))
    low, high = steps[0], steps[-1]
    axes = Axes(WEAK_LEFT, WEAK_WIDTH, (math.log2(counts[0]), math.log2(counts[-1])), (low, high))
    note = "" if low == 0 else f"; the scale begins at {100 * low:g}%"
    parts = heading(WEAK_LEFT, "Weak scaling: efficiency", f"2^32 elements per GPU{note}")
    for value in steps:
        parts += axes.across(value, f"{100 * value:.4g}%")
    for count in counts:
        parts += axes.below(math.log2(count), gpus(count))
    parts.append(axes.base())
    ends = {}
    for line in lines:
        points = [axes.at(math.log2(count), value) for count, value in curves[line.name]]
        parts += curve(points, looks[line.name])
        if points and curves[line.name][-1][0] == counts[-1]:
            ends[line.name] = (points[-1][1], curves[line.name][-1][1])
    return [*parts, *end_labels(ends, looks)]


def percents(least: float, most: float) -> list[float]:
    """Round figures from below the least to above the most, 100 % among them, at most seven."""
    least, most = min(least, 1.0), max(most, 1.0)
    for step in (0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2):
        below, above = math.ceil((1 - least) / step - 1e-9), math.ceil((most - 1) / step - 1e-9)
        if below + above <= 6:
            break
    return [1 + step * k for k in range(-max(below, 1), above + 1)]


def end_labels(ends: dict[str, tuple[float, float]], looks: dict[str, Look]) -> Iterator[str]:
    """The last figure of each line beside it, moved apart where they would lie on each other."""
    x, below = WEAK_LEFT + WEAK_WIDTH + 10, TOP - 8.0
    for name, (y, value) in sorted(ends.items(), key=lambda item: item[1][0]):
        below = max(y, below + 12)
        yield mark(x + 4, below, looks[name])
        yield f'<text class="value" x="{x + 12}" y="{below + 3.5:.1f}">{100 * value:.2f}%</text>'


def heading(x: float, first: str, second: str) -> list[str]:
    return [f'<text x="{x}" y="{TOP - 25}">{escape(first)}</text>', f'<text class="n small" x="{x}" y="{TOP - 12}">{escape(second)}</text>']


def polyline(style: str, more: str, points: list[tuple[float, float]]) -> str:
    return f'<polyline class="{style}" {more} points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def curve(points: list[tuple[float, float]], look: Look) -> list[str]:
    dashes = f'stroke-dasharray="{look.dashes}"' if look.dashes else ""
    return [polyline("curve", f'stroke="{look.colour}" {dashes}', points), *(mark(x, y, look) for x, y in points)]


def mark(x: float, y: float, look: Look) -> str:
    size = 3.2
    shapes = {
        "square": f"M{x - size:.1f} {y - size:.1f}h{2 * size}v{2 * size}h{-2 * size}z",
        "triangle": f"M{x:.1f} {y - size - 1:.1f}l{size + 1} {2 * size + 1}h{-2 * size - 2}z",
        "diamond": f"M{x:.1f} {y - size - 1.5:.1f}l{size + 1} {size + 1.5}l{-size - 1} {size + 1.5}l{-size - 1} {-size - 1.5}z",
        "cross": f"M{x - size:.1f} {y - size:.1f}l{2 * size} {2 * size}m0 {-2 * size}l{-2 * size} {2 * size}",
        "plus": f"M{x - size - 0.8:.1f} {y:.1f}h{2 * size + 1.6}m{-size - 0.8} {-size - 0.8}v{2 * size + 1.6}",
    }
    if look.mark in ("disc", "circle"):
        filled = look.colour if look.mark == "disc" else "none"
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{filled}" stroke="{look.colour}" stroke-width="1.4"/>'
    filled = look.colour if look.mark == "square" else "none"
    return f'<path d="{shapes[look.mark]}" fill="{filled}" stroke="{look.colour}" stroke-width="1.4"/>'


def keys(scaling: Scaling, lines: list[Line], looks: dict[str, Look]) -> list[str]:
    parts = []
    places = [(index % KEYS_PER_ROW * KEY_WIDTH, KEYS_TOP + index // KEYS_PER_ROW * KEY_HEIGHT) for index in range(len(lines) + 1)]
    for line, (x, y) in zip(lines, places, strict=False):
        parts += curve([(x + 2, y), (x + 34, y)], looks[line.name])[:1]
        parts.append(mark(x + 18, y, looks[line.name]))
        parts.append(f'<text x="{x + 42:.1f}" y="{y + 4}">{escape(line.name)}</text>')
    if scaling.champion():
        x, y = places[-1]
        parts.append(polyline("ideal", "", [(x + 2, y), (x + 34, y)]))
        parts.append(f'<text x="{x + 42:.1f}" y="{y + 4}">{scaling.gpus} x the champion on one GPU</text>')
    return parts


def description(scaling: Scaling, lines: list[Line]) -> str:
    sentences = []
    for line in lines:
        rates = [f"{power(n)} {value:,.0f} GB/s" for n in scaling.sizes() if (value := efficiency.gb_per_s(line, scaling.gpus, n))]
        shares = [f"{gpus(count)} {100 * value:.2f}%" for count in scaling.counts() if (value := efficiency.weak(line, count))]
        sentences.append(f"{line.name}: strong scaling {', '.join(rates)}; efficiency of weak scaling {', '.join(shares)}")
    return ". ".join(sentences)
