"""A student's predictions of counts, kept until the rung can be counted, and then compared with the counts."""

import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .. import counters
from ..console import paint, wrap
from ..errors import USAGE, KitError
from ..paths import OWN
from ..programs import labs
from ..table import Table

KEPT = Path(os.environ.get("WARPFOLD_PREDICTIONS") or OWN / "predictions.json")
EXACT, CLOSE = 1.02, 1.5  # factors within which a prediction counts as right, and as close
COLOURS = {"right": "green", "close": "yellow", "off": "red"}
# Asked for, in this order, if no counter is named.
USUAL = ["atomic_operations", "barriers", "global_load_requests", "global_load_sectors", "bank_conflicts", "shuffles", "warp_instructions"]

# What to think about if a prediction was off: in general, then if it was too low and if it was too high.
THINK = {
    "atomic_operations": ("Who adds to the result: each thread, one lane of each warp, or one thread of each block?", "", ""),
    "barriers": ("A barrier is counted once per block that passes it. How many blocks are there, and how many barriers does each pass?",
                 "Is there one before the loop as well?", "How many steps does it take to halve the stride from its first value to 1?"),
    "global_load_requests": ("A request is one load by a whole warp, however many of its lanes take part.",
                             "Does a warp load once, or once per step?", "Divide by 32, and then by the number of elements that one load fetches."),
    "global_load_sectors": ("A sector has 32 bytes, or 8 floats; 32 lanes that read neighbouring floats share 4 sectors.",
                            "Which lanes of a warp read far apart? Each of those touches its own sector.",
                            "Lanes that read neighbouring elements share a sector."),
    "bank_conflicts": ("There are 32 banks, and word i is in bank i % 32. Which lanes of one warp, in one step, want different words in the same bank?",
                       "A stride that is a power of two maps many lanes to few banks.", "Neighbours lie in different banks."),
    "shuffles": ("A shuffle is counted once per warp, and 5 shuffles combine 32 values. Which warps execute them, and how often?", "", ""),
    "warp_instructions": ("An instruction costs a warp the same whether one of its lanes is active or all of them.",
                          "Which warps go through the loop although they have nothing to add?", "Which warps finish early?"),
    "simt_efficiency": ("Of the 32 lanes of each warp instruction, how many are active?", "Are whole warps idle? Those cost nothing.",
                        "Which lanes wait while others of their warp work?"),
    "sectors_per_request": ("How far apart are the addresses of two neighbouring lanes, in bytes?", "", ""),
    "launches": ("Each launch of a kernel counts, including those in a loop on the host.", "", ""),
}  # fmt: skip
SHARED = ("A request is one access by a whole warp; a wavefront serves one word of each bank.", "Count every step of the tree, and each warp in it.",
          "A warp makes no request if none of its lanes has anything to do.")  # fmt: skip


@dataclass
class Guess:
    lab: str
    rung: str
    values: dict[str, float] = field(default_factory=dict)  # by counter
    over: str = ""  # the values are the rung's divided by this one's
    n: int | None = None
    rows: int | None = None
    block: int | None = None

    @property
    def where(self) -> str:
        sizes = [
            f"n = {self.n:,}" if self.n else "",
            f"{self.rows:,} rows" if self.rows else "",
            f"{self.block} threads per block" if self.block else "",
        ]
        name = f"{self.rung} over {self.over}" if self.over else self.rung
        return ", ".join([name, *(size for size in sizes if size)])

    @property
    def key(self) -> tuple:
        return self.lab, self.rung, self.over, self.n, self.rows, self.block


@dataclass(frozen=True)
class Compared:
    label: str
    guessed: str
    counted: str
    verdict: str  # "right", "close" or "off"
    words: str
    think: str


def counter_named(name: str) -> str:
    """The key of a counter, given its key, its label, or a part of either that identifies it among the usual ones."""
    wanted = name.strip().lower().replace("_", " ").replace("-", " ")
    aliases = {"atomics": "atomic_operations", "sectors": "global_load_sectors", "requests": "global_load_requests", "loads": "global_load_requests",
               "conflicts": "bank_conflicts", "instructions": "warp_instructions", "simt": "simt_efficiency", "launches": "launches"}  # fmt: skip
    if wanted in aliases:
        return aliases[wanted]
    known = {key: counter.label.lower() for key, counter in counters.CATALOGUE.items()}
    for fits in (lambda text: text == wanted, lambda text: wanted in text):
        found = [key for key, label in known.items() if fits(label) or fits(key.replace("_", " "))]
        if len(found) == 1:
            return found[0]
    some = ", ".join(USUAL)
    raise KitError(f"no counter is called '{name}'", f"Some of the counters: {some}, simt_efficiency, launches", USAGE)


def number(text: str) -> float:
    """1000, 1,000, 2^20, 4*2^10, 1e6, 12.5 or 50%."""
    plain = text.strip().replace(",", "").replace(" ", "")
    part = re.compile(r"(\d+(?:\.\d+)?(?:e\d+)?)(?:\^(\d+))?(%?)")
    value = 1.0
    for factor in plain.split("*"):
        found = part.fullmatch(factor)
        if re.match(r"-\d", plain):
            raise KitError(f"'{text}' is less than 0", "Give a number such as 4096, 2^20, 4*2^10, 2.5 or 50%.", USAGE)
        if not found or int(found[2] or 0) > 64:
            raise KitError(f"'{text}' is not a number", "Give a number such as 4096, 2^20, 4*2^10, 2.5 or 50%.", USAGE)
        value *= float(found[1]) ** int(found[2] or 1) * (0.01 if found[3] else 1)
    return value


def kept() -> list[Guess]:
    try:
        return [Guess(**each) for each in json.loads(KEPT.read_text())]
    except (OSError, ValueError, TypeError):
        return []


def keep(guess: Guess) -> None:
    """Replaces an earlier prediction for the same rung and size."""
    every = [each for each in kept() if each.key != guess.key] + [guess]
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps([asdict(each) for each in every], indent=1))


def words(guess: Guess) -> list[str]:
    options = []
    for option, value in (("--n", guess.n), ("--rows", guess.rows), ("--block", guess.block)):
        if value is not None:
            options += [option, str(value)]
    return options


def counted(lab: labs.Lab, guess: Guess) -> dict[str, float | None] | None:
    """What was predicted, counted on the emulator; None while one of the rungs is still to do or not right yet."""
    names = [guess.rung, *([guess.over] if guess.over else [])]
    answer = labs.ask(lab, "--profile", "--device", "emulator", *(word for name in names for word in ("--rung", name)), *words(guess))
    return values_in(answer, guess)


def values_in(answer: dict, guess: Guess) -> dict[str, float | None] | None:
    profiles = {rung["name"]: rung["profile"] for rung in answer["rungs"] if "profile" in rung}
    names = [guess.rung, *([guess.over] if guess.over else [])]
    if any(name not in profiles for name in names):
        return None
    found: dict[str, float | None] = {}
    for key in guess.values:
        mine, *others = (value_of(profiles[name], key) for name in names)
        if not others:
            found[key] = mine
        else:
            found[key] = mine / others[0] if mine is not None and others[0] else None
    return found


def value_of(profile: dict, key: str) -> float | None:
    return profile["launches"] if key == "launches" else counters.value(profile["counters"], key)


def compare(guess: Guess, found: dict[str, float | None]) -> list[Compared]:
    return [compared(key, guessed, found.get(key), bool(guess.over)) for key, guessed in guess.values.items()]


def compared(key: str, guessed: float, actual: float | None, is_ratio: bool) -> Compared:
    label = "launches" if key == "launches" else counters.CATALOGUE[key].label
    share = key != "launches" and counters.CATALOGUE[key].unit == "share" and not is_ratio
    if actual is None:
        return Compared(label, text(guessed, share), "nothing", "off", "the other rung's count is 0, so there is no ratio", "")
    if guessed == actual or (guessed > 0 and actual > 0 and max(guessed / actual, actual / guessed) <= EXACT):
        return Compared(label, text(guessed, share), text(actual, share), "right", "as you said", "")
    low = guessed < actual
    factor = max(guessed, actual) / min(guessed, actual) if min(guessed, actual) > 0 else None
    by = f"{'too low' if low else 'too high'}{f' by a factor of {factor:,.3g}' if factor else ''}"
    general, when_low, when_high = THINK.get(key, SHARED if key.startswith("shared_") else ("", "", ""))
    if is_ratio:
        general = f"As a ratio: what does the one do that the other does not? {general}".strip()
    think = " ".join(part for part in (general, when_low if low else when_high) if part)
    if factor in (8, 32):
        think += f" A factor of {factor:.0f} is the number of {'floats in a sector' if factor == 8 else 'lanes in a warp'}."
    verdict = "close" if factor and factor <= CLOSE else "off"
    return Compared(label, text(guessed, share), text(actual, share), verdict, by, think.strip())


def text(value: float, share: bool) -> str:
    if share:
        return f"{100 * value:.0f}%"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3g}"


def lines(guess: Guess, found: dict, wide: int) -> list[str]:
    table = Table(["", "you", "counted"])
    compared = compare(guess, found)
    for each in compared:
        table.add([each.label, each.guessed, each.counted])
    made = [f"{paint(guess.where, 'bold')}{' (ratios)' if guess.over else ''}"]
    for line, words in zip(table.text().splitlines(), ["", *(paint(each.words, COLOURS[each.verdict]) for each in compared)], strict=True):
        made += wrap(f"{line}  {words}".rstrip(), wide, "  ", "    ")
    for each in compared:
        if each.think:
            made += wrap(f"{each.label}: {each.think}", wide, "  ", "    ")
    return made
