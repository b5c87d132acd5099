"""Figures measured on a GPU and kept in docs/results, for readers who have none."""

import json

from . import clone, plots
from .verdict import LabError


def measured(*rungs: str) -> plots.Table:
    """Microseconds for each n, and what the largest n makes of the device's bandwidth; all rungs without a name."""
    kept = json.loads((clone.ROOT / "docs" / "results" / "ladder_h200.json").read_text())
    known = kept["us"]
    chosen = [name for name in known if not rungs or any(name == rung or name.startswith(rung + ",") for rung in rungs)]
    if not chosen:
        raise LabError(f"nothing measured of {', '.join(rungs)}. There are: {'; '.join(known)}")
    largest = kept["n"][-1]
    heading = f"{kept['device']}, {kept['date']}: {kept['what']}"
    columns = ["", *(f"2^{n.bit_length() - 1}" for n in kept["n"]), f"GB/s at 2^{largest.bit_length() - 1}", "% of best read"]
    return plots.Table(heading, columns, [row(name, known[name], largest, kept["best_read_gb_per_s"]) for name in chosen])


def row(name: str, times: list[float], largest: int, best: float) -> list[str]:
    if name == "an empty launch":
        return [name, *(f"{time:,.1f}" for time in times), "", ""]
    speed = 4 * largest / times[-1] / 1e3
    return [name, *(f"{time:,.1f}" for time in times), f"{speed:,.0f}", f"{100 * speed / best:.1f}"]
