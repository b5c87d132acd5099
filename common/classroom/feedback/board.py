"""A board for those who like to compete: the fastest kernels of lab 09, by a time computed from counts, under pseudonyms.

Only kernels that pass are on it. The first ten are judged again on inputs that nobody has seen before, and no time below the
limit that memory bandwidth sets is accepted."""

import hashlib
import math
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ..course import version
from ..grading import results
from ..grading.grader import Hidden, Job, NotGraded, spliced_with
from ..grading.work import Piece
from ..isolation.sandbox import Sandbox
from ..submission import handin
from ..submission.archive import shown
from . import pages

LAB, RUNG = "09_speed_of_light", "champion"
FIRST = 10  # how many are judged again
ELEMENTS = 1 << 22  # the size that the times are for: large enough that the launch does not dominate
COLOURS = (
    "amber",
    "azure",
    "copper",
    "coral",
    "crimson",
    "golden",
    "indigo",
    "ivory",
    "jade",
    "lilac",
    "navy",
    "olive",
    "pearl",
    "ruby",
    "silver",
    "teal",
)
ANIMALS = (
    "badger",
    "crane",
    "falcon",
    "gecko",
    "heron",
    "ibex",
    "jackdaw",
    "koala",
    "lemur",
    "marten",
    "newt",
    "otter",
    "puffin",
    "raven",
    "stoat",
    "wren",
)


@dataclass(frozen=True)
class Line:
    student: str  # "" if it is not a student's
    name: str
    us: float  # infinite: no time could be computed, and the remark says why
    n: int
    remark: str = ""

    @property
    def time(self) -> str:
        return f"{self.us:.2f}" if math.isfinite(self.us) else "-"

    def share(self, limit: float) -> str:
        """Of the bandwidth. `limit`: the microseconds that reading all elements takes."""
        return f"{100 * limit / self.us:.0f} %" if math.isfinite(self.us) else "-"


def pseudonyms(students: list[str], secret: bytes) -> dict[str, str]:
    """Pseudonyms that stay the same for the whole term and cannot be computed without the class's secret. No two are the same."""
    found: dict[str, str] = {}
    for student in sorted(students):
        number = int.from_bytes(hashlib.sha256(secret + b"\0board\0" + student.encode()).digest()[:8], "big")
        name = f"{COLOURS[number % 16]} {ANIMALS[number // 16 % 16]}"
        while name in found.values():
            number += 1
            name = f"{COLOURS[number % 16]} {ANIMALS[number // 16 % 16]} {number // 256 % 900 + 100}"
        found[student] = name
    return found


def launches(lab: version.Lab, text: str, hidden: Hidden, sandbox: Sandbox, elements: int = ELEMENTS) -> tuple[list[dict], int]:
    """What the rung launches for this many elements, with counts, and the actual number of elements; nothing if it fails on these inputs."""
    with tempfile.TemporaryDirectory(prefix="warpfold-board-") as folder:
        job = Job(lab, spliced_with(lab, text), hidden, sandbox, Path(folder))
        if job.compile():
            return [], 0
        answered, _ = job.judge([RUNG], ("--profile", f"--n={elements}"))
        profile = answered[0].get("profile", {}) if answered and answered[0]["state"] == "pass" else {}
        return profile.get("report", {}).get("launches", []), profile.get("n", 0)


def counted(piece: Piece, hidden: Hidden, sandbox: Sandbox) -> tuple[list[dict], int]:
    """The same, read from a file if this text has been on the board before."""
    kept = piece.into / "board" / f"{piece.key}.json"
    if known := results.read(kept):
        return known["launches"], known["n"]
    found, n = launches(piece.lab, handin.kept(piece.source), hidden, sandbox)
    results.write(kept, {"format": results.FORMAT, "launches": found, "n": n})
    return found, n


def passes(piece: Piece) -> bool:
    return why_absent(piece) == ""


def why_absent(piece: Piece) -> str:
    """Why somebody who handed in the lab is not on the board; "" if they are."""
    if piece.result is None:
        return "not graded yet: ./kit class grade"
    state = next((rung["state"] for rung in piece.result["rungs"] if rung["name"] == RUNG), "not in the result")
    return "" if state == "pass" else f"{RUNG} is {state}"


def lines(
    pieces: dict[str, Piece], names: dict[str, str], price: Callable[[list[dict]], float], limit: Callable[[int], float], sandbox: Sandbox
) -> list[Line]:
    """Fastest first. `price`: microseconds of launches; `limit`: the least number of microseconds that reading this many elements takes."""
    made = []
    for student, piece in pieces.items():
        if passes(piece):
            made.append(timed(student, names[student], piece, price, sandbox))
    made = [line if line.remark or line.us >= limit(line.n) else replace(line, remark="below the limit: not believed") for line in made]
    made.sort(key=lambda line: (bool(line.remark), line.us, line.name))
    for index, line in enumerate(made[:FIRST]):
        if not line.remark and not again(pieces[line.student], sandbox):
            made[index] = replace(line, remark="does not pass on fresh inputs")
    return sorted(made, key=lambda line: (bool(line.remark), line.us, line.name))


def timed(student: str, name: str, piece: Piece, price: Callable[[list[dict]], float], sandbox: Sandbox) -> Line:
    """Everybody who passes has a line, with a time or with the reason why there is none."""
    try:
        found, n = counted(piece, piece.hidden, sandbox)
    except NotGraded as error:
        return Line(student, name, math.inf, 0, f"no time: this machine could not judge it ({shown(str(error))})")
    if not found:
        return Line(student, name, math.inf, 0, f"no time: it fails on {ELEMENTS:,} elements, more than grading uses")
    return Line(student, name, price(found), n)


def again(piece: Piece, sandbox: Sandbox) -> bool:
    """Whether it passes on inputs and sizes that are made up now."""
    sizes = (str(1000 + secrets.randbelow(100_000)), f"{500 + secrets.randbelow(50_000)}:{32 << secrets.randbelow(6)}")
    try:
        found, _ = launches(piece.lab, handin.kept(piece.source), Hidden(1 + secrets.randbelow(1 << 31), sizes), sandbox, 1 << 18)
        return bool(found)
    except NotGraded:
        return True  # the machine's fault, not the student's


def page(title: str, gpu: str, board: list[Line], limit: float) -> str:
    rows, place = [], 0
    for line in board:
        place += not line.remark and bool(line.student)
        rows.append(
            f'<tr><td class="n">{place if line.student and not line.remark else ""}</td><td>{pages.escape(line.name)}</td><td class="n">{line.time}</td>'
            f'<td class="n">{line.share(limit)}</td><td class="note">{pages.escape(line.remark)}</td></tr>'
        )
    said = (
        f"Microseconds that {RUNG} of {LAB} would take for {next((line.n for line in board if line.n), ELEMENTS):,} elements on the {gpu}, "
        "computed from the emulator's counts: predicted, not measured."
    )
    return pages.page(
        f"{title}: the board",
        f'<h1>{pages.escape(title)}</h1><p>{pages.escape(said)}</p><table><tr><th class="n"></th><th>who</th><th class="n">us</th><th class="n">of the bandwidth</th><th></th></tr>'
        f'{"".join(rows)}</table><p class="note">The limit, {limit:.2f} us, is the time to read all elements once at the bandwidth in the data sheet.</p>',
    )
