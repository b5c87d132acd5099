"""Runs every handout through nbclient, in a copy of its folder: on the stubs as they stand, and on the solutions."""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import support

support.use_python_with("nbclient", "jupytext", "matplotlib", "ipykernel")

import jupytext  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from nbclient.exceptions import CellExecutionError  # noqa: E402

HANDOUTS = support.ROOT / "docs" / "handouts"
LONGEST = 300  # seconds for all of them


def outputs(notebook) -> str:
    told = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            told.append(output.get("text", "") or "".join(output.get("data", {}).get("text/plain", "")))
            told.append(" ".join(output.get("traceback", [])))
    return "\n".join(told)


def execute(path: Path) -> str:
    notebook = jupytext.read(path)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    return outputs(notebook)


def judge(name: str, told: str, solved: bool) -> list[str]:
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
    started, failed = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(shutil.copytree(HANDOUTS, Path(folder) / "handouts"))
        for path in sorted(copies.glob("*.md")):
            try:
                problems = judge(path.name, execute(path), solved)
            except CellExecutionError as error:
                problems = [str(error)]
            failed += bool(problems)
            print(f"{'FAILED' if problems else 'ok':<7}{path.name} on the {which}", *problems, sep="\n    ", flush=True)
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
