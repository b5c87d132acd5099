"""Drawings of docs/figures, put into the page itself so that they take its colours."""

from html import escape

from . import clone
from .verdict import LabError

# On a telephone a drawing that is wider keeps a size at which it can be read, and is moved sideways.
SCROLLS = "<style>.warpfold-drawing { overflow-x: auto } .warpfold-drawing svg { min-width: min(40rem, var(--width)) }</style>"


class Drawing:
    def __init__(self, svg: str, description: str):
        self.svg, self.description = svg, description

    def __str__(self) -> str:
        return self.description

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/plain": self.description, "text/html": f'<figure style="margin: 0.5em 0">{self.svg}</figure>'}


def figure(name: str) -> Drawing:
    folder = clone.ROOT / "docs" / "figures"
    path = folder / f"{name}.svg"
    if not path.is_file():
        raise LabError(f"no figure {name}. There are: {', '.join(sorted(each.stem for each in folder.glob('*.svg')))}")
    return drawing(path.read_text())


def drawing(svg: str) -> Drawing:
    """An SVG with a <title> and a <desc>, which are its text alternative."""
    import xml.etree.ElementTree as ET

    root = ET.fromstring(svg)
    space = {"svg": "http://www.w3.org/2000/svg"}
    texts = [root.findtext(f"svg:{tag}", "", space).strip() for tag in ("title", "desc")]
    width = f"--width: {root.get('viewBox').split()[2]}px"
    scrolls = f'{SCROLLS}<div class="warpfold-drawing" style="{width}" tabindex="0" role="group" aria-label="{escape(texts[0])}">'
    return Drawing(f"{scrolls}{svg[svg.index('<svg') :]}</div>", ". ".join(text.rstrip(".") for text in texts if text) + ".")
