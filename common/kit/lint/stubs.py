"""A lab is written once: its file in labs/ follows from the one in solutions/.

Between `// BEGIN rung` and `// END rung`, a solution holds what the student reads, as comments, and then the code. The stub has the
comments alone. Where a stub holds code too, because it is handed out broken, each of its lines stands in the solution after `//- `."""

import re
from pathlib import Path

from ..paths import ROOT
from ..process import output
from .check import Check

MARKER = re.compile(r"^[ \t]*// (BEGIN|END) \w+[ \t]*$")
HANDED_OUT = re.compile(r"^([ \t]*)//-(?: (.*))?$")


def regions(text: str) -> list[tuple[bool, list[str]]]:
    """The lines outside and inside the regions in turn, markers outside: (is a region, lines)."""
    parts: list[tuple[bool, list[str]]] = [(False, [])]
    for line in text.splitlines(keepends=True):
        marker = MARKER.match(line)
        if marker and marker[1] == "END":
            parts.append((False, []))
        parts[-1][1].append(line)
        if marker and marker[1] == "BEGIN":
            parts.append((True, []))
    return parts


def is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("//")


def handed_out(region: list[str]) -> list[str]:
    """What a solution's region tells the student: the comments at its top."""
    comments = region[: next((number for number, line in enumerate(region) if is_code(line)), len(region))]
    marked = [HANDED_OUT.match(line) for line in comments]
    return [f"{mark[1]}{mark[2]}\n" if mark[2] else "\n" for mark in marked if mark] if any(marked) else comments


def stub_of(solution: str) -> str:
    return "".join("".join(handed_out(lines) if inside else lines) for inside, lines in regions(solution))


def with_work_of(theirs: str, stub: str) -> str:
    """The stub with the regions that somebody has filled in, if there are as many."""
    parts, others = regions(stub), regions(theirs)
    if len(parts) != len(others):
        return stub
    keep = lambda part, other: other if part[0] and any(map(is_code, other[1])) else part  # noqa: E731
    return "".join("".join(keep(part, other)[1]) for part, other in zip(parts, others, strict=True))


def check(files: list[Path], fix: bool) -> list[str]:
    """In a file that git calls changed, somebody works, so filled regions stay as they are."""
    changed = set(output(["git", "-C", ROOT, "diff", "--name-only", "HEAD", "--", "labs"]).stdout.split("\n"))
    problems = []
    for name in sorted({Path(*path.relative_to(ROOT).parts[1:]) for path in files}):
        solution, lab = ROOT / "solutions" / name, ROOT / "labs" / name
        if not solution.exists():
            continue
        now, stub = lab.read_text() if lab.exists() else "", stub_of(solution.read_text())
        if f"labs/{name}" in changed:
            stub = with_work_of(now, stub)
        if now == stub:
            continue
        if fix:
            lab.parent.mkdir(parents=True, exist_ok=True)
            lab.write_text(stub)
        else:
            problems.append(f"labs/{name}: not what follows from solutions/{name}")
    return problems


STUBS = Check(
    "stubs", "each lab's file is its solution without the code", re.compile(r"^(labs|solutions)/.*\.(cu|cl|cpp)$"), check, mends=True
)
