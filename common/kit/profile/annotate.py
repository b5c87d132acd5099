"""An emulator report combined with the source that it is about: what the terminal, the page and the JSON show."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from .. import counters
from .. import report as reports
from ..errors import USAGE, KitError

LANES = 32
CONTEXT = 1  # lines of source shown before and after those that were counted
FOLD = 4  # this many lines in a row that did nothing are folded into one mark


@dataclass(frozen=True)
class Column:
    key: str  # in JSON
    title: str
    short: str  # for a terminal's heading, where each word gets a line
    meaning: str
    value: Callable[[dict, int], float | None]  # of a line's counters and the launches' warps
    text: Callable[[float], str]
    need: int = 0  # the columns of least need are the first that a narrow terminal does without


def plain(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:,.2f}".rstrip("0").rstrip(".")


def percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def counter(key: str, title: str = "", short: str = "", above: float | None = 0, need: int = 0) -> Column:
    """A column of the catalogue. Values that are not `above` that number are left blank, as on most lines they say nothing."""
    known = counters.CATALOGUE[key]
    title = title or known.label

    def value(line: dict, warps: int) -> float | None:
        found = counters.value(line, key)
        return found if found is not None and (above is None or found > above) else None

    meaning = known.meaning if title == known.label else f"{known.label}: {known.meaning}"
    return Column(key, title, short or title, meaning, value, percent if known.unit == "share" else plain, need)


def executions_per_warp(line: dict, warps: int) -> float | None:
    return line.get("executions", 0) / warps or None if warps else None


SHARE = Column("share", "instruction share", "inst. share", "the line's share of the warp instructions (PTX) of all launches of the kernel",
               lambda line, warps: None, percent)  # fmt: skip
COLUMNS = [
    Column("executions_per_warp", "executions per warp", "exec. per\u00a0warp", "how often a warp executes the line, on average",
           executions_per_warp, plain, need=3),
    counter("simt_efficiency", "active lanes", above=None, need=6),
    counter("divergent_share", need=5),
    counter("sectors_per_request", short="sectors per\u00a0req.", above=None, need=7),
    counter("loads_per_wait", short="loads per\u00a0wait", above=1, need=4),
    counter("bank_conflicts", need=8),
    counter("shuffles", need=1),
    counter("atomic_operations", "atomics", need=2),
    counter("barriers"),
]  # fmt: skip


def named(names: str) -> list[Column]:
    """The columns whose titles or keys these are, separated by commas; any unambiguous part will do."""
    found = []
    for name in filter(None, (each.strip().replace("_", " ") for each in names.split(","))):
        matches = [column for column in COLUMNS if name in (column.title, column.key.replace("_", " "))]
        matches = matches or [column for column in COLUMNS if name in column.title]
        if len(matches) != 1:
            what = "could be several columns" if matches else "no such column"
            raise KitError(f"--columns {name}: {what}", f"The columns: {', '.join(each.title for each in matches or COLUMNS)}", USAGE)
        found += matches
    return found


@dataclass
class Line:
    number: int
    source: str
    share: float = 0  # of the warp instructions of the kernel's launches
    counters: dict | None = None
    values: dict[str, float | None] = field(default_factory=dict)
    hazards: list[dict] = field(default_factory=list)
    hottest: bool = False


@dataclass
class Excerpt:
    file: Path
    lines: list[Line | None]  # None: lines that did nothing, folded


@dataclass
class Kernel:
    name: str
    launches: int
    shape: str
    warps: int
    counters: dict
    excerpts: list[Excerpt]
    elsewhere: float  # the share that was charged to lines whose source is not available or not the program's own


def source_of(name: str, folder: Path | None) -> Path:
    """The compiler writes paths as they were given to it: relative ones start at the folder in which it ran."""
    path = Path(name)
    for start in [Path.cwd(), folder] if folder else [Path.cwd()]:
        if (start / path).is_file():
            return Path(os.path.normpath(start / path))
    return Path(os.path.normpath(path))


@lru_cache(maxsize=64)
def text_of(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").expandtabs(4).splitlines()
    except OSError:
        return []


def is_own(path: Path) -> bool:
    """Not NVIDIA's headers, whose lines nobody wants to read here."""
    return bool(text_of(path)) and "include" not in path.parts


def kernels(report: dict, folder: Path | None = None) -> list[Kernel]:
    """The launches of one kernel together, in the order of the first launch of each."""
    groups: dict[str, list[dict]] = {}
    for launch in report.get("launches", []):
        groups.setdefault(launch["kernel"], []).append(launch)
    names = reports.readable(list(groups))
    hazards = by_line(report, folder)
    return [kernel(names.get(mangled, mangled), launches, hazards, folder) for mangled, launches in groups.items()]


def by_line(report: dict, folder: Path | None) -> dict[tuple[Path, int], list[dict]]:
    found: dict[tuple[Path, int], list[dict]] = {}
    for hazard in report.get("hazards", []):
        for file, line in reports.lines_of(hazard):
            found.setdefault((source_of(file, folder), line), []).append(hazard)
    return found


def kernel(name: str, launches: list[dict], hazards: dict, folder: Path | None) -> Kernel:
    total: dict = {}
    counted: dict[Path, dict[int, dict]] = {}
    warps = 0
    for launch in launches:
        counters.add_up(total, launch["counters"])
        warps += launch["counters"]["blocks"] * -(-threads(launch["block"]) // LANES)
        for entry in launch["lines"]:
            counters.add_up(counted.setdefault(source_of(entry["file"], folder), {}).setdefault(entry["line"], {}), entry)
    own = {path: lines for path, lines in counted.items() if is_own(path)}
    all_instructions = total["warp_instructions"] or 1
    seen = sum(line["warp_instructions"] for lines in own.values() for line in lines.values())
    excerpts = [excerpt(path, lines, all_instructions, warps, hazards) for path, lines in sorted(own.items())]
    mark_hottest(excerpts)
    shapes = list(dict.fromkeys(f"grid {reports.shape(launch['grid'])}, block {reports.shape(launch['block'])}" for launch in launches))
    shape = shapes[0] if len(shapes) == 1 else f"{shapes[0]}, then others"
    return Kernel(name, len(launches), shape, warps, total, excerpts, 1 - seen / all_instructions)


def threads(block: list[int]) -> int:
    return block[0] * block[1] * block[2]


def excerpt(path: Path, counted: dict[int, dict], all_instructions: int, warps: int, hazards: dict) -> Excerpt:
    text = text_of(path)
    concerned = set(counted) | {line for file, line in hazards if file == path}
    concerned = {number for number in concerned if 0 < number <= len(text)}
    shown: set[int] = set()
    for number in concerned:
        shown.update(range(max(1, number - CONTEXT), min(len(text), number + CONTEXT) + 1))
    lines: list[Line | None] = []
    last = None
    for number in sorted(shown):
        gap = range(last + 1, number) if last else range(0)
        if len(gap) >= FOLD:
            lines.append(None)
        else:
            lines += [Line(between, text[between - 1]) for between in gap]
        of_line = counted.get(number)
        line = Line(number, text[number - 1], counters=of_line, hazards=hazards.get((path, number), []))
        if of_line:
            line.share = of_line["warp_instructions"] / all_instructions
            line.values = {column.key: column.value(of_line, warps) for column in COLUMNS}
        lines.append(line)
        last = number
    while lines and lines[-1] and not lines[-1].source.strip() and not lines[-1].counters:
        lines.pop()
    return Excerpt(path, lines)


def mark_hottest(excerpts: list[Excerpt]) -> None:
    counted = [line for each in excerpts for line in each.lines if line and line.counters]
    most = max((weight(line.counters) for line in counted), default=0)
    for line in counted:
        line.hottest = most > 0 and weight(line.counters) == most


def weight(counted: dict) -> float:
    """Warp instructions, and each lane's atomic as one more: lanes that want one address queue for it, though they issue a
    single instruction."""
    return counted.get("warp_instructions", 0) + counted.get("atomic_operations", 0)


def used_columns(kernel: Kernel) -> list[Column]:
    """The columns in which the kernel has any value."""
    lines = [line for each in kernel.excerpts for line in each.lines if line]
    return [column for column in COLUMNS if any(line.values.get(column.key) is not None for line in lines)]


def to_json(found: list[Kernel]) -> list[dict]:
    return [
        {
            "kernel": each.name, "launches": each.launches, "shape": each.shape, "warps": each.warps, "counters": each.counters,
            "files": [
                {
                    "file": str(part.file),
                    "lines": [
                        {"line": line.number, "source": line.source, "share": line.share, "hottest": line.hottest, **line.values,
                         "counters": line.counters, "hazards": line.hazards}
                        for line in part.lines if line and (line.counters or line.hazards)
                    ],
                }
                for part in each.excerpts
            ],
        }
        for each in found
    ]  # fmt: skip
