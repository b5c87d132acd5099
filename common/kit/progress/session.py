"""Watching a student's file: checks at each save, keys in between, and on to the next TODO when a rung passes."""

import subprocess
import sys
import time
from pathlib import Path

from .. import states
from ..console import fill, paint, say, width
from ..errors import KitError
from ..ladder import gain, guesses
from ..paths import ROOT
from ..process import relative
from ..programs import advice, labs
from ..programs.folder import Build
from . import course
from .check import POLL_SECONDS, Checker, Outcome
from .keys import Keys

MOST_GAINS = 2  # announced at a time: a student who begins in the middle of the course has many
HELP = "h hint   t trace of the failing step   p profile   r check again   q quit"


class Session:
    """`chosen`: the rungs to watch, all of one lab; None follows the student from TODO to TODO through the course."""

    def __init__(self, build: Build, every: list[course.Rung], chosen: list[course.Rung] | None, named: list[str], keys: Keys):
        self.build, self.every, self.chosen, self.named, self.keys = build, every, chosen, named, keys
        self.passed = course.Passed()
        self.checker = Checker(keys)
        self.status = 0
        self.latest: course.Rung | None = None  # that came to pass

    @property
    def follows(self) -> bool:
        return self.chosen is None

    def run(self, times: int | None) -> int:
        checks = 0
        while True:
            rungs = self.rungs_now()
            if not rungs:
                print(paint(f"\nAll {len(self.every)} rungs of the course pass.", "green"))
                return 0
            lab = rungs[0].lab
            saved = stamp(lab)
            if self.follows:
                self.announce(rungs[0])
            if self.follows and course.is_open(rungs[0]):
                outcome = Outcome(labs.SKIPPED, {rungs[0].name: "todo"})
                self.status = labs.SKIPPED
            else:
                outcome = self.check(lab, rungs, saved)
            checks += 1
            news = self.take_note(lab, outcome)
            if outcome.ended_by == "q" or (times is not None and checks >= times):
                return self.status
            if outcome.ended_by == "save" or (self.follows and news):
                continue
            if self.wait(lab, self.in_question(rungs, outcome), saved) == "q":
                return self.status

    def rungs_now(self) -> list[course.Rung]:
        """What to check: what was requested, or the first rung of the course that does not pass yet."""
        if self.chosen is not None:
            return self.chosen
        return [rung for rung in self.every if rung not in self.passed][:1]

    def check(self, lab: labs.Lab, rungs: list[course.Rung], saved) -> Outcome:
        started = time.monotonic()
        try:
            warnings = labs.compile(self.build, [lab])
        except KitError as error:
            print(paint(str(error), "red"), flush=True)
            self.status = error.code
            return Outcome(error.code)
        if warnings:
            print(paint(f"The compiler warns:\n{warnings}", "yellow"), flush=True)
        names = [rung.name for rung in rungs] if self.follows else self.named
        outcome = self.checker.run(lab, names, lambda: stamp(lab) != saved, [rung.name for rung in rungs])
        for line in [line for path in course.sources(lab) for line in advice.lines("", path) if "not-built" in outcome.states.values()]:
            print(fill(line))
        self.status = outcome.code
        print(paint(f"{time.strftime('%H:%M:%S')}  {time.monotonic() - started:.1f} s", "grey"), flush=True)
        return outcome

    def take_note(self, lab: labs.Lab, outcome: Outcome) -> list[course.Rung]:
        """Says what each rung that newly passes has gained; returns those rungs."""
        of_lab = {rung.name: rung for rung in self.every if rung.lab == lab}
        checked = [(of_lab[name], state) for name, state in outcome.states.items() if name in of_lab and state != "skip"]
        news = [rung for rung, state in checked if self.passed.note(rung, state == "pass")]
        self.latest = news[-1] if news else self.latest
        for rung in news[-MOST_GAINS:]:
            for line in [*gain.between(rung.lab, rung.name, self.before(rung)), *predicted(rung)]:
                print(line)
        if news and not self.follows:
            self.say_what_is_next(news[-1])
        sys.stdout.flush()
        return news

    def before(self, rung: course.Rung) -> str:
        """The previous rung of the same lab, if it passes; else ""."""
        index = self.every.index(rung)
        earlier = self.every[index - 1] if index else None
        return earlier.name if earlier and earlier.lab == rung.lab and earlier in self.passed else ""

    def say_what_is_next(self, rung: course.Rung) -> None:
        following = next((each for each in self.every[self.every.index(rung) + 1 :] if each not in self.passed), None)
        if following is None:
            before = sum(each not in self.passed for each in self.every)
            said = f"That was the last rung. {before} of the earlier ones do not pass yet: ./kit status lists them."
            print(fill(said if before else f"All {len(self.every)} rungs of the course pass."))
            return
        place = course.todo(following)
        where = f" at {relative(place.file)}:{place.line}" if place else ""
        print(fill(f"Next: {paint(following.name, 'bold')}{where}"))
        print(f"      ./kit watch {following.lab.name} --rung {following.name}")

    def announce(self, rung: course.Rung) -> None:
        """Says where the student is, and what to do there."""
        done = sum(each in self.passed for each in self.every)
        print("\n" + fill(f"{paint(course.bar(done, len(self.every)), 'green')}   {rung.lab.name}: {paint(rung.name, 'bold')}"))
        if place := course.todo(rung):
            print(f"{relative(place.file)}:{place.line}")
            print(fill(f"TODO: {place.text}", "  "))
        sys.stdout.flush()

    def in_question(self, rungs: list[course.Rung], outcome: Outcome) -> course.Rung:
        """The rung that hint, trace and profile are about: the first that fails, else the first to do, else the first."""
        of = {rung.name: rung for rung in rungs}
        for kind in ("fail", "open"):
            for name, state in outcome.states.items():
                if name in of and states.of({"state": state}).kind == kind:
                    return of[name]
        return rungs[0]

    def to_look_at(self, rung: course.Rung) -> course.Rung:
        """What profile and trace show: the rung, or while there is nothing of it to see, the one that came to pass last."""
        return self.latest if self.latest and (rung in self.passed or course.is_open(rung)) else rung

    def wait(self, lab: labs.Lab, rung: course.Rung, saved) -> str:
        """Waits until the file is saved or a key is pressed: returns "q", or "" to check again."""
        self.say_what_it_waits_for(relative(lab.source))
        while stamp(lab) == saved:
            key = self.keys.pressed(POLL_SECONDS)
            if key == "q":
                return "q"
            if key == "r":
                break
            if key in COMMANDS:
                self.show(COMMANDS[key], rung if key == "h" else self.to_look_at(rung))
                self.say_what_it_waits_for(relative(lab.source))
            elif key:
                print(fill(HELP), flush=True)
        return ""

    def say_what_it_waits_for(self, files: str) -> None:
        if self.keys.there:
            print(paint(fill(f"waiting for {files} to be saved\n{HELP}"), "grey"), flush=True)
        else:
            say(f"waiting for {files} to be saved; Ctrl-C ends")

    def show(self, words: list[str], rung: course.Rung) -> None:
        """Runs one of the kit's commands on this rung, and shows it, so that the student can also type it."""
        command = [each.format(lab=rung.lab.name, rung=rung.name) for each in words]
        print(paint(f"\n$ ./kit {' '.join(command)}", "blue"), flush=True)
        self.keys.rest()
        try:
            subprocess.run([sys.executable, str(ROOT / "kit"), *command], stdin=subprocess.DEVNULL)
        finally:
            self.keys.go_on()


COMMANDS = {
    "h": ["hint", "{lab}/{rung}"],
    "t": ["trace", "{lab}", "--rung", "{rung}", "--failing"],
    "p": ["profile", "{lab}", "--rung", "{rung}"],
}


def predicted(rung: course.Rung) -> list[str]:
    """Shows what the student predicted for the rung, beside the counts."""
    lines = []
    for guess in guesses.kept():
        if (guess.lab, guess.rung) == (rung.lab.name, rung.name) or (guess.lab, guess.over) == (rung.lab.name, rung.name):
            try:
                found = guesses.counted(rung.lab, guess)
            except KitError:
                continue
            if found is not None:
                lines += ["You predicted:", *guesses.lines(guess, found, width())]
    return lines


def stamp(lab: labs.Lab) -> tuple:
    """Editors replace a file rather than write to it, so for a moment there may be none."""

    def of(path: Path):
        try:
            status = path.stat()
            return path.name, status.st_mtime_ns, status.st_size
        except FileNotFoundError:
            return path.name, 0, 0

    return tuple(of(path) for path in [lab.source, lab.source.with_suffix(".cpp")])  # that of an OpenCL lab's host side
