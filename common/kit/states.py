"""The states of a rung: the one list of them on the Python side. The labs' programs print the names (common/lab)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class State:
    name: str  # as the labs' programs print it
    label: str  # as the ladder shows it
    colour: str  # of console.COLOURS
    kind: str  # "pass", "open" (nothing to judge yet) or "fail"
    meaning: str


# As far from passing as can be first, as the labs' programs have them.
STATES = [
    State("todo", "to do", "yellow", "open", "nothing has been filled in yet"),
    State("wrong", "WRONG", "red", "fail", "the result is wrong, or the kernel failed"),
    State("hazard", "HAZARD", "red", "fail", "the result is right by luck: the kernel does something that no GPU promises to get right"),
    State("off-technique", "off technique", "yellow", "fail", "the result is right, but not reached in the way that the rung teaches"),
    State("slow", "slow", "yellow", "fail", "the result is right, but it takes longer than the rung allows"),
    State("pass", "right", "green", "pass", "the result is right, and reached in the way that the rung teaches"),
    State("skip", "skipped", "grey", "open", "not run: this machine lacks something that the rung needs"),
]
_BY_NAME = {state.name: state for state in STATES}


def of(rung: dict) -> State:
    """The state of a rung in a lab's answer."""
    return _BY_NAME[rung["state"]]


def legend(rungs: list[dict]) -> str:
    """What those states mean that these rungs are in and that the reader can do something about; "" where there are none."""
    present = [state for state in STATES if state.kind == "fail" and any(rung["state"] == state.name for rung in rungs)]
    return "\n".join(f"{state.name}: {state.meaning}." for state in present)
