"""A rung on a few numbers, 1 to 9, step by step: the array after each step, small enough to follow in one's head."""

import math
import sys
from dataclasses import dataclass

from ..console import paint, wants_colour
from ..errors import KitError
from ..programs import rungs
from . import record, words
from .steps import Array, Step, number, reads_as_float

USUAL_N = 8
MOST_SHOWN = 32  # elements of an array
GIVEN = "input"  # as the lab's program names the memory that it fills


@dataclass
class Small:
    rung: str
    answer: dict  # what the program says: n, block, input, expected, results, error; right, if the results round
    steps: list[Step]
    hazards: list[dict]
    unseen: str = ""  # what the rung does beside its kernels

    @property
    def right(self) -> bool:
        return not self.answer["error"] and self.answer.get("right", self.answer["results"] == self.answer["expected"])


def run(lab, rung: str, options) -> Small:
    answer, report, trace = rungs.observed(lab, rung, ["--once"], options, 0)
    try:
        steps = record.steps_of_launches(trace["launches"], report["hazards"], 0)
    except KitError:
        steps = []  # no launch, or none that touches memory
    return Small(rung, answer, steps, report["hazards"], record.unseen(lab, rung))


def show(small: Small, wide: int) -> None:
    for line in lines(small, wide):
        print(line)


def lines(small: Small, wide: int) -> list[str]:
    answer, made = small.answer, []
    shape = f"n = {answer['n']}" if answer["rows"] == 1 else f"{answer['rows']} rows of {answer['n'] // max(answer['rows'], 1)}"
    made += words.filled(
        f"{paint(small.rung, 'bold')}: {shape}, {answer['block']} threads per block, block 0 of each launch", wide, "  ", ""
    )
    made += words.filled(f"input: {' '.join(text(value) for value in answer.get('input', []))}", wide, "  ")
    before: dict[tuple[int, str], dict[int, str]] = {}
    for index, step in enumerate(small.steps, 1):
        made += [
            "",
            *words.filled(f"{paint(f'Step {index} of {len(small.steps)}', 'bold')}, {step.launch}. {words.summary(step)}", wide, "  ", ""),
        ]
        for sentence in [*words.sentences(step), words.ending(step)]:
            if sentence:
                made += words.filled(sentence, wide, "    ", "  ")
        made += arrays_after(small, step, before, wide)
    if answer.get("printed"):
        made += ["", "The kernel printed:", *(f"    {line}" for line in answer["printed"])]
    return [*made, "", *ending(small, wide), *(words.filled(small.unseen, wide, "  ", "") if small.unseen else [])]


def arrays_after(small: Small, step: Step, before: dict, wide: int) -> list[str]:
    """The values of each array that the step touches; in brackets (or in colour) those that it has changed."""
    made = []
    touched = [array for array in step.arrays if any(request.array is array for request in step.requests)]
    widest = max((len(array.name) for array in touched), default=0)
    for index, array in enumerate(step.arrays):
        if array not in touched:
            continue
        values = values_of(small, step, index, array)
        key = (0, array.name)
        changed = {element for element in values if values[element] != before.get(key, values_before(small, array)).get(element)}
        before[key] = values
        if values:
            name, count = f"{array.name:<{widest}}", shown(small, array, values)
            if 2 * sum(element < count for element in values) < count:
                made += pairs(name, one_by_one(step, index, array), changed, wide)
            else:
                made += rows(name, values, changed, count, wide)
    return made


def shown(small: Small, array: Array, values: dict[int, str]) -> int:
    """How many elements: the input's number, or as far as something other than 0 lies."""
    last = max((element for element, value in values.items() if value != "0"), default=0)
    return min(array.count, MOST_SHOWN, max(last + 1, small.answer["n"] if array.name == GIVEN else 1))


def values_before(small: Small, array: Array) -> dict[int, str]:
    if array.name != GIVEN:
        return {}
    return {index: text(value) for index, value in enumerate(small.answer.get("input", []))}


def values_of(small: Small, step: Step, index: int, array: Array) -> dict[int, str]:
    known = step.values.get(index, {})
    as_float = reads_as_float(list(known.values()), array.width)
    return values_before(small, array) | {element: text(number(bits, array.width, as_float)) for element, bits in known.items()}


def one_by_one(step: Step, index: int, array: Array) -> dict[int, str]:
    """The values that are known, each a float or an integer by its own bits: such memory often holds both."""
    known = step.values.get(index, {})
    return {element: text(number(bits, array.width, reads_as_float([bits], array.width))) for element, bits in known.items()}


def rows(name: str, values: dict[int, str], changed: set[int], count: int, wide: int) -> list[str]:
    cell = max(3, *(len(values.get(element, "?")) + 2 for element in range(count)))
    margin = 4 + len(name) + 2
    at_once = max(1, (wide - margin) // cell)
    made = []
    for first in range(0, count, at_once):
        line = f"    {name if first == 0 else '':<{len(name)}}  "
        for element in range(first, min(count, first + at_once)):
            value = values.get(element, "?")
            if element in changed:
                shown_value = paint(f"{value + ' ':>{cell}}", "green") if wants_colour(sys.stdout) else f"{'[' + value + ']':>{cell}}"
            else:
                shown_value = f"{value + ' ':>{cell}}"
            line += shown_value
        made.append(line.rstrip())
    return made


def pairs(name: str, values: dict[int, str], changed: set[int], wide: int) -> list[str]:
    """The elements of which something is known, each with its index, where most of an array was never read or written."""
    parts = []
    for element in sorted(values)[:MOST_SHOWN]:
        value = values[element]
        if element in changed:
            value = paint(value, "green") if wants_colour(sys.stdout) else f"[{value}]"
        parts.append(f"{element}: {value}")
    return words.filled(f"{name}   {'   '.join(parts)}", wide, " " * (len(name) + 7), " " * 4)


def text(value: float) -> str:
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return str(value)
    return f"{value:.0f}" if value == int(value) else f"{value:.6g}"


def ending(small: Small, wide: int) -> list[str]:
    answer = small.answer
    if answer["error"]:
        return words.filled(paint(f"It stopped: {answer['error']}", "red"), wide, "  ", "")
    got, wanted = (" ".join(text(value) for value in answer.get(key) or []) for key in ("results", "expected"))
    verdict = (
        paint(f"The result is {got}: right.", "green") if small.right else paint(f"The result is {got}, but should be {wanted}.", "red")
    )
    made = words.filled(verdict, wide, "  ", "")
    for kind in dict.fromkeys(hazard["kind"] for hazard in small.hazards):
        hazard = next(each for each in small.hazards if each["kind"] == kind)
        made += words.filled(paint(f"{kind}: {hazard['message']}.", "red"), wide, "  ", "")
    return made
