"""A report of the emulator (docs/reference/report.md) as text."""

from pathlib import Path

from .console import paint
from .table import Table

BUSIEST = 12  # lines of source shown per kernel

PROFILE_COLUMNS = [
    ("instructions", "warp_instructions"),
    ("global loads", "global_load_requests"),
    ("sectors", "global_load_sectors"),
    ("shared", "shared_load_wavefronts"),
    ("conflicts", "bank_conflicts"),
    ("atomics", "atomic_requests"),
    ("barriers", "barriers"),
]


def shape(dimensions) -> str:
    if not isinstance(dimensions, list):
        return str(dimensions)
    while len(dimensions) > 1 and dimensions[-1] == 1:
        dimensions = dimensions[:-1]
    return "x".join(str(size) for size in dimensions)


def print_profile(report: dict) -> None:
    for launch in report.get("launches", []):
        print(f"\n{paint(launch['kernel'], 'bold')}  grid {shape(launch['grid'])}, block {shape(launch['block'])}")
        table = Table(["", "SIMT", *(title for title, _ in PROFILE_COLUMNS)], left=1)
        table.add(row("whole launch", launch["counters"]))
        lines = sorted(launch.get("lines", []), key=lambda line: -line.get("warp_instructions", 0))
        for line in lines[:BUSIEST]:
            table.add(row(f"{Path(line['file']).name}:{line['line']}", line))
        print(table.text())
        if len(lines) > BUSIEST:
            print(f"and {len(lines) - BUSIEST} lines more; --report FILE has them all")


def row(name: str, counters: dict) -> list[str]:
    warps, threads = counters.get("warp_instructions", 0), counters.get("thread_instructions", 0)
    efficiency = f"{100 * threads / (32 * warps):.0f}%" if warps else ""
    return [name, efficiency, *(f"{counters.get(key, 0):,}" for _, key in PROFILE_COLUMNS)]


def print_hazards(report: dict) -> None:
    hazards = report.get("hazards", [])
    for hazard in hazards:
        place = f"{hazard['file']}:{hazard['line']}" if hazard.get("file") else "(no line)"
        print(f"{paint(hazard['kind'], 'red')} {place}: {hazard['message']}")
    print(f"{len(hazards)} hazard{'' if len(hazards) == 1 else 's'}" if hazards else paint("no hazards", "green"))
