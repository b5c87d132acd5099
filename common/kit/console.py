"""What `kit` prints for people: progress on stderr, results on stdout, colour only if it helps."""

import os
import shutil
import sys
import time
from contextlib import contextmanager

SPEAKER = "kit"  # the program's name, printed before its messages
COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "grey": "90", "bold": "1"}


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
    return 1000


def say(text: str) -> None:
    """One line of progress."""
    print(f"{SPEAKER}: {text}", file=sys.stderr, flush=True)


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
SECONDS = 10  # between two lines about the same work, where lines cannot be rewritten


@contextmanager
def progress(doing: str):
    """A function that shows how many of all steps are done: in one line that is rewritten if the output is a terminal, and
    otherwise in a line every now and then."""
    said = time.monotonic()

    def show(done: int, of: int) -> None:
        nonlocal said
        if sys.stderr.isatty():
            print(f"\r{SPEAKER}: {doing}, step {done} of {of}\033[K", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - said >= SECONDS:
            said = time.monotonic()
            say(f"{doing}, step {done} of {of}")

    try:
        yield show
    finally:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def complain(error) -> None:
    print(f"{paint(f'{SPEAKER}: error:', 'red', sys.stderr)} {error}", file=sys.stderr)
    if error.advice:
        print(error.advice, file=sys.stderr)
