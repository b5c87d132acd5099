"""What a check found, as text and as HTML, and the errors that end a cell."""

import os
import re
from collections import Counter
from dataclasses import dataclass
from html import escape

from .home import ROOT
from .theme import themed

GOOD, OPEN = ("pass",), ("todo", "skip")
MOST_OF_A_KIND = 3  # hazards shown: others often follow from the first
MOST_CHECKS = 3  # failed checks shown of one rung: the first says most

STYLE = (
    "<style>\n.warpfold { font-size: 0.95em; line-height: 1.45; margin: 0.4em 0; }\n"
    ".warpfold .state { display: inline-block; min-width: 7em; font-weight: 700; }\n"
    ".warpfold ul { margin: 0.2em 0 0.4em 1.2em; padding: 0; } .warpfold .faint { opacity: 0.8; }\n"
    ".warpfold pre { white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere; margin: 0.3em 0; }\n"
    + themed(".warpfold .pass", "color: #1a7f37", "color: #57d06f")
    + themed(".warpfold .open", "color: #7a6200", "color: #dfc84a")
    + themed(".warpfold .fail", "color: #b3261e", "color: #ff8a80")
    + "</style>"
)


class LabError(Exception):
    """Ends the cell with its message alone: the traceback would only show this package's inside."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class CheckFailed(LabError):
    """A rung that was checked does not pass."""


class BuildFailed(LabError):
    """The compiler refused the file."""


@dataclass(frozen=True)
class Rung:
    name: str
    answer: dict

    @property
    def state(self) -> str:
        return self.answer["state"]

    @property
    def failed(self) -> bool:
        return self.state not in GOOD + OPEN

    @property
    def kind(self) -> str:
        return "pass" if self.state in GOOD else "open" if self.state in OPEN else "fail"

    def failures(self) -> list[dict]:
        return [check for check in self.answer.get("checks", []) if not check["ok"]]

    def findings(self) -> list[str]:
        """What is wrong, most telling first, one sentence each."""
        if not self.failed:
            return []
        diagnosis = self.answer.get("diagnosis", {}).get("text", "")
        found = [diagnosis] if diagnosis else []
        explained, of_kind = set(), Counter()
        for hazard in self.answer.get("hazards", []):
            of_kind[hazard["kind"]] += 1
            if of_kind[hazard["kind"]] > MOST_OF_A_KIND:
                continue
            words = explanation(hazard)
            found.append(f"{hazard['kind']} at {place(hazard)}: {hazard['message']}." + (f" {words}" if words not in explained else ""))
            explained.add(words)
        found += [f"{kind}: and {count - MOST_OF_A_KIND} more" for kind, count in of_kind.items() if count > MOST_OF_A_KIND]
        told = [f"{check['name']}: {check.get('message', 'failed')}" for check in self.failures()]
        # What the line above and the diagnosis say already is not said again.
        told = [each for each in told if each != self.summary() and not diagnosis.startswith(f"{each}.")]
        found += told[:MOST_CHECKS]
        if len(told) > MOST_CHECKS:
            found.append(f"and {len(told) - MOST_CHECKS} more")
        return found

    def sections(self) -> list[str]:
        """Where the handouts tell of the hazards found: docs/handouts/00_start.md#races."""
        return list(dict.fromkeys(hazard["read"] for hazard in self.answer.get("hazards", [])))

    def summary(self) -> str:
        if self.state in GOOD:
            return f"{len(self.answer.get('checks', []))} checks"
        reason = self.answer.get("reason", "")
        if self.state == "todo" and self.answer.get("line"):
            return f"{place(self.answer)}: {reason}"
        return reason


def explanation(hazard: dict) -> str:
    """Why it is one, and what to do."""
    return " ".join(hazard[key] for key in ("why", "advice") if hazard.get(key))


def link(section: str) -> str:
    """To a section of a handout, from the folder that the notebook runs in; docs/conf.py makes it one between the site's pages.

    JupyterLab knows a heading by its words with hyphens for spaces, capitals and all."""
    page, _, anchor = section.partition("#")
    path = ROOT / page
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE) if path.exists() else []
    words = next((each for each in (heading.replace(" ", "-") for heading in headings) if each.lower() == anchor), anchor)
    return f'<a href="{escape(os.path.relpath(path))}#{escape(words)}">{escape(section)}</a>'


def place(entry: dict) -> str:
    return f"{short(entry.get('file', ''))}:{entry['line']}" if entry.get("line") else "no line known"


def short(file: str) -> str:
    """labs/02_tree/tree.cu, however the compiler was told of the file."""
    return "/".join(file.split("/")[-3:])


class Verdict:
    def __init__(self, answer: dict):
        self.lab = answer["lab"]
        self.device = answer.get("device", {}).get("name", "")
        self.rungs = [Rung(rung["name"], rung) for rung in answer["rungs"]]

    @property
    def failed(self) -> list[Rung]:
        return [rung for rung in self.rungs if rung.failed]

    def states(self) -> dict[str, str]:
        return {rung.name: rung.state for rung in self.rungs}

    def raise_if_failed(self) -> None:
        if self.failed:
            raise CheckFailed("; ".join(f"{rung.name} is {rung.state}" for rung in self.failed))

    def __str__(self) -> str:
        lines = []
        for rung in self.rungs:
            lines.append(f"{rung.state:<14} {rung.name}  {rung.summary()}".rstrip())
            lines += [f"    {finding}" for finding in rung.findings()]
            lines += [f"    Read more: {section}" for section in rung.sections()]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/plain": str(self), "text/html": self.html()}

    def html(self) -> str:
        parts = [STYLE, '<div class="warpfold" role="status">']
        for rung in self.rungs:
            parts.append(f'<div><span class="state {rung.kind}">{escape(rung.state)}</span> <code>{escape(rung.name)}</code>'
                         f' <span class="faint">{escape(rung.summary())}</span></div>')  # fmt: skip
            if findings := rung.findings():
                parts.append("<ul>" + "".join(f"<li>{escape(finding)}</li>" for finding in findings) + "</ul>")
            if sections := rung.sections():
                parts.append("<div>Read more: " + ", ".join(map(link, sections)) + "</div>")
        if self.device:
            parts.append(f'<div class="faint">on: {escape(self.device)}</div>')
        return "".join([*parts, "</div>"])
