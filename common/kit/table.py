"""Columns of text, aligned."""

import re
import textwrap

from . import console

ESCAPE = re.compile(r"\033\[[0-9;]*m")


def length(text: str) -> int:
    return len(ESCAPE.sub("", text))


class Table:
    """Rows under headings; the first `left` columns are words, the others numbers. If the terminal is too narrow,
    the columns in `drop_first` are left out in that order until it fits, and the text says which."""

    def __init__(self, headings: list[str], left: int = 1, drop_first: list[str] | None = None):
        self.headings = headings
        self.left = left
        self.drop_first = [heading for heading in drop_first or [] if heading in headings]
        self.rows: list[list[str]] = []
        self.sections: dict[int, str] = {}  # before the row of this index

    def add(self, row: list[str]) -> None:
        assert len(row) == len(self.headings), (row, self.headings)
        self.rows.append(row)

    def section(self, title: str) -> None:
        """A separate line above the rows that follow."""
        self.sections[len(self.rows)] = title

    def text(self) -> str:
        shown = list(range(len(self.headings)))
        dropped = []
        for heading in self.drop_first:
            if self._width(shown) <= console.width():
                break
            index = self.headings.index(heading)
            if index in shown:
                shown.remove(index)
                dropped.append(heading)
        lines = [console.paint(self._line(self.headings, shown), "grey")]
        for index, row in enumerate(self.rows):
            if index in self.sections:
                lines.append(self.sections[index])
            lines.append(self._line(row, shown))
        if dropped:
            note = textwrap.fill(f"(too narrow for: {', '.join(dropped)})", console.width())
            lines.append(console.paint(note, "grey"))
        return "\n".join(line.rstrip() for line in lines)

    def _column(self, index: int) -> int:
        return max(length(row[index]) for row in [self.headings, *self.rows])

    def _width(self, shown: list[int]) -> int:
        return sum(self._column(index) + 2 for index in shown) - 2

    def _line(self, row: list[str], shown: list[int]) -> str:
        cells = []
        for index in shown:
            padding = " " * (self._column(index) - length(row[index]))
            cells.append(row[index] + padding if index < self.left else padding + row[index])
        return "  ".join(cells)
