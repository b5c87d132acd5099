"""Columns of text, aligned."""

from . import console
from .console import length


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

    def dropped(self) -> list[str]:
        """The headings for which the terminal has no room."""
        for count in range(len(self.drop_first)):
            if self._width(self._without(self.drop_first[:count])) <= console.width():
                return self.drop_first[:count]
        return self.drop_first

    def text(self) -> str:
        dropped = self.dropped()
        shown = self._without(dropped)
        lines = [console.paint(self._line(self.headings, shown), "grey")]
        for index, row in enumerate(self.rows):
            if index in self.sections:
                lines.append(console.fill(self.sections[index]))
            lines.append(self._line(row, shown))
        if dropped:
            lines.append(console.paint(console.fill(f"(too narrow for: {', '.join(dropped)})"), "grey"))
        return "\n".join(line.rstrip() for line in lines)

    def _without(self, headings: list[str]) -> list[int]:
        return [index for index, heading in enumerate(self.headings) if heading not in headings]

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
