"""The ladder as a picture: SVG that is legible in light and dark, in print and on a narrow page."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from .. import counters
from .listing import counted, size

ROW, TOP, NAME_WIDTH, PANEL_WIDTH, PANEL_GAP = 17, 62, 210, 118, 12

STYLE = """
  text { font: 11px system-ui, sans-serif; fill: #24292f; }
  .title { font-size: 14px; font-weight: 600; }
  .heading, .n { fill: #57606a; }
  .lab { font-weight: 600; }
  .value { font-size: 10px; }
  .bar { fill: #2f6f9f; }
  .bad { fill: #b3541e; }
  .time { fill: #3d7a3d; }
  .rule { stroke: #d0d7de; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .heading, .n { fill: #9ea7b3; }
    .bar { fill: #6cb0e0; }
    .bad { fill: #f0a06a; }
    .time { fill: #7cc47c; }
    .rule { stroke: #30363d; }
  }
"""


@dataclass(frozen=True)
class Panel:
    """One measure: a bar for each rung, on a scale of its own."""

    heading: str
    of: Callable[[dict], float | None]
    shown: Callable[[float], str]
    logarithmic: bool = True  # the heading says so
    style: str = "bar"
    least: float = 0.0005  # of a logarithmic scale


def per_element(*keys: str) -> Callable[[dict], float | None]:
    """Counts per element, so that rungs of different n stand side by side."""

    def value(rung: dict) -> float | None:
        known, n = counted(rung), rung.get("profile", {}).get("n", 0)
        return sum(known.get(key, 0) for key in keys) / n if known and n else None

    return value


def in_thousand(value: float) -> str:
    return f"{1000 * value:,.0f}" if value >= 0.001 or value == 0 else "<1"


def simt(rung: dict) -> float | None:
    return counters.value(counted(rung), "simt_efficiency")


COUNTED = [
    # The reason for climbing; the line below the title says which GPU it is for.
    Panel("predicted us", lambda rung: rung.get("predicted", {}).get("us"), lambda value: f"{value:,.0f}", style="time", least=2),
    Panel("warp instructions", per_element("warp_instructions"), in_thousand, logarithmic=False),
    Panel("active lanes", simt, lambda value: f"{100 * value:.0f}%", logarithmic=False),
    Panel("bank conflicts", per_element("bank_conflicts"), in_thousand, style="bad"),
    Panel("barriers", per_element("barriers"), in_thousand),
    Panel("atomics", per_element("atomic_operations"), in_thousand, style="bad"),
]

MEASURED = [
    Panel("GB/s", lambda rung: rung.get("time", {}).get("gb_per_s"), lambda value: f"{value:,.0f}", logarithmic=False),
    Panel("microseconds", lambda rung: rung.get("time", {}).get("median_us"), lambda value: f"{value:,.1f}", style="bad"),
]


def draw(labs: list[dict]) -> str:
    """`labs`: what each lab's program answered with --json."""
    timed = any("time" in rung for lab in labs for rung in lab["rungs"])
    panels = MEASURED if timed else COUNTED
    rows = [(lab["lab"], rung) for lab in labs for rung in [None, *ran(lab)] if ran(lab)]
    usual = Counter(size(rung) for _, rung in rows if rung).most_common(1)[0][0]
    width = NAME_WIDTH + len(panels) * (PANEL_WIDTH + PANEL_GAP)
    height = TOP + len(rows) * ROW + 12
    device = next((lab["device"]["name"] for lab in labs if lab.get("device")), "")
    what = f"measured on {device}" if timed else "counted by the emulator, per 1000 elements"
    what += f", n = {usual}"
    gpus = {rung["predicted"]["gpu"] for _, rung in rows if rung and rung.get("predicted")}
    if gpus and not timed:
        what += f"; microseconds as predicted for an {' or '.join(sorted(gpus))}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title text">',
        f'<title id="title">The ladder of reductions: what each rung costs, {escape(what)}</title>',
        f'<desc id="text">{escape(description(rows, panels))}</desc>',
        f"<style>{STYLE}</style>",
        '<text class="title" x="0" y="16">What each rung costs</text>',
        f'<text class="heading" x="0" y="33">{escape(what)}</text>',
    ]  # fmt: skip
    for index, panel in enumerate(panels):
        parts += draw_panel(panel, NAME_WIDTH + index * (PANEL_WIDTH + PANEL_GAP), rows)
    for index, (lab, rung) in enumerate(rows):
        y = TOP + index * ROW
        if rung is None:
            parts.append(f'<line class="rule" x1="0" x2="{width}" y1="{y - 12}" y2="{y - 12}"/>')
            parts.append(f'<text class="lab" x="0" y="{y + 2}">{escape(lab)}</text>')
        else:
            parts.append(f'<text x="8" y="{y}">{escape(rung["name"])}{other_size(rung, usual)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def ran(lab: dict) -> list[dict]:
    return [rung for rung in lab["rungs"] if "profile" in rung or "time" in rung]


def other_size(rung: dict, usual: str) -> str:
    """n, if it is not the one in the heading."""
    return "" if size(rung) == usual else f'<tspan class="n" dx="6">n = {size(rung)}</tspan>'


def draw_panel(panel: Panel, x: int, rows: list[tuple]) -> list[str]:
    values = [panel.of(rung) if rung else None for _, rung in rows]
    largest = max((value for value in values if value), default=1)
    scale = " (log)" if panel.logarithmic else ""
    parts = [f'<text class="heading" x="{x}" y="{TOP - 16}">{escape(panel.heading)}{scale}</text>']
    for index, value in enumerate(values):
        if value is None:
            continue
        y, length = TOP + index * ROW, (PANEL_WIDTH - 40) * part(value, largest, panel)
        if length > 0:
            parts.append(f'<rect class="{panel.style}" x="{x}" y="{y - 9}" width="{length:.1f}" height="10"/>')
        parts.append(f'<text class="value" x="{x + length + 4:.1f}" y="{y}">{escape(panel.shown(value))}</text>')
    return parts


def part(value: float, largest: float, panel: Panel) -> float:
    """The bar's length from 0 to 1; on the logarithmic scale of counts a thousandth per element is the least shown."""
    if value <= 0:
        return 0
    if not panel.logarithmic:
        return value / largest
    least = min(panel.least, largest / 10)
    return max(0.02, math.log(max(value, least) / least) / math.log(largest / least))


def description(rows: list[tuple], panels: list[Panel]) -> str:
    sentences = []
    for lab, rung in rows:
        if rung is None:
            continue
        values = [(panel.heading, panel.of(rung), panel.shown) for panel in panels]
        sentences.append(f"{lab} {rung['name']}: " + ", ".join(f"{name} {shown(v)}" for name, v, shown in values if v is not None))
    return ". ".join(sentences)
