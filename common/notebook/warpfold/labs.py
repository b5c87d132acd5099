"""A lab as a notebook sees it."""

import json
import os
from argparse import Namespace
from html import escape
from pathlib import Path

from . import clone, code, plots, programs, regions
from .annotated import Annotated
from .progress import Progress
from .verdict import STYLE, Cell, LabError, Verdict


def solved_by_default() -> bool:
    """WARPFOLD_SOLVED=1 runs a notebook on the solutions, as the instructor's edition of the handouts does."""
    return os.environ.get("WARPFOLD_SOLVED", "") not in ("", "0")


def tree(solved: bool | None = None) -> Path:
    clone.require_clone()
    is_solved = solved_by_default() if solved is None else solved
    if is_solved and not has_solutions():
        raise LabError("This edition has no solutions. Without WARPFOLD_SOLVED a notebook runs on your own files.")
    return clone.ROOT / ("solutions" if is_solved else "labs")


def has_solutions() -> bool:
    """A students' edition has none."""
    return (clone.ROOT / "solutions").is_dir()


def left_out(name: str) -> str | None:
    """The lab of that name, if the students' edition was made without it: other labs' handouts may speak of it."""
    try:
        absent = json.loads((clone.ROOT / "RELEASE.json").read_text()).get("labs_left_out", [])
    except (OSError, ValueError):
        return None
    return next((lab for lab in absent if name in lab), None)


def relative(path: Path) -> str:
    return str(path.relative_to(clone.ROOT)) if path.is_relative_to(clone.ROOT) else str(path)


def sources() -> list[Path]:
    return sorted(path for path in tree().glob("*/*") if path.suffix in (".cu", ".cl"))


def source_with(rung: str) -> Path:
    """The file that has a region for the rung."""
    marker = f"// BEGIN {rung}"
    found = [path for path in sources() if any(line.strip() == marker for line in regions.read(path).splitlines())]
    if len(found) != 1:
        where = "several files have" if found else f"no file below {relative(tree())} has"
        raise LabError(f"{where} a region {rung} (a line `{marker}`). `warpfold.open(LAB).rungs()` lists a lab's rungs.")
    return found[0]


def only_rung(name: str) -> str:
    """A lab's name stands for its rung if it has only one."""
    for path in sources():
        if name == path.parent.name:
            rungs = list(dict.fromkeys(region.rung for region in regions.find(regions.read(path), relative(path))))
            if len(rungs) == 1:
                return rungs[0]
            raise LabError(f"{name} has several rungs. Say which one the cell fills: {', '.join(rungs)}")
    return name


class Lab:
    """check, profile, trace, compare and time; each takes the names of rungs, and means all without. n is the number
    of elements and, in a lab that sums the rows of a matrix, rows how many rows they make."""

    def __init__(self, name: str, solved: bool):
        self.name, self.is_solved = name, solved
        self.solved = self  # what a handout shows of the finished ladder; open() sets it

    def __repr__(self) -> str:
        return f"<lab {self.name}: {relative(self.path)}>"

    @property
    def path(self) -> Path:
        found = [path for path in (tree(self.is_solved) / self.name).iterdir() if path.suffix in (".cu", ".cl")]
        if not found:
            raise LabError(f"{relative(tree(self.is_solved) / self.name)} holds no lab")
        return found[0]

    def rungs(self) -> list[str]:
        with Progress() as progress:
            return [rung["name"] for rung in self.ask(progress, "reading the list of rungs", "--list")["rungs"]]

    def ask(self, progress: Progress, what: str, *words: str) -> dict:
        lab = clone.named(self.name, self.is_solved, progress)
        warnings = clone.build(lab, progress)
        return clone.ask(lab, progress, what, *words) | {"warnings": warnings}

    # -- right or wrong

    def verdict(self, *rungs: str, n: int | None = None, cell: Cell | None = None) -> Verdict:
        """What the check found, without failing the cell. `cell`: the one that the rung's lines came from."""
        with Progress() as progress:
            return Verdict(self.ask(progress, f"checking {self.name}", *words(rungs, n)), cell)

    def check(self, *rungs: str, n: int | None = None) -> None:
        """Shows the verdict; if a rung fails, the cell fails."""
        verdict = self.verdict(*rungs, n=n)
        show(verdict)
        verdict.raise_if_failed()

    # -- what it costs

    def source(self, rung: str):
        """The rung's regions as they are in the file."""
        text = regions.read(self.path)
        parts = regions.of_rung(text, relative(self.path), rung)
        return Source(relative(self.path), [(part.begin + 2, regions.body(text, part)) for part in parts])

    def counters(self, *rungs: str, n: int | None = None, block: int | None = None, rows: int | None = None) -> dict[str, dict]:
        """What the emulator counted: {rung: {counter: value}}, with n and launches beside them."""
        found = {}
        with Progress() as progress:
            answer = self.ask(progress, f"counting {self.name}", "--profile", "--device", "emulator", *words(rungs, n, block, rows))
        for rung in answer["rungs"]:
            if profile := rung.get("profile"):
                found[rung["name"]] = {**profile["counters"], "n": profile["n"], "launches": profile["launches"]}
        return found

    def profile(self, *rungs: str, n: int | None = None, block: int | None = None, rows: int | None = None) -> Annotated:
        """The source with counts beside each line."""
        from kit.programs import rungs as kit_rungs

        with Progress() as progress:
            lab = clone.named(self.name, self.is_solved, progress)
            clone.build(lab, progress)
            with clone.lab_errors():
                filled, still_open = kit_rungs.filled_and_open(lab, list(rungs))
                runs = []
                for rung in filled:
                    progress.show(f"profiling {rung}")
                    runs.append(kit_rungs.run(lab, rung, Namespace(n=n, block=block, rows=rows)))
            open_rungs = [rung["name"] for rung in still_open]
            return Annotated(runs, open_rungs, clone.folder(progress).path)

    def compare(self, *counters: str, rungs: list[str] | None = None, n: int | None = None, rows: int | None = None) -> plots.Picture | str:
        """A plot: the rungs' counters, one panel per counter. Without names, those that say most."""
        found = self.counters(*(rungs or []), n=n, rows=rows)
        if not found:
            return self.nothing_yet(*(rungs or []))
        shape = f", {rows:,} rows of {n // rows:,}" if rows else ""
        return plots.bars(found, counters or plots.TELLING, f"{self.name}: what the rungs cost{shape}")

    def nothing_yet(self, *rungs: str) -> plots.Note:
        instead = ", or look at lab.solved.compare()" if has_solutions() else ""
        return plots.StillOpen(f"No rung of {self.name} can be run yet: fill in a TODO first{instead}.", *(rungs or self.rungs()))

    def time(self, *rungs: str, n: int | None = None, rows: int | None = None) -> plots.Table | str:
        """Times on this machine's GPU, and nothing where there is none: the emulator's own pace says nothing."""
        if not programs.has_gpu():
            return plots.Note("No GPU here, so no times: the emulator counts, but it does not run at a GPU's speed.")
        with Progress() as progress:
            answer = self.ask(progress, f"timing {self.name}", "--time", *words(rungs, n, rows=rows))
        timed = {rung["name"]: rung["time"] for rung in answer["rungs"] if rung.get("time")}
        if not timed:
            return plots.Note("No rung was timed; lab.check() says what each lacks.")
        return plots.times(timed, answer["device"]["name"])

    # -- predicted, then seen

    def predict(
        self, rung: str, *, over: str | None = None, n: int | None = None, rows: int | None = None, block: int | None = None, **counts
    ):
        """Notes what you expect of a rung, lab.predict("sequential", barriers=36864), or with `over` how many times what
        another rung has; shows it beside what is counted, at once or (lab.predicted()) when the rung is right."""
        from .predictions import predict

        return predict(self, rung, counts, over, n, rows, block)

    def predicted(self):
        """All that you predicted of the lab, beside what is counted."""
        from .predictions import predicted

        return predicted(self)

    # -- how it moves

    def trace(self, rung: str, n: int | None = None, block_index: int = 0):
        """One block of the rung, step by step, as a page inside the notebook."""
        from .traces import page

        return page(self, rung, n, block_index)

    def tree(self, rung: str, element: int | None = None, n: int | None = None, block: int | None = None):
        """How the rung's result is made of 1, 2, ... 9, 1 and so on, as a picture: all of it, or where one element goes. What
        is wrong is red."""
        from .traces import tree

        return tree(self, rung, element, n, block)

    def still(self, rung: str, step: int, n: int | None = None, block: int | None = None):
        """One step of the trace, as a picture."""
        from .traces import still

        return still(self, rung, step, n, block)


def words(rungs, n: int | None = None, block: int | None = None, rows: int | None = None) -> list[str]:
    options = [word for rung in rungs for word in ("--rung", rung)]
    for option, value in (("--n", n), ("--rows", rows), ("--block", block)):
        if value is not None:
            options += [option, str(value)]
    return options


def show(thing) -> None:
    try:
        from IPython.display import display
    except ImportError:
        print(thing)
    else:
        display(thing)


class Source:
    """Pieces of a file, with the number of each one's first line."""

    def __init__(self, file: str, parts: list[tuple[int, str]]):
        self.file, self.parts = file, parts

    def __str__(self) -> str:
        return "\n".join(f"// {self.file}:{line}\n{text}" for line, text in self.parts)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        shown = "".join(f"<div class=faint>{escape(self.file)}:{line}</div>{code.table(text, line)}" for line, text in self.parts)
        return {"text/plain": str(self), "text/html": f'{STYLE}{code.STYLE}<div class="warpfold">{shown}</div>'}
