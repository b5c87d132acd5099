"""The handouts' hints, rung by rung, and how many of a rung's hints a student has seen.

A hint is what a handout folds away: `<details><summary>Hint: the loop</summary>` up to `</details>`. It belongs to the
rung whose cell (`%%lab RUNG`) or heading (`### RUNG`) precedes it, and the first is the least detailed."""

import json
import re
from dataclasses import dataclass
from functools import lru_cache

from ..paths import OWN
from . import all_of_them

SEEN = OWN / "hints.json"
LEVELS = 3
CELL = re.compile(r"^%%lab (\w+)")
HEADING = re.compile(r"^### (\w+)$")
SUMMARY = re.compile(r"^<details><summary>Hint: (.+)</summary>$")
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


@dataclass(frozen=True)
class Hint:
    title: str
    text: str  # Markdown


@lru_cache
def of_course() -> dict[str, list[Hint]]:
    """The hints of each rung, in the order of the handouts."""
    found: dict[str, list[Hint]] = {}
    for path in all_of_them():
        rung, title, body = "", "", []
        for line in path.read_text().splitlines():
            if title:
                if line == "</details>":
                    found.setdefault(rung, []).append(Hint(title, "\n".join(body).strip()))
                    title = ""
                else:
                    body.append(line)
            elif named := CELL.match(line) or HEADING.match(line):
                rung = named[1]
            elif line.startswith("## "):
                rung = ""
            elif rung and (summary := SUMMARY.match(line)):
                title, body = summary[1], []
    return found


def plain(text: str) -> list[str]:
    """Its paragraphs for a terminal: links are reduced to their text, code keeps its lines, and each statement within a
    paragraph gets a line."""
    paragraphs = []
    for part in re.split(r"\n\s*\n", LINK.sub(r"\1", text)):
        if part.startswith("```"):
            paragraphs += ["    " + line for line in part.splitlines()[1:-1]]
        elif statements_in(part):
            paragraphs += apart(part)
        else:
            paragraphs.append(one_line(part))
    return paragraphs


def one_line(text: str) -> str:
    return " ".join(text.replace("`", "").split())


def statements_in(paragraph: str) -> list[str]:
    """Code in backquotes that is more than a name or an expression."""
    return [" ".join(code.split()) for code in CODE.findall(paragraph) if code.rstrip().endswith((";", "}"))]


def apart(paragraph: str) -> list[str]:
    """A paragraph with statements: words and code take turns, one statement per line."""
    lines, words, statements = [], "", statements_in(paragraph)
    for index, piece in enumerate(CODE.split(paragraph)):
        if index % 2 == 1 and " ".join(piece.split()) in statements:
            lines += [one_line(words)] if re.search(r"\w", words) else []
            lines += [f"    {line}" for line in each_statement(" ".join(piece.split()))]
            words = ""
        else:  # the punctuation between two statements is not needed where each has its line
            words += piece if words or index % 2 == 1 else re.sub(r"^[,.:;]\s*", "", piece)
    return [*lines, one_line(words)] if re.search(r"\w", words) else lines


def each_statement(code: str) -> list[str]:
    """Splits after each semicolon that is in no bracket, so a loop's head and a body in braces stay whole."""
    found, depth, start = [], 0, 0
    for index, letter in enumerate(code):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == ";" and depth == 0:
            found.append(code[start : index + 1].strip())
            start = index + 1
    rest = code[start:].strip()
    return [*found, rest] if rest else found


def seen(rung: str) -> int:
    return _all_seen().get(rung, 0)


def note(rung: str, level: int) -> None:
    known = _all_seen() | {rung: level}
    SEEN.parent.mkdir(parents=True, exist_ok=True)
    SEEN.write_text(json.dumps(known, indent=1))


def _all_seen() -> dict[str, int]:
    try:
        return dict(json.loads(SEEN.read_text()))
    except (OSError, ValueError):
        return {}
