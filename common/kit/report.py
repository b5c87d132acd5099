"""A report of the emulator (docs/reference/report.md) as text."""

from functools import lru_cache
from pathlib import Path

from . import counters
from .console import paint
from .process import output, relative
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
    names = readable([launch["kernel"] for launch in report.get("launches", [])])
    for launch in report.get("launches", []):
        print(
            f"\n{paint(names.get(launch['kernel'], launch['kernel']), 'bold')}  grid {shape(launch['grid'])}, block {shape(launch['block'])}"
        )
        table = Table(["", "SIMT", *(title for title, _ in PROFILE_COLUMNS)], left=1)
        table.add(row("whole launch", launch["counters"]))
        lines = sorted(launch.get("lines", []), key=lambda line: -line.get("warp_instructions", 0))
        for line in lines[:BUSIEST]:
            table.add(row(f"{Path(line['file']).name}:{line['line']}", line))
        print(table.text())
        if len(lines) > BUSIEST:
            print(f"and {len(lines) - BUSIEST} more lines; --report FILE has them all")


def row(name: str, counted: dict) -> list[str]:
    efficiency = counters.value(counted, "simt_efficiency")
    return [name, f"{100 * efficiency:.0f}%" if efficiency is not None else "", *(f"{counted.get(key, 0):,}" for _, key in PROFILE_COLUMNS)]


def fails_check(hazard: dict, leaks: bool) -> bool:
    """Mere advice does not, nor does a leak, unless leaks were asked for."""
    return hazard["fails_check"] or (leaks and hazard["kind"] == "leak")


def how_many(hazards: list[dict], leaks: bool) -> str:
    failing = sum(fails_check(hazard, leaks) for hazard in hazards)
    others = len(hazards) - failing
    if not hazards:
        return paint("no hazards", "green")
    if not failing:
        return f"{others} hazard{'' if others == 1 else 's'}, none of which fails the check"
    more = f", and {others} more that {'does' if others == 1 else 'do'} not fail the check" if others else ""
    return f"{failing} hazard{'' if failing == 1 else 's'}{more}"


def print_hazards(report: dict, leaks: bool = False) -> None:
    hazards = report.get("hazards", [])
    for hazard in hazards:
        times = hazard.get("times", 1)
        print(f"\n{paint(hazard['kind'], 'red')}: {hazard['message']}" + (f" ({times:,} times)" if times > 1 else ""))
        lines = lines_of(hazard)
        for file, line in lines:
            print(f"  {relative(Path(file))}:{line}{source_line(file, line)}")
        if not lines and hazard["of_host"]:
            print(paint("  where: ", "grey") + "compile the program with -g as well, and the line of the host's code is named")
        for heading, key in [("in", "launch"), ("why", "why"), ("try", "advice")]:
            if hazard.get(key):
                print(paint(f"  {heading}: ", "grey") + hazard[key])
    print()
    print(how_many(hazards, leaks))
    launches = len(report.get("launches", [])) + report.get("launches_left_out", 0)
    if both := report.get("launches_in_both_orders", 0):
        print(f"{both} of {launches} launch{'' if launches == 1 else 'es'} checked in both orders of blocks, warps and branches")


def lines_of(hazard: dict) -> list[tuple[str, int]]:
    """The line at fault, and the other line involved, each once."""
    named = [(hazard.get("file"), hazard.get("line")), (hazard.get("other_file"), hazard.get("other_line"))]
    return list(dict.fromkeys((file, line) for file, line in named if file and line))


@lru_cache
def source(file: str) -> list[str]:
    try:
        return Path(file).read_text(errors="replace").splitlines()
    except OSError:
        return []


def source_line(file: str, line: int) -> str:
    text = source(file)
    return f"    {text[line - 1].strip()}" if 0 < line <= len(text) else ""


def readable(kernels: list[str]) -> dict[str, str]:
    """C++ names as in the source; binutils' c++filt comes with any C++ compiler."""
    result = output(["c++filt", "-p", *kernels]) if kernels else None
    if result is None or result.returncode != 0:
        return {name: name for name in kernels}
    return dict(zip(kernels, result.stdout.splitlines(), strict=False))
