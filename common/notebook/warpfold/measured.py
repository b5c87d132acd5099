"""Figures measured on a GPU and kept in docs/results, for readers who have none."""

import json

from . import clone, plots
from .verdict import LabError

RESULTS = clone.ROOT / "docs" / "results"
DEVICE = "NVIDIA H200"
SIZES = (1 << 14, 1 << 20, 1 << 23, 1 << 26, 1 << 29)
NOTHING = "empty launch"
PEERS = (NOTHING, "cub::DeviceReduce::Sum")


def measured(*rungs: str) -> plots.Table:
    """What the largest n makes of the device's bandwidth, and microseconds for each n; all rungs without a name."""
    known = times()
    unknown = [name for name in rungs if name not in known]
    if unknown:
        raise LabError(f"nothing was measured for {', '.join(unknown)}. There are: {', '.join(known)}")
    best = max(speed(SIZES[-1], found[SIZES[-1]]) for name, found in known.items() if SIZES[-1] in found and name != NOTHING)
    largest = f"2^{SIZES[-1].bit_length() - 1}"
    # On a telephone the last columns are out of sight, so the figure that says most comes first.
    columns = ["", "% of the best", f"GB/s at {largest}", *(f"2^{n.bit_length() - 1}" for n in SIZES)]
    heading = f"Measured on one {DEVICE}: microseconds for n floats, medians of many runs with a cold cache (docs/results)"
    return plots.Table(heading, columns, [row(name, known[name], best) for name in rungs or known])


def times() -> dict[str, dict[int, float]]:
    """{rung: {n: microseconds}}; the library and the launch of nothing come from the run that measured them."""
    found: dict[str, dict[int, float]] = {}
    for entry in json.loads((RESULTS / "peers_h200.json").read_text()):
        if entry["name"] == NOTHING and entry["method"] == "idle":
            found.setdefault(NOTHING, {})[entry["n"]] = entry["us"]
    for entry in json.loads((RESULTS / "ladder_h200.json").read_text()):
        if "rows" not in entry and entry["n"] >= SIZES[0]:  # sums of one array; rungs of one block take less
            found.setdefault(entry["rung"], {})[entry["n"]] = entry["median_us"]
    for entry in json.loads((RESULTS / "peers_h200.json").read_text()):
        if entry["name"] in PEERS[1:] and entry["method"] == "idle":
            found.setdefault(entry["name"], {})[entry["n"]] = entry["us"]
    return found


def speed(n: int, microseconds: float) -> float:
    """GB/s, for floats."""
    return 4 * n / microseconds / 1e3


def row(name: str, found: dict[int, float], best: float) -> list[str]:
    cells = [f"{found[n]:,.1f}" if n in found else "" for n in SIZES]
    if name == NOTHING or SIZES[-1] not in found:
        return [name, "", "", *cells]
    reached = speed(SIZES[-1], found[SIZES[-1]])
    percent = 100 * reached / best
    return [name, f"{percent:.1f}" if percent >= 1 else f"{percent:.1g}", f"{reached:,.0f}", *cells]
