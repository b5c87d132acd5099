"""One rung of a lab on the emulator, with its report: what `kit profile` and `kit trace` look at."""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from .. import states
from ..child import bound
from ..console import say
from ..errors import PROGRAM, USAGE, KitError
from ..paths import ROOT
from ..process import relative
from . import folder, labs

Result = TypeVar("Result")


@dataclass
class Run:
    lab: labs.Lab
    rung: str
    result: dict  # of the rung, as the lab's program reports it
    report: dict  # from the emulator: the profile's launches or, if the rung is wrong, those of its checks
    trace: dict | None = None
    of_rank_0: bool = False  # of a rung that runs in several processes

    @property
    def n(self) -> int | None:
        return self.result.get("profile", {}).get("n")

    @property
    def verdict(self) -> tuple[str, str]:
        """The state with its reason, and the matching colour."""
        state, reason = states.of(self.result), self.result.get("reason")
        return f"{state.name}{': ' + reason if reason and state.kind != 'pass' else ''}", state.colour

    @property
    def size(self) -> str:
        """Text to follow the rung's name."""
        if self.n is None:
            return "; the counts are sums over the launches that checked it" if self.report.get("launches") else ""
        rows = self.result["profile"]["rows"]
        shape = f", n = {self.n:,}" if rows == 1 else f", {rows:,} rows of {self.n // rows:,}"
        return f"{shape}; of its processes, rank 0's counts" if self.of_rank_0 else shape

    @property
    def placeless_hazards(self) -> list[dict]:
        return [hazard for hazard in self.report.get("hazards", []) if not hazard.get("line")]

    @property
    def folder(self) -> Path:
        """The folder in which the compiler ran: paths in the report may be relative to it."""
        return folder.FOLDER


def arguments(parser) -> None:
    parser.add_argument("lab", metavar="LAB", help="the lab, such as 02_tree or tree, or one of its rungs: tree/sequential")
    parser.add_argument("--n", metavar="N", help="number of elements, such as 1000 or 2^20")
    parser.add_argument("--rows", metavar="R", help="rows of the matrix of N elements, for a lab that sums rows")
    parser.add_argument("--block", metavar="B", help="threads per block")
    solutions(parser)


def has_solutions() -> bool:
    """A students' edition has none."""
    return (ROOT / "solutions").is_dir()


def require_solutions(option: str) -> None:
    if not has_solutions():
        raise KitError(f"{option}: this edition has no solutions", f"Without {option} the command works on your own files.", USAGE)


def fill_it_in() -> str:
    """What to do about a rung that is still a TODO."""
    return "Fill it in first, or use the solved file: --solutions." if has_solutions() else "Fill it in first."


def solutions(parser) -> None:
    """The option --solutions, which --help does not mention where it has no use."""
    known = "use the solved file instead of yours" if has_solutions() else argparse.SUPPRESS
    parser.add_argument("--solutions", action="store_true", help=known)


def take_rung(options) -> None:
    """LAB/RUNG means LAB with --rung RUNG; a lab's folder or file is no such pair."""
    parts = options.lab.split("/")
    if len(parts) != 2 or parts[0] in ("labs", "solutions") or not parts[1].isidentifier():
        return
    options.lab, rung = parts
    if isinstance(options.rung, list):
        options.rung.append(rung)
    elif options.rung not in (None, rung):
        raise KitError(f"{options.lab}/{rung} and --rung {options.rung} name two rungs", "Name one of them.", USAGE)
    else:
        options.rung = rung


def find(options) -> labs.Lab:
    take_rung(options)
    if options.solutions:
        require_solutions("--solutions")
    build = folder.prepare()
    lab = labs.named(labs.find(build, solved=options.solutions), options.lab)
    labs.compile(build, [lab])
    return lab


def one_filled(lab: labs.Lab, name: str) -> str:
    """The rung of that name; an error if it is still a TODO."""
    rung = rungs_of(lab, [name])[0]
    if rung["state"] == "todo":
        raise KitError(todo_text(rung), fill_it_in())
    return rung["name"]


def one_to_trace(lab: labs.Lab, name: str | None, purpose: str = "traced") -> str:
    """The rung of that name, or the lab's only one; an error if it is still a TODO, or runs in several processes."""
    if not name:
        known = [rung["name"] for rung in rungs_of(lab, [])]
        if len(known) > 1:
            raise KitError(f"{lab.name} has {len(known)} rungs: name one with --rung", f"Its rungs: {', '.join(known)}", USAGE)
        name = known[0]
    require_one_process(lab, name, purpose)
    return one_filled(lab, name)


def require_one_process(lab: labs.Lab, name: str, purpose: str = "traced") -> None:
    """A trace is of one process, and so are the steps on a few numbers. `purpose`: what the user asked for."""
    if rungs_of(lab, [name])[0].get("in_processes"):
        raise KitError(f"{name} runs in several processes, one per device, and such a rung cannot be {purpose}",
                       f"./kit watch {lab.name} --rung {name} shows what is right and what is wrong.", USAGE)  # fmt: skip


def rungs_of(lab: labs.Lab, asked: list[str]) -> list[dict]:
    """The requested rungs (all if none is named), each with its state: `filled` or `todo`."""
    listed = labs.ask(lab, "--list")["rungs"]
    names = [rung["name"] for rung in listed]
    for name in asked:
        if name not in names:
            raise no_such_rung(lab.name, name, names)
    return [rung for rung in listed if not asked or rung["name"] in asked]


def no_such_rung(lab: str, name: str, known: list[str]) -> KitError:
    similar = get_close_matches(name, known, 3, 0.5) or [each for each in known if name and name in each]
    hint = f"Did you mean {' or '.join(similar)}? " if similar else ""
    return KitError(f"lab {lab} has no rung '{name}'", f"{hint}Its rungs: {', '.join(known)}", USAGE)


def todo_text(rung: dict) -> str:
    return f"{rung['name']} is still a TODO at {relative(Path(rung['file']))}:{rung['line']}: {rung['todo']}"


def filled_and_open(lab: labs.Lab, asked: list[str]) -> tuple[list[str], list[dict]]:
    """The names of the requested rungs (all if none is named) that can be run, and of those that are still to do."""
    listed = rungs_of(lab, asked)
    return [rung["name"] for rung in listed if rung["state"] != "todo"], [rung for rung in listed if rung["state"] == "todo"]


def of_each(lab: labs.Lab, asked: list[str], work: Callable[[str], Result]) -> list[Result]:
    """The results of `work` for each requested rung that can be run; says which are left out, and why."""
    filled, still_open = filled_and_open(lab, asked)
    for rung in still_open:
        say(f"left out: {todo_text(rung)}")
    results = []
    for name in filled:
        try:
            results.append(work(name))
        except KitError as error:
            if asked or error.code != USAGE:
                raise
            say(f"left out: {error}")  # a size that this rung does not accept
    if not results:
        raise KitError(f"none of the rungs of {lab.name} that were asked for can be run", fill_it_in())
    return results


def run(lab: labs.Lab, rung: str, options) -> Run:
    answer, found, _ = observed(lab, rung, ["--profile"], options)
    result = answer["rungs"][0]
    # The processes of such a rung are not this program, whose own report is empty; the program passes on what rank 0 reported.
    of_rank_0 = result.get("profile", {}).get("report", {}).get("launches", []) if not found["launches"] else []
    return Run(lab, rung, result, found | {"launches": found["launches"] or of_rank_0}, of_rank_0=bool(of_rank_0))


def observed(lab: labs.Lab, rung: str, how: list[str], options, traced_block: int | None = None) -> tuple[dict, dict, dict | None]:
    """The program's answer, the emulator's report and, if a block is named, its trace."""
    words = ["--json", *how, "--device", "emulator", "--rung", rung]
    for name in ("n", "rows", "block"):
        if (value := getattr(options, name, None)) is not None:
            words += [f"--{name}", str(value)]
    with tempfile.TemporaryDirectory() as temporary:
        report, trace = Path(temporary) / "report.json", Path(temporary) / "trace.json"
        environment = os.environ | {"WARPFOLD_CHECKS": "all", "WARPFOLD_REPORT": str(report)}
        if traced_block is not None:
            environment |= {"WARPFOLD_TRACE": str(trace), "WARPFOLD_TRACE_BLOCK": str(traced_block)}
        finished = subprocess.run([str(lab.program), *words], text=True, capture_output=True, env=environment, preexec_fn=bound())
        if finished.returncode == USAGE:
            raise KitError(finished.stderr.strip(), code=USAGE)
        try:
            answer = json.loads(finished.stdout) | {"printed": labs.printed(finished.stderr)}
            found = json.loads(report.read_text())
            steps = json.loads(trace.read_text()) if traced_block is not None else None
        except (OSError, ValueError):
            said = (finished.stderr or finished.stdout).strip()
            raise KitError(f"{lab.name} {rung} ended with code {finished.returncode}\n{said}", code=PROGRAM) from None
    found["hazards"] = [hazard for hazard in found["hazards"] if hazard["fails_check"]]
    return answer, found, steps
