"""The cell magics: %%lab puts the cell into the student's file, which is built and checked; %%cuda is in programs.py."""

from pathlib import Path

from IPython.core.magic import register_cell_magic
from IPython.display import display

from . import labs, opening, programs, regions
from .plots import Note, StillOpen
from .verdict import BuildFailed, Cell, LabError

USAGE = "%%lab RUNG, or %%lab RUNG NUMBER if the rung has several regions: %%lab warp_shuffle 2"


def register(shell) -> None:
    register_cell_magic("lab")(fill)
    register_cell_magic("cuda")(programs.run_cell)


def fill(line: str, cell: str) -> None:
    rung, part = parse(line)
    path = labs.source_with(rung)
    text = regions.read(path)
    name = labs.relative(path)
    found = regions.of_rung(text, name, rung)
    region = choose(found, rung, part)
    which = f"{rung}, region {found.index(region) + 1} of {len(found)}" if len(found) > 1 else rung
    if regions.has_code(cell):
        backup = regions.write(path, regions.replaced(text, region, cell))
        if backup:
            print(f"{which} is written to {name}, lines {region.begin + 2} and on; what was there before is in {backup.name}")
    in_cell = cell_of(path, region, cell) if regions.has_code(cell) else None
    try:
        verdict = opening.open(path.parent.name).verdict(rung, cell=in_cell)
    except BuildFailed as error:
        if error.cell not in ("", f"%%lab {rung}", f"%%lab {rung} {found.index(region) + 1}"):
            display(Note(f"{which} is not checked: {name} does not compile because of the cell {error.cell}. Correct that one first."))
            return
        raise BuildFailed(in_cell.named_in(error.said) if in_cell else error.said) from None
    if in_cell is None and verdict.states()[rung] == "todo":
        display(StillOpen(f"{which} is still to be filled in: the cell contains no code, so {name} stays as it is.", rung))
        return
    display(verdict)
    verdict.raise_if_failed()


def cell_of(path: Path, region: regions.Region, cell: str) -> Cell:
    """Which lines of the file came from which lines of the cell, whose first is the one with %%lab."""
    blank = len(cell) - len(cell.lstrip("\n"))
    count = len(cell.strip("\n").splitlines())
    return Cell(path.name, first=region.begin + 2, count=count, first_in_cell=2 + blank)


def parse(line: str) -> tuple[str, int | None]:
    words = line.split()
    if not words or len(words) > 2:
        raise LabError(f"Say which region the cell fills: {USAGE}")
    if len(words) == 1:
        return labs.only_rung(words[0]), None
    if not words[1].isdigit() or int(words[1]) < 1:
        raise LabError(f"{words[1]} is not the number of a region, from 1. {USAGE}")
    return labs.only_rung(words[0]), int(words[1])


def choose(found: list[regions.Region], rung: str, part: int | None) -> regions.Region:
    if part is None and len(found) > 1:
        lines = ", ".join(f"region {index} at line {region.begin + 1}" for index, region in enumerate(found, 1))
        raise LabError(f"{rung} has {len(found)} regions ({lines}). Say which one: %%lab {rung} 1")
    if part is not None and part > len(found):
        raise LabError(f"{rung} has {len(found)} region{'s' if len(found) > 1 else ''}, so there is no region {part}.")
    return found[(part or 1) - 1]
