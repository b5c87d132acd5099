"""Python, shell, Markdown, the description of the continuous integration, and the titles of commits."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..paths import ROOT
from ..process import output
from .check import Check, lines
from .clang import tool

PYTHON = re.compile(r"(\.py|^kit)$")
SHELL = re.compile(r"(\.sh|^\.ci/run)$")
PAGES = re.compile(r"\.md$")
WORKFLOWS = re.compile(r"^\.github/workflows/.*\.ya?ml$")
LONGEST_TITLE = 72  # git log shows as much in 80 columns

FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2`*\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|<(?:img|a)\b[^>]*\b(?:src|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
LABEL = re.compile(r"^\(([\w-]+)\)=$|\bid=\"([^\"]+)\"", re.MULTILINE)


def python_layout(files: list[Path], fix: bool) -> list[str]:
    result = output([tool("ruff"), "format", "--quiet", *([] if fix else ["--diff"]), *files], cwd=ROOT)
    names = re.findall(r"^--- (.+)$", result.stdout, re.MULTILINE)
    return [f"{name}: not formatted as ruff formats it" for name in names] or (lines(result.stdout) if result.returncode else [])


def python_habits(files: list[Path], fix: bool) -> list[str]:
    how = ["--fix"] if fix else []
    result = output([tool("ruff"), "check", "--quiet", "--output-format=concise", *how, *files], cwd=ROOT)
    return lines(result.stdout) if result.returncode else []


def shell(files: list[Path], fix: bool) -> list[str]:
    result = output([tool("shellcheck"), "--format=gcc", *files], cwd=ROOT)
    return lines(result.stdout) if result.returncode else []


def workflows(files: list[Path], fix: bool) -> list[str]:
    """Checks against the schema that comes with the linter, so it needs no network."""
    result = output([tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *files], cwd=ROOT)
    return lines(result.stdout) if result.returncode else []


def prose(text: str) -> str:
    """A page without its code, line for line, so that line numbers stay the same."""
    blank = lambda found: re.sub(r"[^\n]", " ", found[0])  # noqa: E731 (used twice, right here)
    return CODE.sub(blank, FENCE.sub(blank, text))


def anchors(page: Path) -> set[str]:
    """What a link may name after #: headings as GitHub, Sphinx and JupyterLab spell them, all in lower case."""
    text = FENCE.sub("", page.read_text())
    found = {name.lower() for pair in LABEL.findall(text) for name in pair if name}
    for heading in HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-"))
        found.add(plain.strip().replace(" ", "-"))  # JupyterLab keeps the punctuation
    return found


def links(files: list[Path], fix: bool) -> list[str]:
    problems = []
    for page in files:
        text = prose(page.read_text())
        for match in LINK.finditer(text):
            target = match[1] or match[2]
            if problem := wrong(page, target):
                problems.append(f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {target}: {problem}")
    return problems


def wrong(page: Path, target: str) -> str:
    """Links that leave the clone are not followed: no network, and no test that fails because of somebody else."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return ""
    place = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not place.exists():
        return "there is no such file"
    if parts.fragment and place.suffix == ".md" and unquote(parts.fragment).lower() not in anchors(place):
        return "the page has no such heading"
    return ""


def commits(_files: list[Path], _fix: bool) -> list[str]:
    """Of the commits that upstream does not have, or, without one, of the newest; a tool writes the titles of merges."""
    ahead = output(["git", "-C", ROOT, "log", "--no-merges", "--format=%h %s", "@{upstream}.."])
    log = ahead if ahead.returncode == 0 else output(["git", "-C", ROOT, "log", "--no-merges", "--format=%h %s", "-1"])
    titles = [line.split(" ", 1) for line in log.stdout.splitlines()]
    return [f"{name}: {title}: {len(title)} characters" for name, title in titles if len(title) > LONGEST_TITLE]


PYTHON_LAYOUT = Check("python-format", "Python is formatted as ruff formats it", PYTHON, python_layout, mends=True)
PYTHON_HABITS = Check("python", "ruff finds nothing in the Python", PYTHON, python_habits, mends=True)
SHELL_HABITS = Check("shell", "shellcheck finds nothing in the shell scripts", SHELL, shell)
LINKS = Check("links", "links in Markdown pages lead to files and headings that exist", PAGES, links)
WORKFLOW = Check("workflows", "the workflows follow GitHub's schema", WORKFLOWS, workflows)
COMMITS = Check("commits", "the first line of each new commit has at most 72 characters", None, commits)
