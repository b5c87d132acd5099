"""Says what takes so long: one line below the cell, rewritten as work goes on and removed at its end."""

import sys
import threading
import time

from .verdict import Interrupted

# isort: split
# From the folder that home.py has put on the path.
from kit import console

PATIENCE = 0.4  # seconds before anything is shown
PERIOD = 0.5


class Progress:
    """with Progress() as progress: progress.show("building")"""

    def __init__(self):
        self.text = ""
        self.started = time.monotonic()
        self.over = threading.Event()
        self.line = Line()
        self.thread = threading.Thread(target=self.repeat, daemon=True)

    def __enter__(self) -> "Progress":
        self.thread.start()
        return self

    def __exit__(self, kind, *error) -> None:
        self.over.set()
        self.thread.join()
        self.line.clear()
        if kind is KeyboardInterrupt:  # a traceback through this package and the kit would say no more
            raise Interrupted(f"stopped: {self.text or 'nothing was under way'}") from None

    def show(self, text: str) -> None:
        self.text = text

    def repeat(self) -> None:
        wait = PATIENCE
        while not self.over.wait(wait):
            self.line.write(f"{self.text} ... {time.monotonic() - self.started:.0f} s")
            wait = PERIOD


class Line:
    """In a notebook an output that is updated in place; in a terminal a line on stderr; nothing in a log."""

    def __init__(self):
        self.handle = None
        self.terminal = console.Line(sys.stderr)
        self.notebook = in_notebook()

    def write(self, text: str) -> None:
        if self.notebook:
            self.update(text)
        elif sys.stderr.isatty():
            self.terminal.show(text)

    def update(self, text: str) -> None:
        from IPython.display import display

        content = {"text/plain": text}
        if self.handle is None:
            self.handle = display(content, raw=True, display_id=True)
        else:
            self.handle.update(content, raw=True)

    def clear(self) -> None:
        if self.handle is not None:
            self.handle.update({"text/plain": "", "text/html": ""}, raw=True)
        self.terminal.clear()


def in_notebook() -> bool:
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None
