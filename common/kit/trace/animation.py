"""All steps of a block as one moving picture: an SVG that a page shows like any other."""

import html
import re

from .drawing import CELL, COLOURS, STYLE, Drawing
from .steps import Step
from .words import summary

SECONDS = 1.6  # that a step is shown
CAPTION = 26  # height of the line above

# On paper, and for readers who prefer no motion, nothing moves: they see the last step, which has the result.
MOTION = """
.frame {{ opacity: 0; animation: show {whole:g}s step-end infinite }}
@keyframes show {{ 0% {{ opacity: 1 }} {share:.4f}% {{ opacity: 0 }} }}
@media (prefers-reduced-motion: reduce), print {{ .frame {{ animation: none }} .frame:last-of-type {{ opacity: 1 }} }}
text.caption {{ font-size: 13px; text-anchor: start; font-weight: 600 }}
.ground {{ fill: var(--ground) }}
"""


def without_titles(svg: str) -> str:
    """What a drawing shows. A picture on a page has no tool tips, so the cells' own titles would only make it heavy."""
    return re.sub(r"<title>.*?</title>", "", re.search(r"</desc>(.*)</svg>", svg, re.DOTALL)[1])


def still(step: Step, columns: int) -> str:
    """One step as a small picture on a ground of its own, for a card."""
    drawing = Drawing(step, columns)
    inside = without_titles(drawing.svg())
    width, height = columns * CELL, drawing.y
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -4 {width + 14} {height + 8:g}" width="{width}">'
        f"<style>{COLOURS}{STYLE}.ground {{ fill: var(--ground) }}</style>"
        f'<rect class="ground" x="-8" y="-4" width="{width + 14}" height="{height + 8:g}"/>{inside}</svg>\n'
    )


def animate(steps: list[Step], title: str, columns: int = 32) -> str:
    drawings = [Drawing(step, columns) for step in steps]
    inside = [without_titles(drawing.svg()) for drawing in drawings]
    wide = max([min(columns, step.threads) for step in steps] + [min(columns, array.count) for step in steps for array in step.arrays])
    width, height = wide * CELL, max(drawing.y for drawing in drawings) + CAPTION
    whole = SECONDS * (len(steps) + 1)  # the last step stays twice as long
    frames = []
    for index, (step, part) in enumerate(zip(steps, inside, strict=True), 1):
        caption = f'<text class="caption" x="0" y="16">step {index} of {len(steps)}: {html.escape(summary(step))}</text>'
        last = ";animation-name:last" if index == len(steps) else ""
        frames.append(
            f'<g class="frame" style="animation-delay:{SECONDS * (index - 1):g}s{last}">{caption}<g transform="translate(0 {CAPTION})">{part}</g></g>'
        )
    style = COLOURS + STYLE + MOTION.format(whole=whole, share=100 * SECONDS / whole)
    style += f"@keyframes last {{ 0% {{ opacity: 1 }} {200 * SECONDS / whole:.4f}% {{ opacity: 0 }} }}\n"
    words = " ".join(f"Step {index}: {summary(step)}" for index, step in enumerate(steps, 1))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-6 -2 {width + 12} {height + 4:g}" width="{width}" role="img">'
        f"<title>{html.escape(title)}</title><desc>{html.escape(words)}</desc><style>{style}</style>"
        f'<rect class="ground" x="-6" y="-2" width="{width + 12}" height="{height + 4:g}" rx="6"/>{"".join(frames)}</svg>\n'
    )
