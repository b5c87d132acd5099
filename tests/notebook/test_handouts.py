"""Runs every handout through nbclient, in a copy of its folder: on the stubs as they stand, and on the solutions."""

import os
import re
import shutil
import sys
import tempfile
import time
from functools import cache
from html import unescape
from pathlib import Path

import support

support.use_python_with("nbclient", "jupytext", "matplotlib", "ipykernel")
sys.path.insert(0, str(support.ROOT / "docs"))

import jupytext  # noqa: E402
import open_rungs  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from nbclient.exceptions import CellExecutionError  # noqa: E402
from warpfold import regions  # noqa: E402

HANDOUTS = support.ROOT / "docs" / "handouts"
LONGEST = 1200  # seconds for all of them, to end what hangs
NOT_BUILT = sys.argv[3:]  # labs, where this machine lacks what they need
LEAST_TELLING = 20  # letters of a line of code


def outputs(notebook) -> str:
    told = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            told.append(output.get("text", "") or "".join(output.get("data", {}).get("text/plain", "")))
            told.append(" ".join(output.get("traceback", [])))
    return "\n".join(told)


def execute(path: Path):
    notebook = jupytext.read(path)
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    return notebook


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


def gives_nothing_away(notebook) -> list[str]:
    """No cell on the stubs shows a line of a solved region, unless the stubs or the handouts' hints have it too."""
    told = outputs(notebook) + "".join(unescape(unescape(re.sub(r"<[^>]*>", "", page))) for page in pages(notebook))
    return [f"shows the solution's line: {line}" for line in solved_lines() if line in told]


@cache
def solved_lines() -> list[str]:
    known = "".join(path.read_text() for path in [*(support.ROOT / "labs").glob("*/*.c[ul]"), *HANDOUTS.glob("*.md")])
    found = set()
    for path in (support.ROOT / "solutions").glob("*/*.c[ul]"):
        text = path.read_text()
        for region in regions.find(text, path.name):
            found |= {line.strip() for line in regions.body(text, region).splitlines()}
    return sorted(line for line in found if len(line) >= LEAST_TELLING and line not in known)


def judge(name: str, told: str, solved: bool) -> list[str]:
    if name.removesuffix(".md") in NOT_BUILT:
        return [] if "is not part of this build" in told else ["its lab is not built here, which its output does not say"]
    problems = []
    if solved and "CheckFailed" in told:
        problems.append("a rung of the solutions does not pass")
    if solved and ("still to be filled" in told or "\ntodo " in told):
        problems.append("a solution is still to be filled")
    if "\n%%lab " in (HANDOUTS / name).read_text() and ("\npass " if solved else "todo ") not in "\n" + told and "08_hazards" not in name:
        problems.append(f"its output shows no rung as {'pass' if solved else 'todo'}")
    if "Traceback (most recent call last)" in told:
        problems.append("an error shows the package's inside")
    return problems


def stale_counts() -> list[str]:
    """The counts that an edition without solutions shows in the first handout are those of the solved lab."""
    import warpfold
    from warpfold import own_rungs

    counted = warpfold.open("01_naive_atomic").solved.counters("naive_atomic", n=1000)["naive_atomic"]
    shipped = own_rungs.counts_of("01_naive_atomic", "naive_atomic", 1000)
    return [] if shipped == counted else [f"docs/results/first_counts.json has {shipped}, but the solved lab counts {counted}"]


def main() -> int:
    which = sys.argv[1]
    solved = which == "solutions"
    os.environ |= {"PYTHONPATH": str(support.PACKAGE), "WARPFOLD_SOLVED": "1" if solved else "0", "WARPFOLD_BUILD": sys.argv[2]}
    started, failed, revealing = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(shutil.copytree(HANDOUTS, Path(folder) / "handouts"))
        for path in sorted(copies.glob("*.md")):
            try:
                notebook = execute(path)
                problems = judge(path.name, outputs(notebook), solved)
                given_away = gives_nothing_away(notebook)
                revealing += len(given_away)
                if not solved:
                    problems += said_once(notebook) + given_away
            except CellExecutionError as error:
                problems = [str(error)]
            failed += bool(problems)
            print(f"{'FAILED' if problems else 'ok':<7}{path.name} on the {which}", *problems, sep="\n    ", flush=True)
    if solved and revealing < 50:
        print(f"FAILED: of the solutions' lines, {revealing} were seen, so on the stubs none would be")
        failed += 1
    if solved and (problems := stale_counts()):
        print(*(f"FAILED: {problem}" for problem in problems), sep="\n")
        failed += 1
    took = time.monotonic() - started
    print(f"{took:.0f} s for all")
    if took > LONGEST:
        print(f"FAILED: more than {LONGEST} s")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
