"""Runs every handout through nbclient, in a copy of its folder, on the stubs as they stand. On the solutions, the site runs them (test_site.py)."""

import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import support

support.use_python_with("nbclient", "jupytext", "matplotlib", "ipykernel")

import executed  # noqa: E402
import jupytext  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from nbclient.exceptions import CellExecutionError  # noqa: E402

NOT_BUILT = sys.argv[2:]  # labs, where this machine lacks what they need


def problems(path: Path) -> list[str]:
    notebook = jupytext.read(path)
    try:
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    except CellExecutionError as error:
        return [str(error)]
    return executed.problems(path.stem, notebook, solved=False, not_built=NOT_BUILT)


def main() -> int:
    os.environ |= {"PYTHONPATH": str(support.PACKAGE), "WARPFOLD_SOLVED": "0", "WARPFOLD_BUILD": sys.argv[1]}
    failed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = sorted(Path(shutil.copytree(executed.HANDOUTS, Path(folder) / "handouts")).glob("*.md"))
        for path, found in zip(paths, pool.map(problems, paths), strict=True):
            failed += bool(found)
            print(f"{'FAILED' if found else 'ok':<7}{path.name}", *found, sep="\n    ", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
