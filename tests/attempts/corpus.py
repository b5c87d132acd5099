"""The attempts, as README.md describes their files."""

import re
from dataclasses import dataclass
from pathlib import Path

STATES = {"pass", "wrong", "hazard", "off-technique", "todo", "error"}
HEAD = re.compile(r"=== (\w+) (\S+)$")


@dataclass(frozen=True)
class Attempt:
    lab: str
    rung: str
    name: str  # of the rung and the attempt: unique in the lab
    expect: tuple[str, ...]
    cause: str
    about: tuple[str, ...]  # in lower case
    says: tuple[str, ...]  # what the answer must hold, word by word
    regions: tuple[tuple[str, int, str], ...]  # the region's name, which of that name (from 1), and its lines
    line: int = 0


def read(file: Path) -> list[Attempt]:
    found, names = [], set()
    lines = file.read_text().splitlines()
    starts = [at for at, text in enumerate(lines) if text.startswith("=== ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        attempt = parse(file, lines, start, end)
        if attempt.name in names:
            raise ValueError(f"{file}:{start + 1}: {attempt.name} is there twice")
        names.add(attempt.name)
        found.append(attempt)
    return found


def parse(file: Path, lines: list[str], start: int, end: int) -> Attempt:
    head = HEAD.match(lines[start].rstrip())
    if not head:
        raise ValueError(f"{file}:{start + 1}: not a head: {lines[start]}")
    said, says = {"expect": "", "cause": "", "about": ""}, []
    at = start + 1
    while at < end and not lines[at].startswith("--- "):
        key, colon, value = lines[at].partition(":")
        if colon and key in said:
            said[key] = value.strip()
        elif colon and key == "says":
            says.append(value.strip())
        elif lines[at].strip():
            raise ValueError(f"{file}:{at + 1}: neither expect, cause, about nor says: {lines[at]}")
        at += 1
    regions = []
    while at < end:
        name, _, number = lines[at].removeprefix("--- ").strip().partition(" ")
        body = at = at + 1
        while at < end and not lines[at].startswith("--- "):
            at += 1
        regions.append((name, int(number or 1), "\n".join(lines[body:at]).rstrip()))
    expect = tuple(word.strip() for word in said["expect"].split("|"))
    if not set(expect) <= STATES or not regions:
        raise ValueError(f"{file}:{start + 1}: expect: {said['expect']}, {len(regions)} regions")
    about = tuple(word.strip().lower() for word in said["about"].split(",") if word.strip())
    return Attempt(file.stem, head[1], f"{head[1]}-{head[2]}", expect, said["cause"], about, tuple(says), tuple(regions), start + 1)
