"""The kit's trace of one block inside a notebook: a page to step through, and stills of single steps."""

import re
from argparse import Namespace
from contextlib import contextmanager
from html import escape

from . import clone
from .figures import Drawing
from .plots import WIDE_OR_NARROW, Note, StillOpen, wide_or_narrow
from .progress import Progress
from .theme import themed
from .verdict import LabError

FRAME_HEIGHT = 620  # pixels
# A still stands on the ground of the page around it: JupyterLab's or the site's.
GROUND = "var(--jp-layout-color0, var(--color-background-primary, transparent))"


# Paper cannot be stepped through, and would show the frame cut off.
PRINT_STYLE = "<style>@media print { .warpfold-frame { display: none } } @media screen { .warpfold-printed { display: none } }</style>"


class Frame:
    """A whole page inside the notebook, apart from its styles and scripts; on paper, one step of it."""

    def __init__(self, page: str, title: str, printed: str):
        self.page, self.title, self.printed = page, title, printed

    def __str__(self) -> str:
        return f"{self.title}: a page to step through, if the notebook shows HTML; otherwise, ./kit trace writes it to a file."

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        frame = (f'<iframe class="warpfold-frame" title="{escape(self.title)}" srcdoc="{escape(self.page)}" '
                 f'style="width: 100%; height: {FRAME_HEIGHT}px; box-sizing: border-box; border: 1px solid currentColor"></iframe>')  # fmt: skip
        return {"text/plain": str(self), "text/html": f'{PRINT_STYLE}{frame}<div class="warpfold-printed">{self.printed}</div>'}


@contextmanager
def filled(lab, rung: str):
    """The lab, built; None where the rung is still to be filled."""
    from kit.programs import rungs

    with Progress() as progress:
        found = clone.named(lab.name, lab.is_solved, progress)
        clone.build(found, progress)
        progress.show(f"tracing {rung}")
        with clone.lab_errors():
            rungs.require_one_process(found, rung)
            is_filled, _ = rungs.filled_and_open(found, [rung])
            yield found if is_filled else None


def sizes(n: int | None, block: int | None, **more) -> Namespace:
    return Namespace(n=None if n is None else str(n), block=None if block is None else str(block), **more)


def traced(lab, rung: str, n: int | None, block: int | None, block_index: int):
    """The run and its steps; None where the rung is still to be filled."""
    from kit.trace import record

    with filled(lab, rung) as found:
        if found is None:
            return None, []
        run = record.record(found, rung, sizes(n, block, block_index=block_index))
        return run, record.steps_of(run, block_index)


def page(lab, rung: str, n: int | None, block_index: int) -> Frame | Note:
    run, steps = traced(lab, rung, n, None, block_index)
    return todo(rung) if run is None else framed(run, steps, block_index)


def framed(run, steps: list, block_index: int, intro: str = "", printed: bool = True) -> Frame:
    from kit.trace import page as trace_page

    title = f"{run.lab.name}, {run.rung}: block {block_index}, step by step"
    telling = next((index for index, step in enumerate(steps) if step.races), 0)
    on_paper = f"<p>{escape(title)}. Step {telling + 1} of {len(steps)}:</p>{picture(run, steps, telling).svg}" if printed else ""
    return Frame(trace_page.page(run, steps, block_index, intro), title, on_paper)


def still(lab, rung: str, step: int, n: int | None, block: int | None) -> Drawing | Note:
    run, steps = traced(lab, rung, n, block, 0)
    if run is None:
        return todo(rung)
    if not 1 <= step <= len(steps):
        raise LabError(f"{rung} has {len(steps)} steps, counted from 1; there is no step {step}.")
    return picture(run, steps, step - 1)


def tree(lab, rung: str, element: int | None, n: int | None, block: int | None) -> Drawing | Note:
    from kit.trace import tree as trees

    with filled(lab, rung) as found:
        if found is None:
            return todo(rung)
        made = trees.follow(found, rung, sizes(n, block), element)
    heading = trees.title(made, element)
    wide, narrow = (trees.Drawing(made, with_words).svg(heading=heading) for with_words in (True, False))
    return drawn(wide, narrow, trees.STYLE)


def picture(run, steps: list, index: int) -> Drawing:
    """Laid out twice: for a telephone, fewer cells stand in a row, so that their numbers can be read."""
    from kit.trace import drawing, words
    from kit.trace.page import narrow_columns

    step, title = steps[index], words.title(run, steps, index + 1)
    return drawn(drawing.draw(step, title=title), drawing.draw(step, narrow_columns(step), title=title), drawing.STYLE)


def drawn(wide: str, narrow: str, style: str) -> Drawing:
    texts = re.findall(r"<(?:title|desc)>(.*?)</", wide, re.DOTALL)[:2]  # the picture's own; each cell has one as well
    styles = f"<style>{colours()}.warpfold-still {{ {style} }}</style>{WIDE_OR_NARROW}"
    return Drawing(f'{styles}<div class="warpfold-still">{wide_or_narrow(wide, narrow)}</div>', ". ".join(texts))


def colours() -> str:
    """The drawing's own colours, light and dark, on a page that knows which it is."""
    from kit.trace import drawing

    sets = re.findall(r"svg \{(.*?)\}", drawing.COLOURS, re.DOTALL)
    light, dark = (re.sub(r"--ground:[^;]*;", f"--ground: {GROUND};", each).strip() for each in sets)
    return themed(".warpfold-still", light, dark)


def todo(rung: str) -> Note:
    return StillOpen(f"{rung} is still to be filled in, so there is nothing to trace yet.", rung)
