"""The states of a rung, read from the one table of them (common/lab/states.def), which the labs' programs share."""

import re
from dataclasses import dataclass

from .paths import ROOT

FILE = ROOT / "common" / "lab" / "states.def"
ROW = re.compile(r'^WARPFOLD_STATE\(\w+, "([^"]+)", "([^"]+)", "([^"]+)", "([^"]+)", "([^"]+)"\)$', re.MULTILINE)


@dataclass(frozen=True)
class State:
    name: str  # as the labs' programs print it
    meaning: str
    label: str  # as the ladder shows it
    colour: str  # of console.COLOURS
    kind: str  # "pass", "open" (nothing to judge yet) or "fail"


# Those furthest from passing come first.
STATES = [State(*row) for row in ROW.findall(FILE.read_text())]
_BY_NAME = {state.name: state for state in STATES}


def of(rung: dict) -> State:
    """The state of a rung in a lab's answer."""
    return _BY_NAME[rung["state"]]


def legend(rungs: list[dict]) -> str:
    """The meanings of the states of these rungs that the reader can do something about; "" if there are none."""
    present = [state for state in STATES if state.kind == "fail" and any(rung["state"] == state.name for rung in rungs)]
    return "\n".join(f"{state.name}: {state.meaning}." for state in present)
