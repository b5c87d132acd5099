"""The catalogue of counters, read from the emulator's own (common/emulator/analysis/counted.def, which says what a row is).

Code that shows, compares or measures a counter takes its label, unit, meaning and Nsight Compute name from here, and
derived figures such as the SIMT efficiency from `value`, which works for a line, a launch, or sums over several."""

import ast
import re
from dataclasses import dataclass

from .paths import ROOT

FILE = ROOT / "common" / "emulator" / "analysis" / "counted.def"
ROW = re.compile(
    r'^(COUNTED|COUNTED_PER_LAUNCH|COUNTED_PER_LINE|COUNTED_MOST|RATIO)\((\w+), "(.*?)", "(.*?)", "(.*?)", (.*)\)$', re.MULTILINE
)


@dataclass(frozen=True)
class Counter:
    key: str  # in reports
    label: str
    unit: str  # "share" for a fraction of 1
    meaning: str
    nsight: tuple[str, ...] = ()  # Nsight Compute's metrics of a launch, to be added up
    is_most: bool = False  # for several launches, the maximum instead of the sum
    numerator: str = ""  # for a ratio, in terms of other counters' keys
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
    """The counter's value for a line, a launch or a sum of them; None for a ratio whose denominator is 0 and for what was not counted."""
    counter = CATALOGUE[key]
    if not counter.is_ratio:
        return counted.get(key)
    below = _evaluate(counter.denominator, counted)
    return _evaluate(counter.numerator, counted) / below if below else None


def add_up(into: dict, counted: dict) -> None:
    """Adds the counters of a line or a launch to a sum. Ratios are left out: `value` computes them from the sum."""
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
