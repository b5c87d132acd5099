"""What `lab.solved` is where there are no solutions, as in a students' edition: the student's own rungs, once they are right."""

import base64
import json
import runpy
from html import escape

from . import clone
from .labs import Lab, relative
from .plots import Note, StillOpen
from .verdict import LabError


class Counts(dict):
    """{rung: {counter: value}}; for a rung that is not right yet, a sentence."""

    def __init__(self, lab: "OwnRungs", found: dict[str, dict]):
        super().__init__(found)
        self.lab = lab

    def __missing__(self, rung: str) -> Note:
        return self.lab.waiting(rung)


class Picture:
    """A picture that comes with the course; the page around it lends it no styles and takes none."""

    def __init__(self, svg: str, caption: str):
        self.svg, self.caption = svg, caption

    def __str__(self) -> str:
        return self.caption

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        source = base64.b64encode(self.svg.encode()).decode()
        image = f'<img src="data:image/svg+xml;base64,{source}" alt="" style="max-width: 100%">'
        caption = f"<figcaption>{escape(self.caption)}</figcaption>"
        return {"text/plain": str(self), "text/html": f'<figure style="margin: 0.5em 0">{image}{caption}</figure>'}


class OwnRungs(Lab):
    """Never fails a cell: where nothing right can be shown, it shows a sentence or a picture that comes with the course."""

    def __init__(self, name: str):
        super().__init__(name, False)

    def __repr__(self) -> str:
        return f"<lab {self.name}: there are no solutions in this edition, so this is {relative(clone.ROOT / 'labs' / self.name)}>"

    @property
    def is_here(self) -> bool:
        """An edition may be for some labs only."""
        return (clone.ROOT / "labs" / self.name).is_dir()

    def waiting(self, *rungs: str) -> Note:
        if not self.is_here:
            return Note(f"This edition does not include lab {self.name}, so there is nothing to show here.")
        which = f"your own {', '.join(rungs)}" if rungs else f"a rung of {self.name}"
        said = f"In the students' edition, this appears once {which} passes: fill it in, then run this cell again."
        return StillOpen(said, *rungs) if rungs else Note(said)

    def right(self, *rungs: str) -> list[str]:
        return list(self.counters(*rungs))

    def counters(self, *rungs: str, n: int | None = None, block: int | None = None, rows: int | None = None) -> Counts:
        """A rung that is wrong or still to be filled in has none, and nor has a file that does not compile."""
        if len(rungs) == 1 and (known := counts_of(self.name, rungs[0], n)):
            return Counts(self, {rungs[0]: known})
        if not self.is_here:
            return Counts(self, {})
        try:
            return Counts(self, super().counters(*rungs, n=n, block=block, rows=rows))
        except LabError:
            return Counts(self, {})

    def nothing_yet(self, *rungs: str) -> Note:
        return self.waiting(*rungs)

    def still(self, rung: str, step: int, n: int | None = None, block: int | None = None):
        if self.right(rung):
            try:
                return super().still(rung, step, n, block)
            except LabError as error:  # the student's kernel takes fewer steps
                return Note(error)
        later = f" Once your own {rung} passes, its picture appears here." if self.is_here else ""
        picture = picture_of(self.name, rung, step)
        return Picture(picture, f"{rung}, step {step}.{later}") if picture else self.waiting(rung)

    def trace(self, rung: str, n: int | None = None, block_index: int = 0):
        return super().trace(rung, n, block_index) if self.right(rung) else self.waiting(rung)

    def source(self, rung: str):
        return super().source(rung) if self.right(rung) else self.waiting(rung)

    def profile(self, *rungs: str, n: int | None = None, block: int | None = None, rows: int | None = None):
        right = self.right(*rungs)
        return super().profile(*right, n=n, block=block, rows=rows) if right else self.waiting(*rungs)

    def time(self, *rungs: str, n: int | None = None, rows: int | None = None):
        right = self.right(*rungs)
        return super().time(*right, n=n, rows=rows) if right else self.waiting(*rungs)

    def check(self, *rungs: str, n: int | None = None):
        right = self.right(*rungs)
        return super().check(*right, n=n) if right else self.waiting(*rungs)


def counts_of(lab: str, rung: str, n: int | None) -> dict | None:
    """The counts that the first handout explains, before anything is filled in; they come with the course. tests/notebook compares them with the solved lab's."""
    try:
        known = json.loads((clone.ROOT / "docs" / "results" / "first_counts.json").read_text())
    except OSError:
        return None
    return known["counts"] if (lab, rung, n) == (known["lab"], known["rung"], known["counts"]["n"]) else None


def picture_of(lab: str, rung: str, step: int) -> str | None:
    """A card (SVG) of the site's first page, if it shows this very step."""
    cards = clone.ROOT / "docs" / "cards.py"
    known = runpy.run_path(str(cards))["CARDS"] if cards.is_file() else {}
    for stem, (_, _, whose) in known.items():
        file = clone.ROOT / "docs" / "figures" / "cards" / f"{stem}.svg"
        if whose == (lab, rung, step) and file.is_file():
            return file.read_text()
    return None
