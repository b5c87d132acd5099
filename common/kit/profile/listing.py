"""Annotated source for a terminal: counts to the left, code to the right, the hottest line marked."""

from ..console import paint, width
from ..process import relative
from ..report import source_line
from .annotate import SHARE, Column, Excerpt, Kernel, Line, used_columns

NARROWEST_CODE = 30  # columns of text that the code keeps before counts are left out
DROP_FIRST = ["barriers", "shuffles", "atomic_operations", "executions_per_warp", "loads_per_wait", "divergent_share"]
WARM = 0.1  # share from which a line is coloured


def show(kernel: Kernel) -> None:
    launches = f"{kernel.launches} launches" if kernel.launches > 1 else "1 launch"
    print(f"\n{paint(kernel.name, 'bold')}  {launches}, {kernel.shape}")
    columns = used_columns(kernel)
    longest = max((len(line.source) for part in kernel.excerpts for line in part.lines if line), default=0)
    room = min(longest, NARROWEST_CODE)
    dropped = []
    for key in DROP_FIRST:
        if gutter(columns) + room <= width():
            break
        dropped += [column.title for column in columns if column.key == key]
        columns = [column for column in columns if column.key != key]
    for part in kernel.excerpts:
        print(paint(f"{relative(part.file)}", "blue"))
        for line in heading(columns):
            print(paint(line, "grey"))
        show_lines(part, columns)
    if kernel.elsewhere > 0.005:
        print(paint(f"  {100 * kernel.elsewhere:.0f}% of the instructions belong to lines that are not shown (library headers)", "grey"))
    if dropped:
        print(paint(f"  too narrow for: {', '.join(dropped)}", "grey"))


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
        text = f"{'> ' if line.hottest else '  '}{share}{cells} {line.number:>5}  {line.source}"
        if len(text) > width():
            text = text[: width() - 3] + "..."
        print(paint(text, colour(line)) if colour(line) else text.rstrip())
        for hazard in line.hazards:
            show_hazard(hazard, line, part)


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
        print(paint(f"  ^ {hazard['kind']} with line {hazard['line']}", "red"))
        return
    print(paint(f"  ^ {hazard['kind']}: {hazard['message']}", "red"))
    if hazard.get("other_line") and hazard["other_line"] != line.number:
        print(f"    other line: {hazard['other_line']}{source_line(str(part.file), hazard['other_line'])}")
    for word, key in [("why", "why"), ("try", "advice")]:
        if hazard.get(key):
            print(f"    {word}: {hazard[key]}")


def legend(kernels: list[Kernel]) -> None:
    columns = list(dict.fromkeys(column for kernel in kernels for column in used_columns(kernel)))
    wide = max(len(column.title) for column in [SHARE, *columns])
    print()
    for column in [SHARE, *columns]:
        mark = "; > marks the hottest line, by its instructions and the lanes that queue at its atomics" if column is SHARE else ""
        print(paint(f"  {column.title:<{wide}}  {column.meaning}{mark}", "grey"))
