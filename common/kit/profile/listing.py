"""Annotated source for a terminal: counts to the left, code to the right, the hottest line marked."""

import re

from ..console import WHOLE, fill, paint, width, wrap
from ..process import relative
from ..report import source_line
from .annotate import SHARE, Column, Excerpt, Kernel, Line, used_columns

PIECE = re.compile(r"\s*[^\s(\[,]+[(\[,]*|\s*[(\[,]+")  # of a line of code that must not be broken
WARM = 0.1  # share from which a line is coloured


def show(kernel: Kernel, asked: list[Column]) -> list[Column]:
    """Prints it, and returns the columns that had room. `asked`: those that are shown however narrow the terminal is."""
    launches = f"{kernel.launches} launches" if kernel.launches > 1 else "1 launch"
    print("\n" + fill(f"{paint(kernel.name, 'bold')}  {launches}, {kernel.shape}"))
    columns, same, dropped = with_room(kernel, asked)
    for part in kernel.excerpts:
        print(paint(f"{relative(part.file)}", "blue"))
        for line in heading(columns):
            print(paint(line, "grey"))
        show_lines(part, columns)
    if kernel.elsewhere > 0.005:
        note(f"{100 * kernel.elsewhere:.0f}% of the instructions belong to lines that are not shown (library headers)")
    if same:
        note(f"the same on every line: {', '.join(f'{column.title} {column.text(value)}' for column, value in same.items())}")
    if dropped:
        note(f"too narrow for: {', '.join(column.title for column in dropped)}")
    return columns


def note(text: str) -> None:
    print(paint(fill(text, "  "), "grey"))


def with_room(kernel: Kernel, asked: list[Column]) -> tuple[list[Column], dict[Column, float], list[Column]]:
    """The columns that leave half of the terminal to the code. Left out first are those with one value on every line, which is returned with
    them, and then those that nobody asked for."""
    columns = used_columns(kernel)
    lines = [line for part in kernel.excerpts for line in part.lines if line]
    room = min(max((len(line.source) for line in lines), default=0), width() // 2)
    values = {column: {line.values[column.key] for line in lines if line.counters} for column in columns}
    same = {column: next(iter(found)) for column, found in values.items() if len(found) == 1}
    left_out: list[Column] = []
    for column in sorted(set(columns) - set(asked), key=lambda each: (each not in same, each.need)):
        if gutter(columns) + room <= width():
            break
        columns.remove(column)
        left_out.append(column)
    return columns, {column: same[column] for column in left_out if column in same}, [each for each in left_out if each not in same]


def gutter(columns: list) -> int:
    return 2 + cell_width(SHARE) + sum(cell_width(column) + 1 for column in columns) + 6 + 2


def cell_width(column: Column) -> int:
    return max(4, *map(len, words(column)))


def words(column: Column) -> list[str]:
    """Of its heading; a no-break space keeps two of them on one line."""
    return [word.replace("\u00a0", " ") for word in column.short.split(" ")]


def heading(columns: list[Column]) -> list[str]:
    """Lines of headings, one word per line, with the last words side by side."""
    stacked = [(cell_width(column), words(column)) for column in [SHARE, *columns]] + [(5, ["line"])]
    height = max(len(each) for _, each in stacked)
    rows = [[""] * (height - len(each)) + each for _, each in stacked]
    return [("  " + " ".join(f"{row[i]:>{size}}" for (size, _), row in zip(stacked, rows, strict=True))).rstrip() for i in range(height)]


def show_lines(part: Excerpt, columns: list) -> None:
    for line in part.lines:
        if line is None:
            print(paint(" " * (gutter(columns) - 3) + "...", "grey"))
            continue
        share = f"{SHARE.text(line.share) if line.counters else '':>{cell_width(SHARE)}}"
        cells = "".join(f" {cell(line, column):>{cell_width(column)}}" for column in columns)
        first, *rest = wrapped(line.source, max(1, width() - gutter(columns)))
        text = f"{'> ' if line.hottest else '  '}{share}{cells} {line.number:>5}  {first}".rstrip()
        text = "\n".join([text, *(" " * gutter(columns) + more for more in rest)])
        print(paint(text, colour(line)) if colour(line) else text)
        for hazard in line.hazards:
            show_hazard(hazard, line, part)


def wrapped(source: str, room: int) -> list[str]:
    """A line of code in lines of that many columns; those after the first are indented, as far as the longest piece lets them."""
    longest = max((len(piece.strip()) for piece in PIECE.findall(source)), default=0)
    indent = min(len(source) - len(source.lstrip()) + 4, max(0, room - longest))
    return wrap(source, room, "", " " * indent, PIECE)


def cell(line: Line, column) -> str:
    value = line.values.get(column.key)
    return "" if value is None else column.text(value)


def colour(line: Line) -> str:
    if line.hazards or line.hottest:
        return "red"
    if line.counters is None:
        return "grey"
    return "yellow" if line.share >= WARM else ""


def show_hazard(hazard: dict, line: Line, part: Excerpt) -> None:
    """If a hazard involves two lines, it is explained at the one at fault, with a reference at the other."""
    if hazard.get("line") != line.number:
        print(paint(fill(f"{hazard['kind']} with line {hazard['line']}", "  ^ ", "    "), "red"))
        return
    print(paint(fill(f"{hazard['kind']}: {hazard['message']}", "  ^ ", "    "), "red"))
    if hazard.get("other_line") and hazard["other_line"] != line.number:
        print(fill(f"other line: {hazard['other_line']}{source_line(str(part.file), hazard['other_line'])}", "    ", "      "))
    for word, key in [("in", "launch"), ("why", "why"), ("try", "advice")]:
        if hazard.get(key):
            print(fill(f"{word}: {hazard[key]}", "    ", "      "))


def legend(shown: list[Column]) -> None:
    columns = [SHARE, *dict.fromkeys(shown)]
    wide = max(len(column.title) for column in columns)
    print()
    for column in columns:
        mark = "; > marks the hottest line, by its instructions and the lanes that queue at its atomics" if column is SHARE else ""
        print(paint(fill(f"{column.meaning}{mark}", f"  {column.title:<{wide}}  ", " " * min(wide + 4, width() // 3), most=WHOLE), "grey"))
