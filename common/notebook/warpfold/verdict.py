"""What a check found, as text and as HTML, and the errors that end a cell."""

import os
import re
from collections import Counter
from dataclasses import dataclass
from html import escape
from pathlib import Path

from .home import ROOT
from .theme import themed

GOOD, OPEN = ("pass",), ("todo", "skip")
MOST_OF_A_KIND = 3  # hazards shown: others often follow from the first
EXPLAINED = (("in", "launch"), ("why", "why"), ("try", "advice"), ("read", "read"))
MOST_PRINTED = 40  # lines
MOST_CHECKS = 3  # failed checks shown of one rung: the first says most

STYLE = (
    "<style>\n.warpfold { font-size: 0.95em; line-height: 1.45; margin: 0.4em 0; }\n"
    ".warpfold .state { display: inline-block; min-width: 7em; font-weight: 700; }\n"
    ".warpfold ul { margin: 0.2em 0 0.4em 1.2em; padding: 0; } .warpfold .faint { opacity: 0.8; }\n"
    ".warpfold li { margin: 0.3em 0; } .warpfold .line { margin: 0.25em 0; padding: 0.1em 0.6em; border-left: 3px solid currentColor; }\n"
    ".warpfold .line code { display: block; white-space: pre-wrap; overflow-wrap: break-word; background: none; padding: 0; }\n"
    ".warpfold dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1em 0.8em; margin: 0.3em 0; }\n"
    ".warpfold dt { font-weight: 700; margin: 0; } .warpfold dd { margin: 0; }\n"
    ".warpfold pre { white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere; margin: 0.3em 0; }\n"
    + themed(".warpfold .pass", "color: #1a7f37", "color: #57d06f")
    + themed(".warpfold .open", "color: #7a6200", "color: #dfc84a")
    + themed(".warpfold .fail", "color: #b3261e", "color: #ff8a80")
    + "</style>"
)


class LabError(Exception):
    """Ends the cell with its message alone: the traceback would only show the inside of this package."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class CheckFailed(LabError):
    """A rung that was checked does not pass."""


class Interrupted(LabError):
    """The reader stopped the cell."""


class BuildFailed(LabError):
    """The compiler refused the file. `cell`: how the cell begins that holds the mistake, as "%%lab first_add 2", if that is known."""

    def __init__(self, said: str, cell: str = ""):
        super().__init__(f"The mistake is in the cell {cell}.\n{said}" if cell else said)
        self.said, self.cell = said, cell


@dataclass(frozen=True)
class Cell:
    """Lines of a lab's file that a cell has just written."""

    file: str  # its name
    first: int  # line of the file that the cell's code begins at
    count: int
    first_in_cell: int  # and where that stands in the cell

    def line_of(self, line: int) -> int | None:
        """The cell's line for one of the file."""
        return line - self.first + self.first_in_cell if self.first <= line < self.first + self.count else None

    def named_in(self, said: str) -> str:
        """A message, with the line of the cell beside that of the file."""

        def with_line(found: re.Match) -> str:
            line = self.line_of(int(found[2]))
            return f"{found[0]}{f' [line {line} of the cell]' if line else ''}"

        return re.sub(rf"({re.escape(self.file)})[(:](\d+)(?:\)|:\d+)?", with_line, said)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: a sentence, and for a hazard the lines of source, why, what to try, where to read."""

    text: str
    lines: tuple[tuple[str, str], ...] = ()  # place and source
    more: tuple[tuple[str, str], ...] = ()  # "in", "why", "try", "read"

    def __str__(self) -> str:
        lines = [self.text, *(f"    {place}: {source}" for place, source in self.lines)]
        return "\n".join([*lines, *(f"    {word + ':':<5} {text}" for word, text in self.more)])


@dataclass(frozen=True)
class Rung:
    name: str
    answer: dict
    cell: Cell | None = None

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

    def findings(self) -> list[Finding]:
        """What is wrong, most telling first."""
        if not self.failed:
            return []
        diagnosis = self.in_cell_lines(self.answer.get("diagnosis", {}).get("text", ""))
        found = [Finding(diagnosis)] if diagnosis else []
        explained, of_kind = set(), Counter()
        for hazard in self.answer.get("hazards", []):
            of_kind[hazard["kind"]] += 1
            if of_kind[hazard["kind"]] > MOST_OF_A_KIND:
                continue
            more = tuple((word, hazard[key]) for word, key in EXPLAINED if hazard.get(key))
            found.append(
                Finding(
                    f"{hazard['kind']}: {self.in_cell_lines(hazard['message'])}.",
                    self.lines_of(hazard),
                    more if more not in explained else (),
                )
            )
            explained.add(more)
        found += [Finding(f"{kind}: and {count - MOST_OF_A_KIND} more") for kind, count in of_kind.items() if count > MOST_OF_A_KIND]
        failed = [self.in_cell_lines(f"{check['name']}: {check.get('message', 'failed')}") for check in self.failures()]
        # What the line above and the diagnosis already say is not repeated.
        failed = [each for each in failed if each != self.summary() and not diagnosis.startswith(f"{each}.")]
        found += map(Finding, failed[:MOST_CHECKS])
        if len(failed) > MOST_CHECKS:
            found.append(Finding(f"and {len(failed) - MOST_CHECKS} more"))
        return found

    def in_cell_lines(self, text: str) -> str:
        return self.cell.named_in(text) if self.cell else text

    def lines_of(self, hazard: dict) -> tuple[tuple[str, str], ...]:
        """Both lines that it takes to go wrong, with their source."""
        named = [(hazard.get("file"), hazard.get("line")), (hazard.get("other_file"), hazard.get("other_line"))]
        return tuple((self.place(file, line), source_line(file, line)) for file, line in dict.fromkeys(named) if file and line)

    def place(self, file: str, line: int) -> str:
        """labs/02_tree/tree.cu:12, and which line of the cell that is."""
        in_cell = self.cell.line_of(line) if self.cell and Path(file).name == self.cell.file else None
        return f"{short(file)}:{line}{f' (line {in_cell} of the cell)' if in_cell else ''}"

    def sections(self) -> list[str]:
        """Where the handouts tell of the hazards found: docs/handouts/00_start.md#races."""
        return list(dict.fromkeys(hazard["read"] for hazard in self.answer.get("hazards", [])))

    def summary(self) -> str:
        if self.state in GOOD:
            return f"{len(self.answer.get('checks', []))} checks"
        reason = self.in_cell_lines(self.answer.get("reason", ""))
        if self.state == "todo" and self.answer.get("line"):
            return place(self.answer)  # where it says what to write
        return reason


def explanation(hazard: dict) -> str:
    """Why it is one, and what to do."""
    return " ".join(hazard[key] for key in ("why", "advice") if hazard.get(key))


def link(section: str) -> str:
    """To a section of a handout, from the folder that the notebook runs in; docs/conf.py makes it one between the site's pages.

    JupyterLab knows a heading by its words with hyphens for spaces, capitals and all."""
    page, _, anchor = section.partition("#")
    path = ROOT / page
    if not path.exists():  # an edition for some labs only
        return escape(section)
    own = ROOT / "docs" / "work" / path.name  # the student's copy, where this notebook is one
    if own.exists() and Path.cwd() == own.parent:
        path = own
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    words = next((each for each in (heading.replace(" ", "-") for heading in headings) if each.lower() == anchor), anchor)
    return f'<a href="{escape(os.path.relpath(path))}#{escape(words)}">{escape(section)}</a>'


def source_line(file: str, line: int) -> str:
    try:
        return Path(file if Path(file).is_absolute() else ROOT / file).read_text(errors="replace").splitlines()[line - 1].strip()
    except (OSError, IndexError):
        return ""


def place(entry: dict) -> str:
    return f"{short(entry.get('file', ''))}:{entry['line']}" if entry.get("line") else "no line known"


def short(file: str) -> str:
    """labs/02_tree/tree.cu, however the compiler was given the file."""
    return "/".join(file.split("/")[-3:])


def html_of(finding: Finding) -> str:
    from .code import coloured

    parts = [escape(finding.text)]
    for place_of_line, source in finding.lines:
        parts.append(
            f'<div class="line"><span class="faint">{escape(place_of_line)}</span><code class="warpfold-code">{coloured(source)[0]}</code></div>'
        )
    if finding.more:
        rows = "".join(f"<dt>{word}</dt><dd>{link(text) if word == 'read' else escape(text)}</dd>" for word, text in finding.more)
        parts.append(f"<dl>{rows}</dl>")
    return "".join(parts)


class Verdict:
    def __init__(self, answer: dict, cell: Cell | None = None):
        self.lab = answer["lab"]
        self.device = answer.get("device", {}).get("name", "")
        self.rungs = [Rung(rung["name"], rung, cell) for rung in answer["rungs"]]
        self.printed: list[str] = answer.get("printed", [])  # by printf in kernels
        self.warnings: str = answer.get("warnings", "")  # the compiler's

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
            lines += [f"    {line}" for finding in rung.findings() for line in str(finding).splitlines()]
        if self.warnings:
            lines += ["The compiler warns:", *(f"    {line}" for line in self.warnings.splitlines())]
        if self.printed:
            lines += ["Printed by the kernels:", *(f"    {line}" for line in self.shown_prints())]
        return "\n".join(lines)

    def shown_prints(self) -> list[str]:
        more = len(self.printed) - MOST_PRINTED
        return [*self.printed[:MOST_PRINTED], *([f"(and {more} more lines)"] if more > 0 else [])]

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/plain": str(self), "text/html": self.html()}

    def html(self) -> str:
        from .code import STYLE as CODE_STYLE

        parts = [STYLE, CODE_STYLE, '<div class="warpfold" role="status">']
        for rung in self.rungs:
            still_open = f' data-open="{escape(rung.name)}"' if rung.kind == "open" else ""
            parts.append(f'<div{still_open}><span class="state {rung.kind}">{escape(rung.state)}</span> <code>{escape(rung.name)}</code>'
                         f' <span class="faint">{escape(rung.summary())}</span></div>')  # fmt: skip
            if findings := rung.findings():
                parts.append("<ul>" + "".join(f"<li>{html_of(finding)}</li>" for finding in findings) + "</ul>")
        for heading, text in [("The compiler warns:", self.warnings), ("Printed by the kernels:", "\n".join(self.shown_prints()))]:
            if text:
                parts.append(f"<div>{heading}</div><pre>{escape(text)}</pre>")
        if self.device:
            parts.append(f'<div class="faint device">on: {escape(self.device)}</div>')
        return "".join([*parts, "</div>"])
