#!/usr/bin/env python3
"""Draws ladder_h200.svg, and prints the tables of ladder_h200.md, from ladder_h200.json.

docs/results/plot_ladder.py            draws and prints
docs/results/plot_ladder.py FILE...    first makes ladder_h200.json out of what tests/gpu/ladder.py wrote
"""

import json
import math
import sys
from pathlib import Path

HERE = Path(__file__).parent
DATA, PICTURE = HERE / "ladder_h200.json", HERE / "ladder_h200.svg"
ROW_SUMS = "11_row_sums"
LIMIT = 4814  # GB/s, by the clock and the bus of the memory
DRAWN = ["naive_atomic", "interleaved", "sequential", "first_add", "many_pass", "one_thread_folds", "grid_stride_shuffle", "coarsened",
         "vectorised", "one_wave", "champion"]  # fmt: skip
COLOURS = ["#7a5195", "#b3541e", "#d08a2e", "#8a8d1f", "#3f8f4f", "#2a9d8f", "#2f6f9f", "#4361a8", "#a4508b", "#c2410c", "#111827"]
LEFT, TOP, WIDTH, HEIGHT, LABELS = 62, 46, 560, 380, 150
N_RANGE, GB_RANGE = (10, 34), (-1.0, 4.0)  # powers of 2 and of 10

STYLE = """
  text { font: 11px system-ui, sans-serif; fill: #24292f; }
  .title { font-size: 14px; font-weight: 600; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .limit { stroke: #57606a; stroke-width: 1.5; stroke-dasharray: 5 4; }
  polyline { fill: none; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .grid { stroke: #30363d; }
    .limit { stroke: #9ea7b3; }
    .last { stroke: #e6edf3; }
  }
"""


def gather(files: list[str]) -> None:
    """The median and the quartiles of each rung and size; of two measurements of one, the later file's."""
    found = {}
    for file in files:
        for each in json.loads(Path(file).read_text()):
            figures = {key: round(each[key], 2) for key in ("median_us", "low_us", "high_us")}
            found[each["rung"], each["n"], each.get("rows", 1)] = figures | ({"rows": each["rows"]} if each["lab"] == ROW_SUMS else {})
    rows = [{"rung": rung, "n": n, **figures} for (rung, n, _), figures in found.items()]
    DATA.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def load() -> dict[str, dict[int, float]]:
    ladder: dict[str, dict[int, float]] = {}
    for row in json.loads(DATA.read_text()):
        if "rows" not in row:
            ladder.setdefault(row["rung"], {})[row["n"]] = row["median_us"]
    return ladder


def row_sums_table() -> str:
    """Lab 11: microseconds of each rung by the shape of the matrix."""
    times: dict[tuple[int, int], dict[str, float]] = {}
    for row in json.loads(DATA.read_text()):
        if "rows" in row:
            times.setdefault((row["n"], row["rows"]), {})[row["rung"]] = row["median_us"]
    rungs = list(next(iter(times.values())))
    lines = ["| rows | columns | " + " | ".join(f"`{rung}`" for rung in rungs) + " | best GB/s |", "|" + "---|" * (len(rungs) + 3)]
    for (n, rows), each in sorted(times.items()):
        best = min(each.values())
        cells = [f"**{figure(each[rung])}**" if each[rung] == best else figure(each[rung]) for rung in rungs]
        lines.append(f"| {rows:,} | {n // rows:,} | " + " | ".join(cells) + f" | {4e-3 * n / best:,.0f} |")
    return "\n".join(lines)


def x(n: float) -> float:
    return LEFT + WIDTH * (math.log2(n) - N_RANGE[0]) / (N_RANGE[1] - N_RANGE[0])


def y(gb_per_s: float) -> float:
    return TOP + HEIGHT * (GB_RANGE[1] - math.log10(gb_per_s)) / (GB_RANGE[1] - GB_RANGE[0])


def draw(ladder: dict[str, dict[int, float]]) -> str:
    parts = []
    for exponent in range(N_RANGE[0], N_RANGE[1] + 1, 4):
        at = x(2**exponent)
        parts.append(f'<line class="grid" x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{TOP + HEIGHT}"/>')
        parts.append(
            f'<text x="{at:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">2<tspan dy="-4" font-size="8">{exponent}</tspan></text>'
        )
    for power in range(int(GB_RANGE[0]), int(GB_RANGE[1]) + 1):
        at = y(10**power)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{at:.1f}" x2="{LEFT + WIDTH}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{10**power:,g}</text>')
    parts.append(f'<line class="limit" x1="{LEFT}" y1="{y(LIMIT):.1f}" x2="{LEFT + WIDTH}" y2="{y(LIMIT):.1f}"/>')
    parts.append(f'<text x="{LEFT + 6}" y="{y(LIMIT) - 5:.1f}">the memory by its clock and bus: {LIMIT:,} GB/s</text>')
    ends = []
    for rung, colour in zip(DRAWN, COLOURS, strict=True):
        points = [(x(n), y(4e-3 * n / us)) for n, us in sorted(ladder[rung].items()) if n >= 2 ** N_RANGE[0]]
        line = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        last = ' class="last"' if rung == "champion" else ""
        parts.append(f'<polyline{last} points="{line}" stroke="{colour}"><title>{rung}</title></polyline>')
        ends.append([points[-1][1], rung, colour, points[-1]])
    previous = 0.0
    for at, rung, colour, (px, py) in sorted(ends):
        previous = max(at, previous + 14)
        parts.append(
            f'<line x1="{px:.1f}" y1="{py:.1f}" x2="{LEFT + WIDTH + 10}" y2="{previous:.1f}" stroke="{colour}" stroke-width="0.7"/>'
        )
        parts.append(f'<text x="{LEFT + WIDTH + 14}" y="{previous + 4:.1f}">{rung}</text>')
    width, height = LEFT + WIDTH + LABELS, max(TOP + HEIGHT, int(previous)) + 44
    words = "; ".join(f"{rung}: up to {max(4e-3 * n / us for n, us in ladder[rung].items()):,.0f} GB/s" for rung in DRAWN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t d">'
        f'<title id="t">Sums of n floats on an H200: gigabytes a second over n</title><desc id="d">{words}</desc>'
        f'<style>{STYLE}</style><text class="title" x="{LEFT}" y="20">Sums of n floats on an H200, GB/s over n</text>'
        + "".join(parts)
        + f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 34}" text-anchor="middle">n, floats</text></svg>\n'
    )


def table(ladder: dict[str, dict[int, float]]) -> str:
    sizes = [2**exponent for exponent in (10, 14, 18, 20, 22, 23, 24, 26, 28, 29, 30, 32, 33, 34)]
    lines = ["| us | " + " | ".join(f"2^{n.bit_length() - 1}" for n in sizes) + " | best GB/s |", "|" + "---|" * (len(sizes) + 2)]
    for rung, times in ladder.items():
        if any(n in times for n in sizes):
            best = max(4e-3 * n / us for n, us in times.items())
            lines.append(f"| `{rung}` | " + " | ".join(figure(times.get(n)) for n in sizes) + f" | {best:,.1f} |")
    return "\n".join(lines)


def figure(us: float | None) -> str:
    return "-" if us is None else f"{us:.1f}" if us < 1000 else f"{us:.0f}"


if __name__ == "__main__":
    if sys.argv[1:]:
        gather(sys.argv[1:])
    known = load()
    PICTURE.write_text(draw(known))
    print(table(known), row_sums_table(), sep="\n\n")
