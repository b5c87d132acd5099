"""Plots of counts and times. Drawn by matplotlib; lines and letters take the colour of the page that they are on."""

import io
import re
from html import escape

INK = "#010203"  # replaced by currentColor, so that a picture reads in light, in dark and in print
BAR, LIMIT = "#3b82c4", "#c8642a"
TELLING = ("warp_instructions", "global_load_sectors", "bank_conflicts", "atomic_operations", "barriers")
LOG_FROM = 50  # largest over smallest from which a scale is logarithmic


TABLE_STYLE = (
    "<style>.warpfold-table th, .warpfold-table td { text-align: right; padding: 0.15em 0.4em; font-variant-numeric: tabular-nums; }\n"
    ".warpfold-table th:first-child, .warpfold-table td:first-child { text-align: left; }\n"
    ".warpfold-table td { white-space: nowrap; }</style>"
)


# A picture is laid out twice, and the width of the page chooses.
WIDE_OR_NARROW = (
    "<style>.warpfold-narrow { display: none }\n"
    "@media screen and (max-width: 40rem) { .warpfold-wide { display: none } .warpfold-narrow { display: block } }</style>"
)


def wide_or_narrow(wide: str, narrow: str) -> str:
    return f'<div class="warpfold-wide">{wide}</div><div class="warpfold-narrow">{narrow}</div>'


class Note(str):
    """A sentence instead of a picture that cannot be drawn."""

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/plain": str(self), "text/html": f'<div class="warpfold">{escape(self)}</div>'}


class StillOpen(Note):
    """A sentence about rungs that are still to be filled in. A site says that once for each of them (docs/open_rungs.py)."""

    rungs: tuple[str, ...]

    def __new__(cls, text: object, *rungs: str):
        made = super().__new__(cls, text)
        made.rungs = rungs
        return made

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {
            "text/plain": str(self),
            "text/html": f'<div class="warpfold" data-open="{escape(" ".join(self.rungs))}">{escape(self)}</div>',
        }


class Table:
    """Rows of text, as a table."""

    def __init__(self, heading: str, columns: list[str], rows: list[list[str]]):
        self.heading, self.columns, self.rows = heading, columns, rows

    def __str__(self) -> str:
        widths = [max(len(row[i]) for row in [self.columns, *self.rows]) for i in range(len(self.columns))]
        lines = [[f"{cell:>{w}}" if i else f"{cell:<{w}}" for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
                 for row in [self.columns, *self.rows]]  # fmt: skip
        return "\n".join([self.heading, *("  ".join(line) for line in lines)])

    def html(self) -> str:
        head = "".join(f'<th scope="col">{escape(title)}</th>' if title else "<td></td>" for title in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        caption = f"<caption>{escape(self.heading)}</caption>"
        table = f'<table class="warpfold-table">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        return f'{TABLE_STYLE}<div tabindex="0" role="group" aria-label="{escape(self.heading)}" style="overflow-x: auto">{table}</div>'

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/plain": str(self), "text/html": self.html()}


class Picture:
    """An SVG, with the figures that it shows as its text alternative. `narrow`: the same for a telephone."""

    def __init__(self, svg: str, text: Table, narrow: str):
        self.svg, self.text, self.narrow = svg, text, narrow

    def __str__(self) -> str:
        return str(self.text)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        label = escape(self.text.heading, quote=True)
        wide, narrow = (svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1) for svg in (self.svg, self.narrow))
        figure = f'{WIDE_OR_NARROW}<figure style="margin: 0.5em 0">{wide_or_narrow(wide, narrow)}'
        caption = f"<figcaption>{escape(self.text.heading)}</figcaption>"
        details = f"<details><summary>The same in figures</summary>{self.text.html()}</details></figure>"
        return {"text/plain": str(self), "text/html": figure + caption + details}


NARROW = 3.6  # inches: 346 CSS pixels


def axes(count: int, rows: int, narrow: bool = False):
    """Panels side by side or, on a telephone, one below the other."""
    from matplotlib.figure import Figure  # no pyplot: it would show a picture of its own

    size = (NARROW, count * (0.5 + 0.26 * rows)) if narrow else (1.4 + 1.9 * count, 0.9 + 0.28 * rows)
    figure = Figure(figsize=size, layout="constrained")
    figure.patch.set_alpha(0)
    panels = figure.subplots(*((count, 1) if narrow else (1, count)), squeeze=False, sharey=not narrow).flatten()
    for panel in panels:
        plain(panel)
    return figure, panels


def plain(panel) -> None:
    panel.patch.set_alpha(0)
    panel.tick_params(colors=INK, labelsize=8)
    for name, spine in panel.spines.items():
        spine.set_color(INK)
        spine.set_visible(name in ("left", "bottom"))


def to_svg(figure) -> str:
    import matplotlib

    out = io.StringIO()
    # Letters stay letters: they can be searched, and a screen reader finds them.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "warpfold", "font.family": "sans-serif"}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    # Width follows the page; the view box keeps the shape.
    return re.sub(r'(<svg[^>]*?) width="([\d.]+)pt" height="[\d.]+pt"|(<svg[^>]*?) height="[\d.]+pt"([^>]*) width="([\d.]+)pt"',
                  flexible, svg, count=1)  # fmt: skip


def flexible(found: re.Match) -> str:
    start, width = (found[1], found[2]) if found[1] else (found[3] + found[4], found[5])
    return f'{start} style="max-width: {width}pt; width: 100%; height: auto"'


def number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3g}"


def bars(found: dict[str, dict], counters, heading: str) -> Picture | Note:
    """One row per rung, one panel per counter; each panel has a scale of its own."""
    for name in counters:
        if any(name not in values for values in found.values()):
            known = ", ".join(next(iter(found.values())))
            from .verdict import LabError

            raise LabError(f"no counter is called {name}. There are: {known}")
    drawn = [name for name in counters if any(values[name] for values in found.values())]
    if not drawn:
        return Note(f"Nothing to draw: every rung's count of {', '.join(counters)} is 0.")
    names = list(found)
    wide, narrow = (panels_of_bars(found, drawn, narrow) for narrow in (False, True))
    sizes = ", ".join(dict.fromkeys(f"n = {values['n']:,}" for values in found.values()))
    rows = [[name, *(number(found[name][counter]) for counter in drawn)] for name in names]
    return Picture(wide, Table(f"{heading} ({sizes})", ["rung", *drawn], rows), narrow)


def panels_of_bars(found: dict[str, dict], drawn: list[str], narrow: bool) -> str:
    figure, panels = axes(len(drawn), len(found), narrow)
    for panel, counter in zip(panels, drawn, strict=True):
        draw_bars(panel, counter, [values[counter] for values in found.values()])
    for panel in panels if narrow else panels[:1]:
        panel.set_yticks(range(len(found)), list(found))
        panel.invert_yaxis()
    return to_svg(figure)


def label(counter: str) -> str:
    """As the catalogue calls it; n and launches are not in it."""
    from kit.counters import CATALOGUE

    return CATALOGUE[counter].label if counter in CATALOGUE else counter


def draw_bars(panel, counter: str, values: list[float]) -> None:
    positive = [value for value in values if value > 0]
    panel.barh(range(len(values)), values, color=BAR, height=0.65)
    logarithmic = max(positive) / min(positive) >= LOG_FROM
    if logarithmic:
        panel.set_xscale("log")
        panel.set_xlim(left=min(positive) / 3)
    panel.set_title(label(counter) + (" (log)" if logarithmic else ""), fontsize=8, loc="left", color=INK)
    panel.set_xlim(right=max(positive) * (12 if logarithmic else 1.45))
    for row, value in enumerate(values):
        at = max(value, min(positive) / 3) if logarithmic else value
        panel.annotate(number(value), (at, row), xytext=(3, 0), textcoords="offset points", va="center", fontsize=7, color=INK)
    panel.set_xticks([], minor=True)
    panel.set_xticks([])


TIME_COLUMNS = [
    ("% of measured", "percent_of_measured", "{:.1f}"), ("us", "median_us", "{:,.1f}"), ("GB/s", "gb_per_s", "{:,.0f}"),
    ("over CPU loop", "speed_up_over_cpu", "{:,.1f}x"),
]  # fmt: skip


def times(timed: dict[str, dict], device: str) -> Table:
    def cell(entry: dict, key: str, pattern: str) -> str:
        return pattern.format(entry[key]) if entry.get(key) is not None else ""

    rows = [[name, *(cell(entry, key, pattern) for _, key, pattern in TIME_COLUMNS), f"{entry['n']:,}"] for name, entry in timed.items()]
    return Table(f"Median times on {device}", ["rung", *(title for title, _, _ in TIME_COLUMNS), "n"], rows)


def roofline(series: dict[str, list[dict]], device: str) -> Picture:
    """Time against n, one line per rung, both axes logarithmic; below the limit's line no kernel can go."""
    rows = [[name, f"{point['n']:,}", f"{point['median_us']:,.1f}"] for name, points in series.items() for point in points]
    wide, narrow = (lines_of_times(series, size) for size in ((7, 4.5), (NARROW, 5)))
    return Picture(wide, Table(f"Time against n on {device}", ["rung", "n", "us"], rows), narrow)


def lines_of_times(series: dict[str, list[dict]], size: tuple[float, float]) -> str:
    figure, (panel,) = axes(1, 1)
    figure.set_size_inches(*size)
    for name, points in series.items():
        panel.plot([point["n"] for point in points], [point["median_us"] for point in points], marker="o", markersize=3, label=name)
    every = [point for points in series.values() for point in points]
    bandwidth = max((point["measured_gb_per_s"] for point in every if point.get("measured_gb_per_s")), default=None)
    if bandwidth:
        sizes = sorted({point["n"] for point in every})
        panel.plot(sizes, [4 * n / bandwidth / 1e3 for n in sizes], "--", color=LIMIT, label=f"reading alone, {bandwidth:,.0f} GB/s")
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xlabel("n", color=INK)
    panel.set_ylabel("microseconds", color=INK)
    panel.legend(fontsize=7, frameon=False, labelcolor=INK)
    return to_svg(figure)
