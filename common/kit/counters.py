"""The catalogue of counters, read from the emulator's own (common/emulator/watch/counted.def, which says what a row is).

Whatever shows, compares or measures a counter takes its label, unit, meaning and Nsight Compute's name from here, and what
is worked out of counters, as the SIMT efficiency is, from `value`: for a line, a launch, or sums over several."""

import ast
import re
from dataclasses import dataclass

from .paths import ROOT

FILE = ROOT / "common" / "emulator" / "watch" / "counted.def"
ROW = re.compile(
    r'^(COUNTED|COUNTED_PER_LAUNCH|COUNTED_PER_LINE|COUNTED_MOST|RATIO)\((\w+), "(.*?)", "(.*?)", "(.*?)", (.*)\)$', re.MULTILINE
)


@dataclass(frozen=True)
class Counter:
    key: str  # in reports
    label: str
    unit: str  # "share" for a part of 1
    meaning: str
    nsight: tuple[str, ...] = ()  # Nsight Compute's metrics of a launch, to be added up
    is_most: bool = False  # of several launches the greatest, not the sum
    numerator: str = ""  # of a ratio, over other counters' keys
    denominator: str = ""

    @property
    def is_ratio(self) -> bool:
        return bool(self.denominator)


def _read(text: str) -> dict[str, Counter]:
    found = {}
    for kind, key, label, unit, third, rest in ROW.findall(text):
        if kind == "RATIO":
            numerator, denominator = rest.split(", ")
            found[key] = Counter(key, label, unit, third, numerator=numerator, denominator=denominator)
        else:
            found[key] = Counter(key, label, unit, rest.strip('"'), tuple(third.split(" + ")) if third else (), kind == "COUNTED_MOST")
    return found


CATALOGUE = _read(FILE.read_text())


def value(counted: dict, key: str) -> float | None:
    """A counter of a line, a launch or a sum of them; of a ratio whose denominator is 0, and of what was not counted, None."""
    counter = CATALOGUE[key]
    if not counter.is_ratio:
        return counted.get(key)
    below = _evaluate(counter.denominator, counted)
    return _evaluate(counter.numerator, counted) / below if below else None


def add_up(into: dict, counted: dict) -> None:
    """Adds the counters of a line or a launch to a sum. Ratios are left out: `value` works them out of the sum."""
    for key, number in counted.items():
        if key in CATALOGUE and not CATALOGUE[key].is_ratio:
            into[key] = max(into.get(key, 0), number) if CATALOGUE[key].is_most else into.get(key, 0) + number


def _evaluate(expression: str, counted: dict) -> float:
    """Sums and products of counters and whole numbers."""

    def of(node: ast.expr) -> float:
        match node:
            case ast.Name(id=name):
                return counted.get(name, 0)
            case ast.Constant(value=number):
                return number
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return of(left) + of(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return of(left) * of(right)
        raise ValueError(f"{FILE.name}: {expression!r} is neither a sum nor a product")

    return of(ast.parse(expression, mode="eval").body)
