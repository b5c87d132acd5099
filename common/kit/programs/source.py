"""The regions of a lab's file, as far as they can be read without compiling it: what they hold, and in which braces they lie."""

import re
from dataclasses import dataclass

MARKER = re.compile(r"^\s*// (BEGIN|END) (\w+)\s*$")
HIDDEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.DOTALL)


@dataclass(frozen=True)
class Region:
    """`code`: its lines without comments, strings and characters; `outer`: the line of the brace in which the region lies, or 0."""

    rung: str
    first: int  # the number of its first line
    code: list[str]
    outer: int

    def lines(self) -> list[tuple[int, str]]:
        """Its lines that hold code, with their numbers."""
        return [(self.first + index, line) for index, line in enumerate(self.code) if line.strip()]

    def count(self, character: str) -> int:
        return sum(line.count(character) for line in self.code)


def code_of(text: str) -> list[str]:
    """The lines with spaces in place of comments, strings and characters."""
    return HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text).split("\n")


def regions(text: str) -> list[Region]:
    """In the order of the file. What lies in a region decides nothing about the braces around the next one."""
    code, found = code_of(text), []
    begin, open_braces = None, []
    for index, line in enumerate(text.split("\n")):
        marker = MARKER.match(line)
        if begin is None and marker and marker[1] == "BEGIN":
            begin = index
        elif begin is not None and marker and marker[1] == "END":
            found.append(Region(marker[2], begin + 2, code[begin + 1 : index], open_braces[0] if open_braces else 0))
            begin = None
        elif begin is None:
            follow(code[index], index + 1, open_braces)
    return found


def follow(line: str, number: int, open_braces: list[int]) -> None:
    """Keeps the lines of the braces that are open after this line."""
    for character in re.findall(r"[{}]", line):
        if character == "{":
            open_braces.append(number)
        elif open_braces:
            open_braces.pop()
