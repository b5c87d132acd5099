"""On the site, a rung that is still to be filled in is one line: in the place of the first of the messages that a notebook shows."""

import re
from html import escape

# What the package marks as no more than that (warpfold/plots.py, StillOpen; a verdict's lines; what a profile leaves out).
MARKED = re.compile(r'<(div|p)\b[^>]*\bdata-open="([^"]*)"[^>]*>.*?</\1>', re.DOTALL)
STYLES = re.compile(r"<style>.*?</style>", re.DOTALL)
DEVICE = re.compile(r'<div class="[^"]*\bdevice\b[^"]*">.*?</div>', re.DOTALL)
SHOWN = re.compile(r"<(?:svg|img|iframe|table)\b")


class OpenRungs:
    """Those of one page."""

    def __init__(self):
        self.said: set[str] = set()

    def once(self, output: str) -> str:
        """An output's HTML with each rung's line, if this is its first; nothing where no more was in it."""
        if not MARKED.search(output):
            return output
        lines = ""

        def take(found: re.Match) -> str:
            nonlocal lines
            new = [rung for rung in found[2].split() if rung not in self.said]
            self.said.update(new)
            lines += "".join(map(line, new))
            return ""

        rest = MARKED.sub(take, output)
        return lines + ("" if is_empty(rest) else rest)


def line(rung: str) -> str:
    return f"<p><code>{escape(rung)}</code> is still to be filled in. Once it is, your verdict, counts and pictures appear below.</p>"


def is_empty(output: str) -> bool:
    if SHOWN.search(output):
        return False
    return not re.sub(r"<[^>]*>", "", DEVICE.sub("", STYLES.sub("", output))).strip()
