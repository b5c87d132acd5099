"""A step as a picture: the block's threads in rows, and under them the memory that they touch."""

import html
from dataclasses import dataclass

from .steps import Array, Step, number, reads_as_float
from .words import ending, sentences, summary

CELL, HEIGHT, GAP = 30, 24, 3  # of a cell: its width with the gap, its height, the gap
HEADING, SPACE = 22, 46  # of a row of words; between threads and memory, where the lines run
MOST_CELLS = 1024  # of one array, or threads
MOST_LINKED = 64  # active threads up to which a line is drawn from each to what it touches

STYLE = """
.cell { stroke: none } .idle, .untouched { fill: var(--idle) } .busy { fill: var(--read) } .read { fill: var(--read) }
.write { fill: var(--write) } .clash { stroke: var(--red); stroke-width: 2.5; stroke-dasharray: 4 2 }
.race { fill: var(--red-ground); stroke: var(--red); stroke-width: 3 } .idle.race { fill: var(--idle) }
text { font: 10px system-ui, sans-serif; fill: var(--ink); text-anchor: middle }
text.heading { font-size: 12px; text-anchor: start; font-weight: 600; paint-order: stroke; stroke: var(--ground); stroke-width: 5px } text.on-idle { fill: var(--idle-ink) }
text.long { font-size: 8.5px }
text.on-write { fill: var(--on-write) } text.on-race { fill: var(--red); font-weight: 700 }
.link { fill: none; stroke: var(--faint); stroke-width: 1; opacity: .55 }
.link.stores { stroke: var(--accent); stroke-width: 1.6; opacity: .9 } .link.bad { stroke: var(--red); opacity: .9 }
"""

# A still stands alone, on paper or on a page whose colours it does not know.
COLOURS = """
svg { --ground: #ffffff; --ink: #1b1f24; --faint: #5c6670; --idle: #d9dde2; --idle-ink: #4d5660; --read: #cfe3f8; --write: #0b5cad;
  --on-write: #ffffff; --red: #b3261e; --red-ground: #fdeceb; --accent: #0b5cad }
@media screen and (prefers-color-scheme: dark) {
  svg { --ground: #14181d; --ink: #e6eaee; --faint: #a3adb7; --idle: #3a424b; --idle-ink: #aab3bd; --read: #1f4468; --write: #7db7f2;
    --on-write: #0c1621; --red: #ff8a80; --red-ground: #3d1f1d; --accent: #7db7f2 }
}
"""


@dataclass
class Place:
    x: float
    top: float

    @property
    def middle(self) -> float:
        return self.x + (CELL - GAP) / 2


class Drawing:
    def __init__(self, step: Step, columns: int):
        self.step = step
        self.columns = columns
        self.cells: list[str] = []
        self.links: list[str] = []
        self.y = 0.0
        self.clashing_threads, self.clashing_elements = step.clashes()
        self.racing = {(step.arrays.index(race.array), race.element) for race in step.races}
        self.racing_threads = {thread for race in step.races for thread in race.threads}

    def svg(self, alone: bool = False, title: str = "") -> str:
        threads = self.draw_threads()
        self.y += SPACE - HEADING
        places = {index: self.draw_array(index, array) for index, array in enumerate(self.step.arrays) if self.shows(index)}
        if len(threads) and len(self.step.active()) <= MOST_LINKED:
            self.draw_links(threads, places)
        width, height = self.columns * CELL, self.y
        words = " ".join([summary(self.step), *sentences(self.step), ending(self.step)]).strip()
        style = f"<style>{COLOURS}{STYLE}</style>" if alone else ""
        head = f"<title>{html.escape(title)}</title><desc>{html.escape(words)}</desc>"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 0 {width + 2} {height:g}" role="img"'
            f"{f' width={chr(34)}{width}{chr(34)}' if alone else ''}>"
            f"{head}{style}{''.join(self.links)}{''.join(self.cells)}</svg>\n"
        )

    def shows(self, index: int) -> bool:
        """Shared memory always; global memory if the step touches it."""
        array = self.step.arrays[index]
        return array.shared or any(request.array is array for request in self.step.requests)

    def heading(self, text: str) -> None:
        self.cells.append(f'<text class="heading" x="0" y="{self.y + 14:g}">{html.escape(text)}</text>')
        self.y += HEADING

    def rows(self, numbers: list[int]) -> dict[int, Place]:
        """Places for cells of these numbers, `columns` to a row."""
        places = {}
        first = numbers[0] - numbers[0] % self.columns if numbers else 0
        last_row = 0
        for each in numbers:
            row, column = divmod(each - first, self.columns)
            places[each] = Place(column * CELL, self.y + row * (HEIGHT + GAP))
            last_row = row
        self.y += (last_row + 1) * (HEIGHT + GAP) + 4
        return places

    def cell(self, place: Place, kind: str, text: str, words: str) -> None:
        ink = "on-race" if "race" in kind else "on-write" if "write" in kind else "on-idle" if kind in ("idle", "untouched") else ""
        fit = ""
        if len(text) > 4:  # as wide as the cell allows, whatever the reader's font
            ink += " long"
            fit = f' textLength="{CELL - GAP - 4}" lengthAdjust="spacingAndGlyphs"'
        self.cells.append(
            f'<g><title>{html.escape(words)}</title><rect class="cell {kind}" x="{place.x:g}" y="{place.top:g}" width="{CELL - GAP}" '
            f'height="{HEIGHT}" rx="3"/><text class="{ink}" x="{place.middle:g}" y="{place.top + 16:g}"{fit}>{html.escape(text)}</text></g>'
        )

    def draw_threads(self) -> dict[int, Place]:
        shown = list(range(min(self.step.threads, MOST_CELLS)))
        active = self.step.active()
        self.heading(f"threads: {len(active)} of {self.step.threads} at work")
        places = self.rows(shown)
        for thread in shown:
            kind = "busy" if thread in active else "idle"
            if thread in self.racing_threads:
                kind += " race"
            elif thread in self.clashing_threads:
                kind += " clash"
            self.cell(places[thread], kind, str(thread), self.thread_words(thread))
        return places

    def thread_words(self, thread: int) -> str:
        done = []
        for request in self.step.requests:
            if thread in request.touches:
                elements = ", ".join(f"{request.array.name}[{element}]" for element in request.touches[thread])
                done.append(f"{request.kind} {elements} (line {request.line})")
        return f"thread {thread}: {'; '.join(done) or 'idle'}"

    def draw_array(self, index: int, array: Array) -> dict[int, Place]:
        shown = self.elements(array)
        if not shown:
            return {}
        where = "shared memory" if array.shared else "global memory"
        columns = ", one column per bank" if array.shared and array.width == 4 and self.columns == 32 else ""
        hidden = f", {len(shown)} of {array.count} elements shown" if len(shown) < array.count else ""
        self.heading(f"{array.name}: {where}{columns}{hidden}")
        places = self.rows(shown)
        reads, writes = self.touched(array)
        values = self.step.values.get(index, {})
        as_float = reads_as_float(list(values.values()), array.width)
        for element in shown:
            kind = "write" if element in writes else "read" if element in reads else "untouched"
            if (index, element) in self.racing:
                kind = "race"
            elif (index, element) in self.clashing_elements:
                kind += " clash"
            value = number(values[element], array.width, as_float) if element in values else None
            text = "" if value is None else value_text(value)
            words = self.element_words(array, element, reads, writes, "" if value is None else f"{value:g}")
            self.cell(places[element], kind, "!" if kind == "race" else text, words)
        return places

    def elements(self, array: Array) -> list[int]:
        if array.count <= MOST_CELLS:
            return list(range(array.count))
        touched = sorted(
            {element for request in self.step.requests if request.array is array for each in request.touches.values() for element in each}
        )
        return touched[:MOST_CELLS] if touched and touched[-1] - touched[0] < MOST_CELLS else []

    def touched(self, array: Array) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """Threads by element: who read it, who wrote it."""
        reads: dict[int, list[int]] = {}
        writes: dict[int, list[int]] = {}
        for request in self.step.requests:
            if request.array is array:
                into = writes if request.writes else reads
                for thread, elements in request.touches.items():
                    for element in elements:
                        into.setdefault(element, []).append(thread)
        return reads, writes

    def element_words(self, array: Array, element: int, reads: dict, writes: dict, value: str) -> str:
        words = f"{array.name}[{element}]" + (f" = {value}" if value else "")
        for verb, by in (("read", reads), ("written", writes)):
            if element in by:
                words += f", {verb} by thread{'s' if len(by[element]) > 1 else ''} {', '.join(map(str, by[element][:8]))}"
        return words

    def draw_links(self, threads: dict[int, Place], places: dict[int, dict[int, Place]]) -> None:
        drawn = set()
        for request in self.step.requests:
            index = self.step.arrays.index(request.array)
            for thread, elements in request.touches.items():
                for element in elements:
                    kind = "stores" if request.writes else ""
                    end = places.get(index, {}).get(element)
                    if end is None or thread not in threads or (thread, index, element, kind) in drawn:
                        continue
                    drawn.add((thread, index, element, kind))
                    if (index, element) in self.racing:
                        kind += " bad"
                    self.links.append(link(threads[thread], end, kind))


def link(start: Place, end: Place, kind: str) -> str:
    x1, y1, x2, y2 = start.middle, start.top + HEIGHT, end.middle, end.top
    if "stores" in kind:
        x1, x2 = x1 + 3, x2 + 3
    bend = (y1 + y2) / 2
    return f'<path class="link {kind}" d="M{x1:g} {y1:g}C{x1:g} {bend:g} {x2:g} {bend:g} {x2:g} {y2:g}"/>'


def value_text(value: float) -> str:
    """As much of a number as fits in a cell: five characters, with k, M and G for thousands, millions and billions."""
    for scale, letter in ((1, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")):
        scaled = value / scale
        for digits in (3, 2, 1, 0):
            text = f"{scaled:.{digits}f}"
            text = (text.rstrip("0").rstrip(".") if "." in text else text) + letter
            if len(text) <= 5 and (scaled == 0 or abs(scaled) >= 0.001):
                return text
    return f"{value:.0e}".replace("e+", "e")


def draw(step: Step, columns: int = 32, alone: bool = False, title: str = "") -> str:
    return Drawing(step, columns).svg(alone, title)
