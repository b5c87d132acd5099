"""One check of a lab: runs its program and shows its output as it comes; a save or a key ends it early."""

import os
import re
import shutil
import sys
import time
from dataclasses import dataclass, field

from .. import child, states
from ..console import ESCAPE, Line, fill, paint, wants_colour
from ..programs.labs import Lab
from .keys import Keys

PATIENCE = 2.0  # seconds without output before the kit says that the check is still running
POLL_SECONDS = 0.2
NO_GPU = "No usable GPU"
NO_GPU_HERE = "There is no GPU to use here (./kit device says why), so the emulator runs the kernels."
SAID_ONCE = (NO_GPU, "OpenCL device:")  # not at each save
VERDICT = re.compile(rf"({'|'.join(state.name for state in states.STATES)}) +(\w+)(?::|$)")


@dataclass
class Outcome:
    code: int = 0
    states: dict[str, str] = field(default_factory=dict)  # by rung, as far as the check got
    seconds: float = 0
    ended_by: str = ""  # "save", or the key "q"; "" if it ran to its end


class Checker:
    """Runs the checks of one session, which prints some messages only once."""

    def __init__(self, keys: Keys):
        self.keys = keys
        self.said: set[str] = set()

    def run(self, lab: Lab, rungs: list[str], changed, expected: list[str] | None = None) -> Outcome:
        """`changed()`: whether the file has been saved since the check began. `expected`: the rungs that get a verdict, if that is known."""
        words = [word for rung in rungs for word in ("--rung", rung)]
        started = time.monotonic()
        outcome = Outcome()
        program = child.Child([str(lab.program), *words], environment())
        waiting = Waiting(f"checking {', '.join(rungs) or lab.name}")
        try:
            while True:
                key = self.keys.pressed(POLL_SECONDS, program.output)
                self.show(program.lines(), outcome, waiting)
                if expected and outcome.states.keys() >= set(expected):
                    waiting.doing = "looking for the reason"
                if program.at_end:
                    break
                if key == "q":
                    outcome.ended_by = "q"
                elif changed():
                    outcome.ended_by = "save"
                if outcome.ended_by:
                    break
                waiting.tick()
            waiting.clear()
            outcome.code = 0 if outcome.ended_by else program.process.wait()
        finally:
            waiting.clear()
            program.stop()
        if outcome.ended_by == "save":
            print(paint("saved: this check stops here and starts again", "grey"), flush=True)
        if how := child.how_it_ended(outcome.code):
            print(paint(how, "red"), flush=True)
        outcome.seconds = time.monotonic() - started
        return outcome

    def show(self, lines: list[str], outcome: Outcome, waiting: "Waiting") -> None:
        if lines:
            waiting.clear()
            waiting.heard()
        for line in lines:
            plain = ESCAPE.sub("", line)
            if plain.startswith(SAID_ONCE):
                line = fill(NO_GPU_HERE if plain.startswith(NO_GPU) else line)
                if line in self.said:
                    continue
                self.said.add(line)
            if found := VERDICT.match(plain):
                outcome.states[found[2]] = found[1]
            print(line, flush=True)


class Waiting:
    """Says that a check is still running: in a terminal, in one line that is rewritten; elsewhere, in a line now and then."""

    def __init__(self, doing: str):
        self.doing = doing
        self.started = self.last = time.monotonic()
        self.next = PATIENCE
        self.line = Line(sys.stdout)
        self.terminal = sys.stdout.isatty()

    def heard(self) -> None:
        self.last, self.next = time.monotonic(), PATIENCE

    def tick(self) -> None:
        now = time.monotonic()
        if now - self.last < self.next:
            return
        text = f"still {self.doing}, {now - self.started:.0f} s"
        if self.terminal:
            self.line.show(f"{text}; q ends it")
        else:
            print(text, flush=True)
            self.next *= 2

    def clear(self) -> None:
        self.line.clear()


def environment() -> dict[str, str]:
    """The program writes to a pipe, but formats its output for the terminal behind it."""
    more = {}
    if sys.stdout.isatty():
        more["COLUMNS"] = str(shutil.get_terminal_size().columns)
    if wants_colour(sys.stdout):
        more["CLICOLOR_FORCE"] = "1"
    return os.environ | more
