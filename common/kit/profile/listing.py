"""Annotated source for a terminal: counts to the left, code to the right, the hottest line marked."""

from ..console import paint, width
from ..process import relative
from ..report import source_line
from .annotate import Excerpt, Kernel, Line, used_columns

NARROWEST_CODE = 30  # columns of text that the code gets before counts are left out
DROP_FIRST = ["barriers", "shuffles", "atomic_operations", "runs_per_warp"]
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
        print(paint(heading(columns), "grey"))
        show_lines(part, columns)
    if kernel.elsewhere > 0.005:
        print(paint(f"  {100 * kernel.elsewhere:.0f}% of the instructions belong to lines that are not shown (library headers)", "grey"))
    if dropped:
        print(paint(f"  too narrow for: {', '.join(dropped)}", "grey"))


def gutter(columns: list) -> int:
    return 2 + 4 + sum(cell_width(column) + 1 for column in columns) + 6 + 2


def cell_width(column) -> int:
    return max(len(column.title), 5)


def heading(columns: list) -> str:
    return "  " + " all" + "".join(f" {column.title:>{cell_width(column)}}" for column in columns) + "  line"


def show_lines(part: Excerpt, columns: list) -> None:
    for line in part.lines:
        if line is None:
            print(paint(" " * (gutter(columns) - 3) + "...", "grey"))
            continue
        share = f"{100 * line.share:3.0f}%" if line.counters else "    "
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
    """Where a hazard takes two lines, it is told at the one at fault; at the other, a reference."""
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
    print(paint("\n  all        share of the launches' warp instructions (PTX); > marks the hottest line", "grey"))
    for column in columns:
        print(paint(f"  {column.title:<10} {column.meaning}", "grey"))
