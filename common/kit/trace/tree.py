"""How a rung's result was made on a few numbers: a tree from the elements to the result, with what is wrong in it."""

import html
from dataclasses import dataclass, field

from ..console import paint
from ..errors import USAGE, KitError
from ..programs import rungs
from . import words
from .drawing import COLOURS
from .small import text

MOST_DEEP = 100  # steps one after another

ROW, WIDTH, NARROW, HEIGHT, GAP = 30, 150, 62, 24, 26  # of a leaf; of a box, with words in it and without; between two columns

STYLE = """
.box { fill: var(--idle) } .element { fill: var(--read) } .result { fill: var(--write) }
.wrong { fill: var(--red-ground); stroke: var(--red); stroke-width: 2.5 }
text { font: 12px system-ui, sans-serif; fill: var(--ink) } text.on-result { fill: var(--on-write) } text.on-wrong { fill: var(--red) }
tspan.value { font-weight: 700 }
.join { fill: none; stroke: var(--faint); stroke-width: 1.2 } .join.wrong { fill: none; stroke: var(--red); stroke-width: 2.5 }
"""


@dataclass
class Node:
    """A value on its way. `elements`: how often each element counts in it; `wrong`, `lost`: sentences, or nothing."""

    id: int
    kind: str  # "element", "step", "host" or "memory"
    value: float
    line: int
    thread: str
    operation: str
    of: list[int]
    constants: list[float]
    elements: dict[int, float]
    holds: str
    wrong: list[str]
    lost: str

    @property
    def place(self) -> str:
        where = f"line {self.line}, {self.thread}" if self.line else self.thread
        if self.kind == "element":
            return f"{self.holds}, read in {where}"
        return f"in memory, read in {where}" if self.kind == "memory" else where

    @property
    def sentences(self) -> list[str]:
        return [*self.wrong, *([self.lost] if self.lost else [])]


@dataclass
class Tree:
    rung: str
    answer: dict  # what the program says: n, block, input, expected, results, error
    nodes: dict[int, Node]
    joined_by: str  # "+", "min", "max", "x" or "&"
    result: int  # of a node; a smaller number than any node's if nothing in memory went into it
    unread: list[int] = field(default_factory=list)

    @property
    def ends(self) -> list[Node]:
        """The result, and the values that were lost: nothing was made of them."""
        used = {part for node in self.nodes.values() for part in node.of}
        lost = [node for node in self.nodes.values() if node.id not in used and node.id != self.result]
        return [*([self.nodes[self.result]] if self.result in self.nodes else []), *lost]

    def parts(self, node: Node) -> list[Node]:
        """Those with the first elements come first."""
        return sorted(
            (self.nodes[part] for part in node.of if part in self.nodes), key=lambda part: (min(part.elements, default=-1), part.id)
        )

    @property
    def verdict(self) -> str:
        got, wanted = (text((self.answer.get(key) or [float("nan")])[0]) for key in ("results", "expected"))
        if self.answer["error"]:
            return f"It stopped: {self.answer['error']}"
        return f"The result is {got}: right." if got == wanted else f"The result is {got}, but should be {wanted}."

    @property
    def is_right(self) -> bool:
        return self.verdict.endswith("right.")


def follow(lab, rung: str, options, element: int | None = None) -> Tree:
    """One run on 1 to 9 again and again, in which each value is followed; of one element, only the values that hold it."""
    answer, _, _ = rungs.observed(lab, rung, ["--once", "--tree"], options)
    found = answer.pop("tree")
    if answer["error"]:
        raise KitError(f"{rung} does not come to an end: {answer['error']}")
    if not found["complete"]:
        raise KitError(f"the values of {rung} cannot be followed on {answer['n']} elements", "Choose a smaller --n.")
    nodes = [Node(**(node | {"elements": dict(node["elements"])})) for node in found["nodes"]]
    tree = Tree(rung, answer, {node.id: node for node in nodes}, found["joined_by"], found["result"], found["unread"])
    require_shallow(tree)
    return tree if element is None else of_element(tree, element)


def require_shallow(tree: Tree) -> None:
    deep: dict[int, int] = {}
    for node in tree.nodes.values():  # parts come before what is made of them
        deep[node.id] = 1 + max((deep.get(part, 0) for part in node.of), default=0)
    if (most := max(deep.values(), default=0)) > MOST_DEEP:
        raise KitError(
            f"the result of {tree.rung} is made in {most} steps one after another, {MOST_DEEP} at most can be shown",
            "Choose a smaller --n.",
        )


def of_element(tree: Tree, element: int) -> Tree:
    """The values that hold the element, and what they were joined with."""
    if not 0 <= element < tree.answer["n"]:
        raise KitError(f"--element {element}: there are {tree.answer['n']} elements, counted from 0", code=USAGE)
    holders = {node.id for node in tree.nodes.values() if element in node.elements}
    joined = {part for holder in holders for part in tree.nodes[holder].of} - holders
    kept = {}
    for node in tree.nodes.values():
        if node.id in holders:
            kept[node.id] = node
        elif node.id in joined:
            kept[node.id] = Node(**(vars(node) | {"of": [], "kind": node.kind if node.kind == "element" else "rest"}))
    return Tree(tree.rung, tree.answer, kept, tree.joined_by, tree.result, [each for each in tree.unread if each == element])


def title(tree: Tree, element: int | None = None) -> str:
    what = "how the result is made" if element is None else f"where element {element} goes"
    return f"{tree.rung}, n = {tree.answer['n']}, {tree.answer['block']} threads per block: {what}"


def in_words(tree: Tree, node: Node) -> str:
    """ "36 = 16 + 20"; the value alone, of an element, or of a step that does something else."""
    values = [text(value) for value in [*(part.value for part in tree.parts(node)), *node.constants]]
    if len(values) < 2 or any(wrong.startswith("this is") for wrong in node.wrong):
        return text(node.value)
    if tree.joined_by in ("min", "max"):
        return f"{text(node.value)} = {tree.joined_by}({', '.join(values)})"
    return f"{text(node.value)} = {f' {tree.joined_by} '.join(values)}"


def show(tree: Tree, wide: int, element: int | None = None) -> None:
    print("\n".join(words.filled(paint(title(tree, element), "bold"), wide, "  ", "")))
    for end in tree.ends:
        print("\n" + ("the result:" if end.id == tree.result else paint("lost:", "red")))
        for line in branch(tree, end, "  ", "  ", set()):
            print(line)
    if tree.unread:
        print("\n" + "\n".join(words.filled(paint(unread(tree), "red"), wide, "  ", "")))
    print("\n" + "\n".join(words.filled(paint(tree.verdict, "green" if tree.is_right else "red"), wide, "  ", "")))


def unread(tree: Tree) -> str:
    return f"No thread reads {'element' if len(tree.unread) == 1 else 'elements'} {', '.join(map(str, tree.unread))}."


def branch(tree: Tree, node: Node, before: str, under: str, shown: set[int]) -> list[str]:
    again = node.id in shown and node.kind != "element"
    shown.add(node.id)
    what = text(node.value) if again else in_words(tree, node)
    head = f"{before}{what}   {node.holds if node.kind == 'rest' else node.place}{', as above' if again else ''}"
    lines = [head if not node.sentences else f"{head}   {paint('<- ' + '; '.join(node.sentences), 'red')}"]
    parts = [] if again else tree.parts(node)
    for index, part in enumerate(parts):
        last = index + 1 == len(parts)
        lines += branch(tree, part, f"{under}{'└─ ' if last else '├─ '}", f"{under}{'   ' if last else '│  '}", shown)
    return lines


class Drawing:
    """Elements on the left, each in a row; the result on the right."""

    def __init__(self, tree: Tree, with_words: bool):
        self.tree, self.with_words = tree, with_words
        self.width = WIDTH if with_words else NARROW
        self.row: dict[int, float] = {}
        self.column: dict[int, int] = {}
        self.leaves = 0
        for end in tree.ends:
            self.place(end)

    def place(self, node: Node) -> None:
        if node.id in self.row:
            return
        parts = self.tree.parts(node)
        own = [part for part in parts if part.id not in self.row]
        for part in parts:
            self.place(part)
        if beside := own or parts:
            self.row[node.id] = sum(self.row[part.id] for part in beside) / len(beside)
        else:
            self.row[node.id] = self.leaves
            self.leaves += 1
        column = 1 + max((self.column[part.id] for part in parts), default=-1)
        while any(
            self.column.get(other) == column and abs(row - self.row[node.id]) < 1 for other, row in self.row.items() if other != node.id
        ):
            column += 1
        self.column[node.id] = column

    def svg(self, alone: bool = False, heading: str = "") -> str:
        columns = 1 + max(self.column.values(), default=0)
        width, height = columns * (self.width + GAP) - GAP, max(1, self.leaves) * ROW
        style = f"<style>{COLOURS}{STYLE}</style>" if alone else ""
        sentences = [f"{text(node.value)}: {'; '.join(node.sentences)}." for node in self.tree.nodes.values() if node.sentences]
        described = " ".join([*sentences, *([unread(self.tree)] if self.tree.unread else []), self.tree.verdict])
        size = f' width="{width + 8}"' if alone else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 -4 {width + 8} {height + 8:g}" role="img"{size}>'
            f"<title>{html.escape(heading)}</title><desc>{html.escape(described)}</desc>{style}"
            f"{''.join(self.join(node, part) for node in self.tree.nodes.values() for part in self.tree.parts(node))}"
            f"{''.join(self.box(node) for node in self.tree.nodes.values())}</svg>\n"
        )

    def corner(self, node: Node) -> tuple[float, float]:
        return self.column[node.id] * (self.width + GAP), self.row[node.id] * ROW

    def join(self, node: Node, part: Node) -> str:
        (left, top), (x, y) = self.corner(part), self.corner(node)
        start, top, y = left + self.width, top + HEIGHT / 2, y + HEIGHT / 2
        bend = (start + x) / 2
        kind = "join wrong" if node.wrong else "join"
        return f'<path class="{kind}" d="M{start:g} {top:g}C{bend:g} {top:g} {bend:g} {y:g} {x:g} {y:g}"/>'

    def box(self, node: Node) -> str:
        x, y = self.corner(node)
        kind = "wrong" if node.sentences else "result" if node.id == self.tree.result else "element" if node.kind == "element" else "box"
        ink = f' class="on-{kind}"' if kind in ("wrong", "result") else ""
        short = node.holds if node.kind in ("rest", "element") else f"line {node.line}, {node.thread}" if node.line else node.thread
        words_in = f" {html.escape(short if len(short) < 19 else short[:17] + '…')}" if self.with_words else ""
        description = html.escape("; ".join([in_words(self.tree, node), node.place, node.holds, *node.sentences]))
        return (
            f'<g><title>{description}</title><rect class="box {kind}" x="{x:g}" y="{y:g}" width="{self.width}" height="{HEIGHT}" rx="4"/>'
            f'<text{ink} x="{x + 6:g}" y="{y + 16:g}"><tspan class="value">{text(node.value)}</tspan>{words_in}</text></g>'
        )


def page(tree: Tree, element: int | None = None) -> str:
    heading = title(tree, element)
    notes = [f"{text(node.value)} ({node.place}): {'; '.join(node.sentences)}." for node in tree.nodes.values() if node.sentences]
    notes += [unread(tree)] if tree.unread else []
    listed = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(heading)}</title><style>:root {{ color-scheme: light dark }} body {{ font: 16px/1.5 system-ui, sans-serif; margin: 1em }}"
        f" h1 {{ font-size: 1.4em }} .drawing {{ overflow-x: auto }} {COLOURS}</style><h1>{html.escape(heading)}</h1>"
        f"<p>{html.escape(tree.verdict)}</p>{f'<ul>{listed}</ul>' if listed else ''}"
        f'<div class="drawing" tabindex="0">{Drawing(tree, True).svg(alone=True, heading=heading)}</div></html>\n'
    )
