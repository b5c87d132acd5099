"""From a submitted file to the text of a lab: finds out which lab it is, and puts a handout's `%%lab` cells into the pristine file."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from . import archive
from .regions import NotALab, bare, clean, take_apart

CELL = re.compile(r"(`{3,}|~{3,}|:{3,})\{code-cell\}")
MAGIC = re.compile(r"^%%lab[ \t]+(\w+)(?:[ \t]+(\d{1,4}))?[ \t]*$")
OPTIONS = re.compile(r"\A(?::[^\n]*\n|---\n.*?\n---\n)+", re.S)


@dataclass(frozen=True)
class Stub:
    """A lab as it was handed out."""

    name: str  # 02_tree
    file: str  # tree.cu
    text: str

    @cached_property
    def keys(self) -> set[tuple[str, int]]:
        return set(take_apart(self.text).keys())


def kept(source: Path) -> str:
    """A text as collect kept it; or, if somebody edited it there in another encoding, as much of it as can be read."""
    return source.read_text("utf-8", errors="replace")


def as_named(path: str) -> tuple[str, str]:
    """A file's name without what a browser or a mail program put behind it, and a remark if there was such an ending."""
    if not path.lower().endswith(archive.RENAMED):
        return path, ""
    named = path.rpartition(".")[0]
    return named, f"{PurePosixPath(path).name} was taken as {PurePosixPath(named).name}"


def lab_of(path: str, data: bytes, stubs: list[Stub]) -> Stub | None:
    """The lab that a file belongs to, judging by its regions or else by its name; None if it belongs to none."""
    name = PurePosixPath(path).name
    if name.lower().endswith((".md", ".ipynb")):
        rungs = {rung for rung, _, _ in cells(name, data)}
        matches = [(len(rungs & {rung for rung, _ in stub.keys}), stub) for stub in stubs]
    elif name.lower().endswith((".cu", ".cl")):
        stubs = [stub for stub in stubs if stub.file[-3:] == name[-3:].lower()]
        try:
            keys = set(take_apart(clean(data)).keys())
        except NotALab:
            keys = set()
        matches = [(len(keys & stub.keys), stub) for stub in stubs]
        if not keys:  # damaged markers: go by the name, so that the damage is reported
            matches = [(1, stub) for stub in stubs if is_named(name, stub.file)]
    else:
        return None
    best = max(matches, key=lambda match: match[0], default=(0, None))
    return best[1] if best[0] else None


def is_named(name: str, file: str) -> bool:
    """tree.cu, and what browsers and Canvas call a second one: "tree (1).cu", "tree-1.cu"."""
    stem, _, ending = file.rpartition(".")
    return re.search(rf"(^|[_ -]){re.escape(stem)}([ _-]?\(?\d+\)?)?\.{ending}$", name, re.I) is not None


def lab_by_name(path: str, stubs: list[Stub]) -> Stub | None:
    """The lab that a file which cannot be read was meant for: its name says so, or there is only one."""
    name = path.lower()
    matches = [
        stub
        for stub in stubs
        if stub.name in name or re.search(rf"(^|[/_ -]){re.escape(stub.file.rpartition('.')[0])}([ _-]?\(?\d+\)?)?(\.[^/]*)?$", name)
    ]
    if not matches and len(stubs) == 1:
        return stubs[0]
    return matches[0] if len(matches) == 1 else None


def why_unreadable(path: str, data: bytes) -> str:
    """Why nothing can be read in a file of a type that is read; "" if something can."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it is in UTF-16; save it as UTF-8"
    if path.lower().endswith(".ipynb"):
        try:
            notebook = notebook_of(data)
        except (ValueError, RecursionError):
            return "not a readable notebook: it is damaged or incomplete"
        return "" if isinstance(notebook, dict) and isinstance(notebook.get("cells"), list) else "not a notebook: it has no cells"
    if path.lower().endswith((".cu", ".cl", ".md")):
        try:
            clean(data)
        except NotALab as error:
            return str(error)
    return ""


def as_source(path: str, data: bytes, stub: Stub) -> str:
    """The lab's file as handed in, or made from the cells of a handout. Raises NotALab."""
    if path.lower().endswith((".md", ".ipynb")):
        return clean(filled(stub, cells(path, data)).encode(errors="replace"))  # JSON can hold what no text does
    return clean(data)


def cells(path: str, data: bytes) -> list[tuple[str, int, str]]:
    """The `%%lab` cells of a handout: rung, which of its regions (from 0), code."""
    try:
        bodies = notebook_cells(data) if path.lower().endswith(".ipynb") else [OPTIONS.sub("", body) for body in fenced(clean(data))]
    except (NotALab, ValueError, RecursionError):
        return []
    found = []
    for body in bodies:
        first, _, code = body.lstrip("\n").partition("\n")
        if magic := MAGIC.match(first):
            found.append((magic[1], int(magic[2] or 1) - 1, code))
    return found


def fenced(text: str) -> Iterator[str]:
    """The contents of a handout's code cells, line by line: a pattern would search to the end for each cell that has none."""
    fence, body = "", []
    for line in text.split("\n"):
        if fence and line.rstrip(" \t") == fence:
            yield "".join(body)
            fence, body = "", []
        elif fence:
            body.append(line + "\n")
        elif start := CELL.match(line):
            fence = start[1]


def notebook_cells(data: bytes) -> list[str]:
    notebook = notebook_of(data)
    listed = notebook.get("cells") if isinstance(notebook, dict) else None
    listed = listed if isinstance(listed, list) else []
    sources = [cell.get("source", "") for cell in listed if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    texts = ["".join(map(str, source)) if isinstance(source, list) else str(source) for source in sources]
    return [text.replace("\r\n", "\n") for text in texts]


def notebook_of(data: bytes):
    """Numbers stay texts, as a number of a million digits takes long to read and none of them matters."""
    return json.loads(data.decode("utf-8-sig", errors="replace"), parse_int=str, parse_float=str, parse_constant=str)


def filled(stub: Stub, given: list[tuple[str, int, str]]) -> str:
    """The stub with these cells in its regions; if several are for one region, the last one with code counts, as when they are run."""
    parts = take_apart(stub.text)
    code = {(rung, part): body for rung, part, body in given if has_code(body)}
    lines = list(parts.outside[0])
    for index, (key, (_, region)) in enumerate(zip(parts.keys(), parts.regions, strict=False)):
        body = code.get(key)
        if body is not None and re.search(r"^[ \t]*// (BEGIN|END) ", body, re.M):
            raise NotALab(f"the cell of {key[0]} contains a BEGIN or END marker")
        lines += (region if body is None else body.rstrip("\n").split("\n")) + parts.outside[index + 1]
    return "\n".join(lines)


def has_code(body: str) -> bool:
    return bool(bare(body, "").strip())
