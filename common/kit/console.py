"""What `kit` prints for people: progress on stderr, results on stdout, colour only if it helps."""

import os
import re
import shutil
import sys
import threading
import time
from contextlib import contextmanager

PROGRAM = "./kit"  # as the user types it
WHOLE = 1000  # columns, where there is no terminal
WORD = re.compile(r"\s*\S+")
ESCAPE = re.compile(r"\033\[[0-9;]*m")
COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "grey": "90", "bold": "1"}


def speaker() -> str:
    """The program's name, printed before its messages."""
    return PROGRAM.removeprefix("./")


def wants_colour(stream) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, stream=None) -> str:
    if not wants_colour(stream or sys.stdout):
        return text
    return f"\033[{COLOURS[colour]}m{text}\033[0m"


def width() -> int:
    """The width of the terminal in columns. A file or a pipe has no width: it gets the whole table."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return WHOLE


def length(text: str) -> int:
    """In columns: colours have none."""
    return len(ESCAPE.sub("", text))


def wrap(text: str, wide: int, first: str = "", rest: str | None = None, piece: re.Pattern = WORD) -> list[str]:
    """A line of text in lines of that many columns, broken only between words (or what `piece` finds). `first` and `rest`: what
    the first of them begins with and, if that is not the same, what the others begin with."""
    lines, empty = [first], True
    for word in piece.findall(text):
        if not empty and length(lines[-1] + word) > wide:
            lines.append((first if rest is None else rest) + word.lstrip())
        else:
            lines[-1] += word
        empty = False
    return lines


def fill(text: str, first: str = "", rest: str | None = None, most: int = 100) -> str:
    """Each line of the text wrapped, to the terminal's width and at `most` so many columns."""
    return "\n".join("\n".join(wrap(line, min(width(), most), first, rest)) for line in text.split("\n"))


def say(text: str) -> None:
    """A message about progress."""
    print(fill(f"{speaker()}: {text}", most=WHOLE), file=sys.stderr, flush=True)


class Steps:
    """The steps of a long set-up, each said with its number as it begins."""

    def __init__(self):
        self.planned: list[str] = []

    def plan(self, names: list[str]) -> None:
        self.planned = names

    def begin(self, name: str, text: str) -> None:
        if name in self.planned:
            text = f"step {self.planned.index(name) + 1} of {len(self.planned)}: {text}"
            if name == self.planned[-1]:
                self.planned = []
        say(text)


steps = Steps()


class Line:
    """One line of a terminal that is written again in place, without escapes: NO_COLOR asks for none."""

    def __init__(self, stream):
        self.stream = stream
        self.length = 0

    def show(self, text: str) -> None:
        text = text[: shutil.get_terminal_size().columns - 1]  # a line that wraps could not be written over
        print(f"\r{text:<{self.length}}", end="", file=self.stream, flush=True)
        self.length = len(text)

    def clear(self) -> None:
        if self.length:
            print(f"\r{'':<{self.length}}\r", end="", file=self.stream, flush=True)
            self.length = 0


SECONDS = 10  # between two lines about the same work, where lines cannot be rewritten


@contextmanager
def progress(doing: str):
    """A function that shows how many of all steps are done: in one line that is rewritten if the output is a terminal, and
    otherwise in a line every now and then."""
    said = time.monotonic()
    line = Line(sys.stderr)

    def show(done: int, of: int) -> None:
        nonlocal said
        if sys.stderr.isatty():
            line.show(f"{speaker()}: {doing}, step {done} of {of}")
        elif time.monotonic() - said >= SECONDS:
            said = time.monotonic()
            say(f"{doing}, step {done} of {of}")

    try:
        yield show
    finally:
        line.clear()


@contextmanager
def waiting(doing: str):
    """Says now and then that work which shows no steps still goes on."""
    over, line, started = threading.Event(), Line(sys.stderr), time.monotonic()

    def repeat() -> None:
        while not over.wait(SECONDS):
            text = f"still {doing}, {time.monotonic() - started:.0f} s"
            line.show(f"{speaker()}: {text}") if sys.stderr.isatty() else say(text)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        line.clear()


def complain(error) -> None:
    said = f"{speaker()}: error:"
    print(fill(f"{paint(said, 'red', sys.stderr)} {error}", most=WHOLE), file=sys.stderr)
    if error.advice:
        print(fill(error.advice, most=WHOLE), file=sys.stderr)
