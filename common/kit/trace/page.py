"""The steps of a block as one HTML page, to step forward and back through."""

from ..templates import escape, style, template
from . import drawing
from .words import ending, lines_of, sentences, summary, title

LEGEND = [
    ("idle", "idle thread, or memory that the step does not access"),
    ("busy", "working thread, or element that is only read"),
    ("write", "element that is written; the number is its new value"),
    ("busy clash", "bank conflict: lanes of a warp want different words in one bank (dashed)"),
    ("race", "race: two threads access this element and nothing orders them (marked with !)"),
]


def page(traced, steps: list, block_index: int, intro: str = "") -> str:
    """`intro`: HTML, for what is no rung and has no verdict."""
    if not intro:
        text, colour = traced.verdict
        mark = ' class="bad"' if colour == "red" else ""
        intro = (f"Block {block_index} on the emulator, {steps[0].threads} threads, from barrier to barrier. The input is 1 to 9, again and again. "
                 f"The rung's verdict: <span{mark}>{escape(text)}</span>.")  # fmt: skip
    return template("trace.html").substitute(
        title=escape(f"{traced.lab.name}: {traced.rung}, step by step"), style=style(), drawing_style=drawing.STYLE,
        intro=intro, count=len(steps), legend="\n".join(legend_entry(*entry) for entry in LEGEND),
        steps="\n".join(step_section(traced, steps, index) for index in range(len(steps))),
    )  # fmt: skip


def step_section(traced, steps: list, index: int) -> str:
    step = steps[index]
    heading_of_drawing = title(traced, steps, index + 1)
    heading = f"Step {index + 1} of {len(steps)}"
    words = " ".join(
        [
            f"{heading}.",
            *([f"{step.launch.capitalize()}."] if step.launch.startswith("launch") else []),
            summary(step),
            *sentences(step),
            ending(step),
        ]
    ).strip()
    listed = "".join(f"<li>{escape(text)}</li>" for text in sentences(step))
    source = "\n".join(f"{line:>5}  {text}" for line, text in lines_of(step))
    return f"""<section class="step" id="step{index + 1}" data-words="{escape(words)}" aria-labelledby="heading{index + 1}">
<h2 id="heading{index + 1}">{heading}</h2>
<p><code>{escape(step.launch)}</code>. {escape(summary(step))} {escape(ending(step))}</p>
<pre>{escape(source)}</pre>
<div class="wide">{drawing.draw(step, 32, title=heading_of_drawing)}</div>
<div class="narrow">{drawing.draw(step, narrow_columns(step), title=heading_of_drawing)}</div>
<ul class="words">{listed}</ul>
</section>"""


def narrow_columns(step) -> int:
    """For a telephone: fewer to a row, so that figures stay legible, where that is not too long a column."""
    return 8 if step.threads <= 64 else 16


def legend_entry(kind: str, meaning: str) -> str:
    return (f'<li><svg viewBox="-2 -2 31 28" aria-hidden="true"><rect class="cell {kind}" width="27" height="24" rx="3"/></svg>'
            f"{escape(meaning)}</li>")  # fmt: skip
