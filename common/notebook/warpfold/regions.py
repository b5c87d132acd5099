"""The marked regions of a lab's source, and writing a cell into one without risk to the rest of the file.

    // BEGIN warp_shuffle
    // TODO: ...
    // END warp_shuffle

common/lab/input/regions.hpp says what a region is; the lab's own program judges whether it is filled.
"""

import os
import re
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

from .verdict import LabError

MARKER = re.compile(r"^([ \t]*)// (BEGIN|END) (\w+)[ \t]*$")
STRINGS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Region:
    rung: str
    begin: int  # index of the BEGIN marker's line, from 0
    end: int  # of the END marker's
    indent: str


def find(text: str, name: str) -> list[Region]:
    """All regions of a source file; `name` is for messages."""
    regions: list[Region] = []
    opened: tuple[str, int, str] | None = None
    for index, line in enumerate(text.splitlines()):
        marker = MARKER.match(line)
        if not marker:
            continue
        indent, kind, rung = marker.groups()
        if kind == "BEGIN" and opened:
            raise LabError(f"{name}:{index + 1}: BEGIN {rung} inside the region {opened[0]}; its END marker is missing")
        if kind == "END" and (not opened or opened[0] != rung):
            raise LabError(f"{name}:{index + 1}: END {rung} without its BEGIN marker")
        if kind == "BEGIN":
            opened = (rung, index, indent)
        else:
            regions.append(Region(rung, opened[1], index, opened[2]))
            opened = None
    if opened:
        raise LabError(f"{name}:{opened[1] + 1}: BEGIN {opened[0]} has no END marker. Put it back as solutions/ has it.")
    return regions


def of_rung(text: str, name: str, rung: str) -> list[Region]:
    regions = find(text, name)
    found = [region for region in regions if region.rung == rung]
    if not found:
        known = ", ".join(dict.fromkeys(region.rung for region in regions)) or "none"
        raise LabError(f"{name} has no region {rung}: no line `// BEGIN {rung}`. Regions that it has: {known}.")
    return found


def at_fault(text: str, name: str, line: int) -> str:
    """How the cell begins that fills the region to which a compiler's error at that line belongs; "" if it is about none. A brace
    that is missing in one region is noticed only further down."""
    every = find(text, name)
    region = next((each for each in every if braces(body(text, each))), None) or next(
        (each for each in every if each.begin + 1 < line <= each.end), None
    )
    if region is None:
        return ""
    of_rung = [each for each in every if each.rung == region.rung]
    return f"%%lab {region.rung}" + (f" {of_rung.index(region) + 1}" if len(of_rung) > 1 else "")


def braces(text: str) -> int:
    """How many more are opened than closed."""
    code = STRINGS.sub("", COMMENTS.sub("", text))
    return code.count("{") - code.count("}")


def body(text: str, region: Region) -> str:
    return textwrap.dedent("\n".join(text.splitlines()[region.begin + 1 : region.end]))


def has_code(cell: str) -> bool:
    return bool(COMMENTS.sub("", cell).strip())


def replaced(text: str, region: Region, cell: str) -> str:
    """The file's text with the cell between the region's markers, indented as they are."""
    if any(MARKER.match(line) for line in cell.splitlines()):
        raise LabError("The cell holds a BEGIN or END marker. Write only what goes between the markers.")
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    new = textwrap.indent(textwrap.dedent(cell.expandtabs(2)).strip("\n"), region.indent).splitlines()
    lines[region.begin + 1 : region.end] = [line.rstrip() for line in new]
    return newline.join(lines) + newline


def write(path: Path, text: str) -> Path | None:
    """Puts `text` in place of the file in one step, and keeps what was there as FILE.bak. None: nothing to change."""
    path = path.resolve()  # a symbolic link stays one
    before = path.read_bytes()
    after = text.encode()
    if before == after:
        return None
    backup = path.with_name(path.name + ".bak")
    put(backup, before, path)
    put(path, after, path)
    return backup


def put(path: Path, content: bytes, like: Path) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, like.stat().st_mode & 0o7777)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        raise LabError(f"{path} is not there. `git checkout -- {path.name}` in its folder brings it back.") from None
    except UnicodeDecodeError:
        raise LabError(f"{path} is not UTF-8 text; save it as UTF-8.") from None
