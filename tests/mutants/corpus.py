"""The marks of the mutants, as parts.cuh describes them, and the programs that hold them."""

import re
from dataclasses import dataclass
from pathlib import Path

MARK = re.compile(r"\s*// MUTANT (\w+): state=(\S+) kind=(\S+) diagnosis=(\S+)(?: alone=(\S+))?\s*$")

# As a kind: it is the reason that names the line, and no hazard. So it is where NCCL tells a mistake.
REASON = "reason"
# Families whose rungs run in processes that mpirun starts, once for each rung.
ONE_BY_ONE = {"ranks"}


@dataclass(frozen=True)
class Mutant:
    family: str  # the program, without its prefix
    name: str  # the rung
    state: str
    kind: str  # of the hazard; "none", or REASON
    diagnosis: str  # of the wrong number; "none", or "any" if the number depends on which thread was first
    alone: str  # the option that it needs to show when it runs alone; None: any
    line: int  # that a hazard must name
    mistake: str
    source: Path


def read(source: Path) -> list[Mutant]:
    """The mutants of one family, in the order of the file."""
    found = []
    lines = source.read_text().splitlines()
    for at, text in enumerate(lines):
        if not (mark := MARK.match(text)):
            if "// MUTANT" in text:
                raise ValueError(f"{source}:{at + 1}: not a mark: {text.strip()}")
            continue
        words = []
        while lines[at + 1].strip().startswith("//"):
            at += 1
            words.append(lines[at].strip().removeprefix("//").strip())
        found.append(Mutant(source.stem, *mark.groups(), line=at + 2, mistake=" ".join(words), source=source))
    return found


def families(folder: Path) -> dict[str, list[Mutant]]:
    return {source.stem: read(source) for source in sorted(folder.glob("*.cu"))}
