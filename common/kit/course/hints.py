"""The handouts' hints, rung by rung, and how many of a rung's hints a student has seen.

A hint is what a handout folds away: `<details><summary>Hint: the loop</summary>` up to `</details>`. It belongs to the
rung whose cell (`%%lab RUNG`) or heading (`### RUNG`) precedes it, and the first is the least detailed."""

import json
import re
from dataclasses import dataclass
from functools import lru_cache

from ..paths import OWN
from .handouts import all_of_them

SEEN = OWN / "hints.json"
LEVELS = 3
CELL = re.compile(r"^%%lab (\w+)")
HEADING = re.compile(r"^### (\w+)$")
SUMMARY = re.compile(r"^<details><summary>Hint: (.+)</summary>$")
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
    """Its paragraphs for a terminal: links are reduced to their text, and code keeps its lines."""
    paragraphs = []
    for part in re.split(r"\n\s*\n", LINK.sub(r"\1", text)):
        if part.startswith("```"):
            paragraphs += ["    " + line for line in part.splitlines()[1:-1]]
        else:
            paragraphs.append(" ".join(part.replace("`", "").split()))
    return paragraphs


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
