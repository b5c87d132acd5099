"""A handout that JupyterLab opens and saves without a change keeps its bytes: nothing to commit, nothing in a pull's way.
And `./kit notebook --ipynb` writes all of them, with links from one to another."""

import difflib
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import support

support.use_python_with("jupytext", "jupyter_server")

from jupyter_server.services.contents.largefilemanager import LargeFileManager  # noqa: E402
from jupytext.sync_contentsmanager import build_sync_jupytext_contents_manager_class  # noqa: E402
from kit.handouts import notebooks  # noqa: E402
from kit.setup import environment  # noqa: E402

HANDOUTS = support.ROOT / "docs" / "handouts"
ContentsManager = build_sync_jupytext_contents_manager_class(LargeFileManager)
HOW = "write it as JupyterLab does: open it there (./kit notebook), save, and commit what that changes"


def use(notebook) -> None:
    """What a session leaves in a notebook: the running kernel's names, outputs, the state of cells."""
    notebook.metadata.kernelspec = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    notebook.metadata.language_info = {"name": "python", "version": "3.99", "pygments_lexer": "ipython3", "file_extension": ".py"}
    for cell in notebook.cells:
        cell.metadata |= {"trusted": True, "collapsed": False, "slideshow": {"slide_type": ""}}
        if cell.cell_type == "code":
            cell.metadata["execution"] = {"iopub.status.busy": "2026-01-01T00:00:00Z"}
            cell.execution_count = 7
            cell.outputs = [{"output_type": "stream", "name": "stdout", "text": "kept out of the file"}]


def save(server: Path, handout: Path) -> None:
    """As a server that was started in that folder does."""
    manager = ContentsManager(root_dir=str(server))
    path = str(handout.relative_to(server))
    notebook = manager.get(path, type="notebook")["content"]
    use(notebook)
    manager.save({"type": "notebook", "format": "json", "content": notebook}, path)


def wrong_exports(folder: Path) -> list[str]:
    environment.python = lambda: sys.executable  # not the clone's own environment, which may not be there
    notebooks.export(folder)
    problems = [] if len(list(folder.iterdir())) == len(list(HANDOUTS.glob("*.md"))) else ["not every handout is written"]
    for path in folder.iterdir():
        text = "".join("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])
        links = re.findall(r"\]\((\d\d_[^)#]+)", text)
        problems += [f"{path.name} leads to {link}, which is not there" for link in links if not (folder / link).exists()]
    return problems


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        problems = wrong_exports(Path(folder) / "new" / "notebooks")
    print(*(f"FAILED: {problem}" for problem in problems), sep="\n")
    failed = len(problems)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        copies = Path(shutil.copytree(HANDOUTS, root / "docs" / "handouts"))
        for handout in sorted(copies.glob("*.md")):
            before = handout.read_text()
            for server in (root, copies):
                save(server, handout)
            after = handout.read_text()
            if after != before:
                failed += 1
                print(f"FAILED: docs/handouts/{handout.name} changes when it is saved; {HOW}")
                print(*difflib.unified_diff(before.splitlines(), after.splitlines(), "as it is", "as it is saved", lineterm=""), sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
