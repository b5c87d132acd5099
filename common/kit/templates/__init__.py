"""The HTML pages: their templates, the style that they share, and functions that make text safe to put in them."""

import html
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent


def template(name: str) -> Template:
    return Template((FOLDER / name).read_text())


def style() -> str:
    return (FOLDER / "style.css").read_text()


def escape(text: object) -> str:
    return html.escape(str(text))
