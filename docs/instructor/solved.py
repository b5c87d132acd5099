"""The body of the page of answers: for each lab its answers.md and its solved regions, as they are in solutions/."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BEGIN = re.compile(r"^\s*// BEGIN (\w+)$", re.MULTILINE)


def source_of(folder: Path) -> Path:
    """What the student fills: the OpenCL kernels where there are any, else the CUDA file."""
    kernels = folder / f"{folder.name[3:]}.cl"
    return kernels if kernels.exists() else kernels.with_suffix(".cu")


def section(folder: Path) -> str:
    source = source_of(folder)
    begins = BEGIN.findall(source.read_text())
    place = f"solutions/{folder.name}"
    parts = [f"## {folder.name}", f"```{{include}} ../../{place}/answers.md\n```"]
    for rung in dict.fromkeys(begins):
        if begins.count(rung) > 1:
            parts.append(f"`{rung}` has several regions: see {place}/{source.name}.")
            continue
        parts.append(f"```{{literalinclude}} ../../{place}/{source.name}\n:language: c++\n:caption: {rung}\n"
                     f":start-after: BEGIN {rung}\n:end-before: END {rung}\n:dedent:\n```")  # fmt: skip
    return "\n\n".join(parts)


def sections() -> str:
    folders = sorted(path for path in (ROOT / "solutions").iterdir() if source_of(path).exists())
    return "\n\n".join(section(folder) for folder in folders) + "\n"
