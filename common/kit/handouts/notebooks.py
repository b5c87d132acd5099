"""The handouts as notebooks: what JupyterLab needs to open them, and `.ipynb` files for others."""

import json
import os
import re
from pathlib import Path

from ..console import say, waiting
from ..paths import OWN
from ..process import logged, relative
from ..setup import environment
from . import PACKAGE, all_of_them, before

SETTINGS = OWN / "jupyter"
# In one process: jupytext's own command takes seconds to start, and only one file at a time with --output.
CONVERT = """
import sys, jupytext
from pathlib import Path
for handout in map(Path, sys.argv[2:]):
    jupytext.write(jupytext.read(handout), Path(sys.argv[1], handout.stem + ".ipynb"))
"""
# What JupyterLab is started with: cells that begin with %%lab are C++ in it.
ARGUMENTS = [f"--LabApp.extra_labextensions_path={PACKAGE / 'labextensions'}"]
DEFAULTS = {
    # A handout opens as a notebook.
    "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Jupytext Notebook"}},
    # A compiler's message names a line of the cell.
    "@jupyterlab/notebook-extension:tracker": {"codeCellConfig": {"lineNumbers": True}},
    # No question about news appears before the first handout.
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}


def surroundings() -> dict[str, str]:
    """Lets the kernel find the package, and uses our JupyterLab settings if the user has none."""
    overrides = SETTINGS / "labconfig" / "default_setting_overrides.json"
    overrides.parent.mkdir(parents=True, exist_ok=True)
    overrides.write_text(json.dumps(DEFAULTS))
    return os.environ | {"PYTHONPATH": before("PYTHONPATH", PACKAGE), "JUPYTER_CONFIG_PATH": before("JUPYTER_CONFIG_PATH", SETTINGS)}


def export(folder: Path) -> int:
    """Notebooks for Colab, VS Code and plain Jupyter. Links from one handout to another lead to the files that are written."""
    handouts = all_of_them()
    folder.mkdir(parents=True, exist_ok=True)
    with waiting("writing the notebooks"):
        logged([environment.python(), "-c", CONVERT, folder.resolve(), *handouts], "jupytext.txt", "writing the notebooks")
    for path in handouts:
        target = folder.resolve() / f"{path.stem}.ipynb"
        target.write_text(re.sub(r"\]\((\d\d_\w+)\.md", r"](\1.ipynb", target.read_text()))
        say(f"wrote {relative(target)}")
    return 0
