"""Lab 12 over several devices, as text: tables of strong and weak scaling, or of what was counted on emulated devices."""

from collections.abc import Callable

from .. import states
from ..console import fill, paint
from ..ladder.predict import Gpu
from ..table import Table
from . import efficiency
from .efficiency import Line, Scaling
from .runs import Counted, not_predicted, predicted_us

LEGEND_OF_TIMES = (
    "A line has one host thread that drives all GPUs, as in lab 12, unless it says a "
    "thread per GPU; CUB's lines and the champion's have that too. \"Parts alone\" "
    "bring no sums together. Wall clock, from before the first launch until all GPUs "
    "are idle. rank_per_gpu takes mpirun (docs/reference/cluster.md)."
)
LEGEND_OF_PREDICTIONS = (
    "Predicted by a model that was fitted to the H200, not measured (docs/results/many_gpus.md explains how, and how accurate this is)."
)
MEANINGS = {
    "launches": "kernel launches on the busiest device",
    "loaded": "32-byte sectors of other devices' memory that kernels loaded over the links",
    "stored": "sectors that they stored there",
    "copied": "bytes, from device to device",
    "pairs": "ordered pairs of devices that anything went between",
    "through the host": "bytes copied to the host and from it, as NCCL's stand-in does",
    "waits": "of the host for a device while it issues the work",
}


def power(n: int) -> str:
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else f"{n:,}"


def number(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}%"


def whole(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def show(scaling: Scaling, title: str) -> None:
    print(paint(fill(title), "bold"))
    if scaling.sizes():
        print("\n" + fill(f"Strong scaling: elements in all, shared out over {gpus(scaling.gpus)}") + "\n")
        print(strong(scaling).text())
    if scaling.counts():
        print("\nWeak scaling: 2^32 elements per GPU\n")
        print(weak(scaling).text())
    elif not scaling.predicted:
        print("\n" + fill("No weak scaling: 2^32 elements do not fit into one GPU twice."))
    print(paint("\n" + fill(LEGEND_OF_PREDICTIONS if scaling.predicted else LEGEND_OF_TIMES, most=80), "grey"))


def gpus(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"


def strong(scaling: Scaling) -> Table:
    count, champion = scaling.gpus, scaling.champion()
    measures: list[tuple[str, Callable[[Line, int], str]]] = [
        (us_heading(scaling), lambda line, n: number(us(line, count, n))),
        ("GB/s in all", lambda line, n: whole(efficiency.gb_per_s(line, count, n))),
        (f"efficiency: GB/s over {count} x the line's own on one GPU, same elements in all",
         lambda line, n: percent(efficiency.strong(line, count, n))),
    ]  # fmt: skip
    if champion:
        measures.append((f"GB/s over {count} x the champion's on one GPU, same elements in all",
                         lambda line, n: percent(efficiency.strong(line, count, n, champion))))  # fmt: skip
    return table(scaling, scaling.sizes(), power, measures)


def weak(scaling: Scaling) -> Table:
    champion = scaling.champion()
    measures: list[tuple[str, Callable[[Line, int], str]]] = [
        (us_heading(scaling), lambda line, count: number(us(line, count, count * efficiency.PER_GPU))),
        ("GB/s in all", lambda line, count: whole(efficiency.gb_per_s(line, count, count * efficiency.PER_GPU))),
        ("efficiency: GB/s over p x the line's own on one GPU, on p GPUs", lambda line, count: percent(efficiency.weak(line, count))),
    ]
    if champion:
        measures.append(("GB/s over p x the champion's on one GPU, on p GPUs",
                         lambda line, count: percent(efficiency.weak(line, count, champion))))  # fmt: skip
    return table(scaling, scaling.counts(), gpus, measures)


def us_heading(scaling: Scaling) -> str:
    return "microseconds, predicted" if scaling.predicted else "microseconds, median"


def us(line: Line, count: int, n: int) -> float | None:
    time = line.times.get((count, n))
    return time.us if time else None


def table(
    scaling: Scaling, columns: list[int], heading: Callable[[int], str], measures: list[tuple[str, Callable[[Line, int], str]]]
) -> Table:
    """The measures below each other, each with a row per line; a narrow terminal leaves out columns from the left."""
    made = Table(["", *map(heading, columns)], drop_first=[heading(column) for column in columns[:-2]])
    for title, cell in measures:
        made.section(paint(title, "bold"))
        for line in scaling.lines:
            if any(cells := [cell(line, column) for column in columns]):
                made.add(["  " + line.name, *cells])
    return made


def show_counted(rungs: list[Counted], devices: int, predicted_for: Gpu) -> None:
    print(f"{paint('Lab 12', 'bold')} on {'one emulated device' if devices == 1 else f'{devices} emulated devices'}\n")
    headings = ["rung", "verdict", "n", "launches", "loaded", "stored", "copied", "pairs", "through the host", "waits"]
    times = {rung.rung: predicted_us(rung.rung, rung.n, devices, predicted_for) for rung in rungs}
    last = f"predicted us on {devices} {predicted_for.name}"
    timed = any(time is not None for time in times.values())
    made = Table(
        headings + ([last] if timed else []),
        left=2,
        drop_first=["n", "through the host", "launches", "pairs", "waits", "copied", "stored", "loaded", last],
    )
    for rung in rungs:
        made.add([rung.rung, verdict(rung), *(cells(rung) if rung.n else [""] * 8), *([number(times.get(rung.rung))] if timed else [])])
    print(made.text())
    if details := [fill(text, f"  {rung.rung:<14}", " " * 16) for rung in rungs for text in by_pair(rung, devices)]:
        print("\nOver the links, by pair of devices:\n" + "\n".join(details))
    explained = "; ".join(f"{heading}: {meaning}" for heading, meaning in MEANINGS.items() if heading not in made.dropped())
    print(paint("\n" + fill(f"{explained}{'.' if explained else ''} Emulated devices are not timed.".strip(), most=80), "grey"))
    if why := not_predicted(devices, predicted_for):
        print(paint(fill(why, most=80), "grey"))
    for rung in rungs:
        if rung.state != "pass":
            print("\n" + fill(f"{rung.rung}: {verdict(rung)}  {rung.reason}".rstrip()))


def verdict(rung: Counted) -> str:
    state = states.of({"state": rung.state, "name": rung.rung})
    return paint(state.label, state.colour)


def cells(rung: Counted) -> list[str]:
    counts = [rung.over_links(key) for key in ("peer_load_sectors", "peer_store_sectors", "peer_copy_bytes")]
    return [
        power(rung.n),
        *(f"{each:,}" for each in [rung.launches_per_device, *counts, len(rung.links), rung.through_host, rung.host_waits]),
    ]


# What a pair's count says, and who did it to whom.
MOVED = {
    "peer_load_sectors": ("sector", "loaded by {} from {}"),
    "peer_store_sectors": ("sector", "stored by {} to {}"),
    "peer_copy_bytes": ("byte", "copied from {} to {}"),
}


def by_pair(rung: Counted, devices: int) -> list[str]:
    """A line for all pairs of which the same is to be said."""
    groups: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for link in rung.links:
        for key in MOVED:
            if link[key]:
                groups.setdefault((key, link[key]), []).append((link["from"], link["to"]))
    lines = []
    for (key, count), members in groups.items():
        unit, what = MOVED[key]
        routes = "; ".join(what.format(first, second) for first, second in pairs(members, devices))
        lines.append(f"{count:,} {unit}{'' if count == 1 else 's'} {routes}")
    return lines


def pairs(members: list[tuple[int, int]], devices: int) -> list[tuple[str, str]]:
    """In words: all pairs together, if they are all that these devices form, or each by itself."""
    firsts, seconds = sorted({a for a, _ in members}), sorted({b for _, b in members})
    if len(members) == devices * (devices - 1) and devices > 1:
        return [("each device", "each other one" if devices > 2 else "the other")]
    if len(firsts) * len(seconds) == len(members):
        return [(each_of(firsts), each_of(seconds))]
    return [(f"device {a}", f"device {b}") for a, b in members]


def each_of(devices: list[int]) -> str:
    if len(devices) == 1:
        return f"device {devices[0]}"
    in_a_row = len(devices) > 2 and devices == list(range(devices[0], devices[-1] + 1))
    return "each of devices " + (f"{devices[0]}-{devices[-1]}" if in_a_row else ", ".join(map(str, devices)))
