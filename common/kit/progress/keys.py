"""Single keys from a terminal, without Enter."""

import os
import select
import sys
import termios
import tty


class Keys:
    """with Keys() as keys: keys.pressed(seconds). Without a terminal there are no keys, and it only waits."""

    def __init__(self):
        self.there = sys.stdin.isatty() and sys.stdout.isatty()
        self._before = None

    def __enter__(self) -> "Keys":
        if self.there:
            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)  # Ctrl-C keeps its meaning
        return self

    def __exit__(self, *error) -> None:
        self.rest()

    def rest(self) -> None:
        """Restores the terminal while another program uses it."""
        if self._before is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def go_on(self) -> None:
        if self.there:
            tty.setcbreak(sys.stdin)

    def pressed(self, seconds: float, output: int | None = None) -> str:
        """The key that is pressed within that time, or ""; returns early if `output` has something to read."""
        waited = [*([sys.stdin] if self.there else []), *([output] if output is not None else [])]
        ready, _, _ = select.select(waited, [], [], seconds)
        if self.there and sys.stdin in ready:
            text = os.read(sys.stdin.fileno(), 64).decode(errors="ignore")
            if not text:  # the terminal is gone
                self.there = False
            return text[:1].lower()
        return ""
