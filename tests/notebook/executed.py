"""What must hold for a handout that was executed, on the stubs or on the solutions."""

import re
import sys
from functools import cache
from html import unescape

import support

sys.path.insert(0, str(support.ROOT / "docs"))

import open_rungs
from warpfold import regions

HANDOUTS = support.ROOT / "docs" / "handouts"
LEAST_TELLING = 20  # letters of a line of code


def outputs(notebook) -> str:
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            texts.append(output.get("text", "") or "".join(output.get("data", {}).get("text/plain", "")))
            texts.append(" ".join(output.get("traceback", [])))
    return "\n".join(texts)


def pages(notebook) -> list[str]:
    return [page for cell in notebook.cells for output in cell.get("outputs", []) if (page := output.get("data", {}).get("text/html"))]


def said_once(notebook) -> list[str]:
    """On the site, a rung that is still to be filled in is one line, however many cells have nothing to show."""
    still_open = open_rungs.OpenRungs()
    shown = "\n".join(map(still_open.once, pages(notebook)))
    problems = [f"{rung} is open on {count} lines" for rung in still_open.said if (count := shown.count(open_rungs.line(rung))) != 1]
    without = shown
    for rung in still_open.said:
        without = without.replace(open_rungs.line(rung), "")
    return problems + [
        f"'{words}' is said beside it" for words in ("still to be filled", "can be run yet", "data-open") if words in without
    ]


def given_away(notebook) -> list[str]:
    """Lines of solved regions that a cell shows, unless the stubs or the handouts' hints have them too: on the stubs there are none."""
    shown = outputs(notebook) + "".join(unescape(unescape(re.sub(r"<[^>]*>", "", page))) for page in pages(notebook))
    return [f"shows the solution's line: {line}" for line in solved_lines() if line in shown]


@cache
def solved_lines() -> list[str]:
    known = "".join(path.read_text() for path in [*(support.ROOT / "labs").glob("*/*.c[ul]"), *HANDOUTS.glob("*.md")])
    found = set()
    for path in (support.ROOT / "solutions").glob("*/*.c[ul]"):
        text = path.read_text()
        for region in regions.find(text, path.name):
            found |= {line.strip() for line in regions.body(text, region).splitlines()}
    return sorted(line for line in found if len(line) >= LEAST_TELLING and line not in known)


def problems(name: str, notebook, solved: bool, not_built: list[str]) -> list[str]:
    shown = outputs(notebook)
    if name in not_built:
        return [] if "is not part of this build" in shown else ["its lab is not built here, which its output does not say"]
    found = [] if solved else said_once(notebook) + given_away(notebook)
    if solved and "CheckFailed" in shown:
        found.append("a rung of the solutions does not pass")
    if solved and ("still to be filled" in shown or "\ntodo " in shown):
        found.append("a solution is still to be filled")
    if (
        "\n%%lab " in (HANDOUTS / f"{name}.md").read_text()
        and ("\npass " if solved else "todo ") not in "\n" + shown
        and "08_hazards" not in name
    ):
        found.append(f"its output shows no rung as {'pass' if solved else 'todo'}")
    if "Traceback (most recent call last)" in shown:
        found.append("an error shows the package's inside")
    return found
