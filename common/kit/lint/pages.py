"""The paragraphs of Markdown pages, all filled to one width."""

import re
from pathlib import Path

from ..paths import ROOT
from .check import Check
from .text import PAGES

WIDTH = 140  # as Python's

FENCE = re.compile(r"\s*(`{3,}|~{3,}|:{3,})")
MARKER = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+|>\s?)?")  # of a list's item or of a quotation
ALONE = re.compile(r"\s*(#{1,6}\s|\||<|\([\w-]+\)=$|\[[^\]]+\]:|%|\+\+\+|-{3,}$|={3,}$)")  # what no paragraph goes on with
STARTS_A_BLOCK = re.compile(r"([-*+>|]|\d+[.)])$|#|={3,}$|-{3,}$|```|~~~|:::|<|\|")  # where such a word begins a line
WORD = re.compile(r"(?:`[^`]*`|\S)+")  # code is never broken
HARD_BREAK = re.compile(r"(  |\\)$")


def filled(page: str) -> str:
    """The page with each paragraph, also those of lists, as lines of at most WIDTH characters; all else is left as it is."""
    lines, done, at = page.splitlines(), [], 0
    while at < len(lines):
        end = end_of_block(lines, at)
        block = lines[at:end]
        done += fill(block) if is_text(block[0]) and not any(map(HARD_BREAK.search, block)) else block
        at = end
    return "\n".join(done) + ("\n" if page.endswith("\n") else "")


def end_of_block(lines: list[str], at: int) -> int:
    if at == 0 and lines[0] == "---":  # front matter
        return lines.index("---", 1) + 1
    if fence := FENCE.match(lines[at]):
        closing = re.compile(rf"\s*{re.escape(fence[1])}\s*$")
        return next((line + 1 for line in range(at + 1, len(lines)) if closing.match(lines[line])), len(lines))
    end = at + 1
    if lines[at].lstrip().startswith("<"):  # HTML, up to a line without anything
        while end < len(lines) and lines[end].strip():
            end += 1
        return end
    while is_text(lines[at]) and end < len(lines) and is_text(lines[end]) and not MARKER.match(lines[end])[0].strip():
        end += 1
    return end


def is_text(line: str) -> bool:
    return bool(line.strip()) and not FENCE.match(line) and not ALONE.match(line)


def fill(paragraph: list[str]) -> list[str]:
    marker = MARKER.match(paragraph[0])[0]
    words = WORD.findall(" ".join([paragraph[0][len(marker) :], *paragraph[1:]]))
    lines, line = [], marker + words[0]
    beyond = marker if ">" in marker else " " * len(marker)
    for word, following in zip(words[1:], [*words[2:], ""], strict=False):
        together = word if not following or not STARTS_A_BLOCK.match(following) else f"{word} {following}"
        if len(line) + 1 + len(together) <= WIDTH or STARTS_A_BLOCK.match(word):
            line += f" {word}"
        else:
            lines.append(line)
            line = beyond + word
    return [*lines, line]


def check(files: list[Path], fix: bool) -> list[str]:
    problems = []
    for page in files:
        text = page.read_text()
        wanted = filled(text)
        if wanted == text:
            continue
        if fix:
            page.write_text(wanted)
        else:
            before, after = text.splitlines(), wanted.splitlines()
            line = next(at for at, pair in enumerate(zip([*before, ""], [*after, ""], strict=False)) if pair[0] != pair[1])
            problems.append(f"{page.relative_to(ROOT)}:{line + 1}: the paragraph is not filled to {WIDTH} characters")
    return problems


FILLED = Check("pages", f"paragraphs in Markdown pages are filled to {WIDTH} characters", PAGES, check, mends=True)
