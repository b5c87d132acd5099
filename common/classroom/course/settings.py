"""What course.toml may contain: a table of its keys, with the type and the range of each. Everything is checked when the file is read,
so that a misspelt key does not change marks and a wrong value does not end a run hours later."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path

from kit import states
from kit.errors import USAGE, KitError
from kit.paths import ROOT

from ..submission.regions import take_apart

# The largest hidden size. With 2^24 elements, the labs' solutions take less than 200 MiB on the emulator, and elements of 8 bytes take 128 MiB
# of that; the sandbox allows 3 GiB (JUDGING in grader.py), so no right submission can reach that limit.
LARGEST_SIZE = 1 << 24
# Beyond these, a value is a slip of the pen, and sums or times would no longer be exact.
MOST_POINTS, MOST_DAYS = 1e6, 3650


@dataclass(frozen=True)
class Hidden:
    """What is tried in addition to the public sizes."""

    seed: int  # the key from which the seed of each submission is derived
    sizes: tuple[str, ...]  # as --more takes them: N or N:B


class Wrong(ValueError):
    """What is wrong with a value, and what is allowed. `key`: the rest of the way to it, if it is inside the value."""

    def __init__(self, what: str, key: str = ""):
        super().__init__(what)
        self.key = key


Check = Callable[[object], None]


def check(path: Path, settings: dict) -> None:
    """Raises an error of one line for the first mistake in course.toml."""
    rungs = rungs_of_labs()
    try:
        table_of(top(rungs))(settings)
    except Wrong as wrong:
        said = f"{wrong.key}: {wrong}" if wrong.key else str(wrong)
        said = "".join(character if character.isprintable() else "?" for character in said)  # one line, whatever a key or value is
        raise KitError(f"{path}: {said}", code=USAGE) from None


def check_students(path: Path, extensions: dict, known: set[str]) -> None:
    """Raises an error for an extension of somebody who is not in the class."""
    for student in extensions:
        if student not in known:
            near = did_you_mean(student, sorted(known))
            allowed = "the ids in roster.csv, and of those who have handed something in"
            raise KitError(f"{path}: extensions.{student}: no student has this id{near}; allowed: {allowed}", code=USAGE)


def rungs_of_labs() -> dict[str, list[str]]:
    """The rungs of every lab that is handed out, by its name."""
    found = {}
    for source in sorted(path for ending in ("cu", "cl") for path in (ROOT / "labs").glob(f"[0-9][0-9]_*/*.{ending}")):
        found[source.parent.name] = list(dict.fromkeys(rung for rung, _ in take_apart(source.read_text()).regions))
    return found


def top(rungs: dict[str, list[str]]) -> dict[str, Check]:
    """The table of all keys. `rungs`: those of each lab."""
    points, days = number(0, MOST_POINTS), number(0, MOST_DAYS)
    by_rung = lambda of: table_of({"default": points, **dict.fromkeys(of, points)}, "rung")  # noqa: E731
    days_by_lab = table_of(dict.fromkeys(rungs, days), "lab")
    return {
        "title": text,
        "labs": list_of(one_of(list(rungs), "lab"), once=True),
        "points": table_of({"default": points, **{lab: either(points, by_rung(of)) for lab, of in rungs.items()}}, "lab"),
        "credit": table_of({state.name: number(0, 1) for state in states.STATES}, "state"),
        "due": table_of(dict.fromkeys(rungs, moment), "lab"),
        "extensions": table_of_any(either(days, days_by_lab)),
        "late": table_of({"per_day": number(0, 1), "most_days": whole(0, MOST_DAYS), "grace_minutes": number(0, MOST_DAYS * 1440)}),
        "hidden": table_of({"seed": whole(0, 2**63 - 1), "sizes": list_of(size)}),
        "engine": table_of(
            {
                "kind": one_of(["local", "slurm"], "kind"),
                "workers": whole(1, 4096),
                "nodes": whole(1, 4096),
                "walltime": walltime,
                **dict.fromkeys(("partition", "account", "options", "shared", "address"), text),
            }
        ),
    }


# ---- checks of one value


def shown(value: object) -> str:
    described = f'"{value}"' if isinstance(value, str) else "a table" if isinstance(value, dict) else str(value)
    return described if len(described) <= 60 else described[:57] + "..."


def did_you_mean(name: str, known: list[str]) -> str:
    similar = get_close_matches(name, known, 2, 0.6) or [each for each in known if name and name in each][:2]
    return f" (did you mean {' or '.join(similar)}?)" if similar else ""


def text(value: object) -> None:
    if not isinstance(value, str):
        raise Wrong(f'{shown(value)} is not a text: write it in quotation marks ("...")')


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(least: float, most: float) -> Check:
    def check(value: object) -> None:
        if not is_number(value) or not least <= value <= most:
            raise Wrong(f"{shown(value)} is not allowed: give a number from {least:g} to {most:.10g}")

    return check


def whole(least: int, most: int) -> Check:
    def check(value: object) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise Wrong(f"{shown(value)} is not allowed: give a whole number from {least} to {most}")

    return check


def moment(value: object) -> None:
    if not isinstance(value, datetime):
        raise Wrong(f"{shown(value)} is not allowed: write a date with a time: 2026-11-30T23:59:00+01:00")


def walltime(value: object) -> None:
    if not isinstance(value, str) or not re.fullmatch(r"\d{1,3}:[0-5]\d:[0-5]\d", value):
        raise Wrong(f'{shown(value)} is not allowed: give hours, minutes and seconds: "01:00:00"')


def elements(given: str) -> int | None:
    """The number of elements of a hidden size such as 12345, 2^20 or 777:64, as the labs' programs read it; None if it is none."""
    found = re.fullmatch(r"(\d{1,18})(?:\^(\d{1,3}))?(?::(32|64|128|256|512|1024))?", given, re.ASCII)
    return int(found[1]) ** int(found[2] or 1) if found else None


def size(value: object) -> None:
    given = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    count = elements(given) if isinstance(given, str) else None
    if count is None:
        raise Wrong(
            f'{shown(value)} is not a size: write N or N:B, such as "12345", "2^20" or "777:64", with B a power of two from 32 to 1024'
        )
    if count > LARGEST_SIZE:
        raise Wrong(f"{shown(value)} is too large: a hidden size has at most 2^{LARGEST_SIZE.bit_length() - 1} = {LARGEST_SIZE} elements")


def one_of(known: list[str], kind: str) -> Check:
    def check(value: object) -> None:
        if value not in known:
            near = did_you_mean(value, known) if isinstance(value, str) else ""
            raise Wrong(f"{shown(value)}: there is no such {kind}{near}; allowed: {', '.join(known)}")

    return check


# ---- checks of what contains others


def inside(check: Check, value: object, key: str) -> None:
    try:
        check(value)
    except Wrong as wrong:
        raise Wrong(str(wrong), f"{key}.{wrong.key}" if wrong.key and not wrong.key.startswith("[") else key + wrong.key) from None


def list_of(check: Check, once: bool = False) -> Check:
    """`once`: no value may be repeated."""

    def check_all(values: object) -> None:
        if not isinstance(values, list):
            raise Wrong(f"{shown(values)} is not a list: write it in brackets ([...])")
        for index, value in enumerate(values):
            inside(check, value, f"[{index}]")
            if once and value in values[:index]:
                raise Wrong(f"{shown(value)} is listed twice: each may be listed once", f"[{index}]")

    return check_all


def table_of(known: dict[str, Check], kind: str = "key") -> Check:
    """A table whose keys are the known ones. `kind`: what a key is the name of."""

    def check(values: object) -> None:
        if not isinstance(values, dict):
            raise Wrong(f"{shown(values)} is not a table; its keys would be: {', '.join(known)}")
        for key, value in values.items():
            if key not in known:
                raise Wrong(f"there is no such {kind}{did_you_mean(key, list(known))}; allowed: {', '.join(known)}", key)
            inside(known[key], value, key)

    return check


def table_of_any(check: Check) -> Check:
    def check_all(values: object) -> None:
        if not isinstance(values, dict):
            raise Wrong(f"{shown(values)} is not a table: write one line per student, such as alice = 2, below [extensions]")
        for key, value in values.items():
            inside(check, value, key)

    return check_all


def either(single: Check, table: Check) -> Check:
    """A value, or a table of them."""
    return lambda value: table(value) if isinstance(value, dict) else single(value)
