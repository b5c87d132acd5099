"""`kit notebook`: JupyterLab on the handouts."""

import json
import os
import re
from pathlib import Path

from . import environment, labs, toolchain
from .build import Build
from .console import say
from .errors import USAGE, KitError
from .paths import OWN, ROOT
from .process import logged, relative

HANDOUTS = ROOT / "docs" / "handouts"
PACKAGE = ROOT / "common" / "notebook"
SETTINGS = OWN / "jupyter"
# In one process: jupytext's own command takes seconds to start, and only one file at a time with --output.
CONVERT = """
import sys, jupytext
from pathlib import Path
for handout in map(Path, sys.argv[2:]):
    jupytext.write(jupytext.read(handout), Path(sys.argv[1], handout.stem + ".ipynb"))
"""
DEFAULTS = {
    # A handout opens as a notebook.
    "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Jupytext Notebook"}},
    # Nothing asks about news in front of the first handout.
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}


def arguments(parser) -> None:
    parser.add_argument("handout", nargs="?", default="00_start", metavar="HANDOUT", help="which one to open, as 04_shuffle (00_start)")
    parser.add_argument("--no-browser", action="store_true", help="only start the server, and print its address")
    parser.add_argument("--port", type=int, metavar="P", help="the server's port")
    parser.add_argument("--ipynb", type=Path, metavar="FOLDER", help="write the handouts as .ipynb files, and start nothing")


def run(options) -> int:
    chosen = handout(options.handout)
    if options.ipynb and not options.ipynb.is_dir():
        raise KitError(f"--ipynb {options.ipynb}: there is no such folder", code=USAGE)
    environment.install("handouts", "the handouts become notebooks")
    if options.ipynb:
        return export(options.ipynb)
    environment.install("notebook", "the handouts open in JupyterLab")
    build = Build(toolchain.prepare())
    say("building the labs, so that the first cell need not")
    for solved in (False, True):  # a handout begins with a picture of the solved lab
        labs.compile(build, labs.find(build, solved=solved))
    command = [environment.python(), "-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}"]
    command += [f"--LabApp.default_url=/lab/tree/{chosen.relative_to(ROOT)}"]
    command += ["--no-browser"] if options.no_browser else []
    command += [f"--port={options.port}"] if options.port else []
    if os.geteuid() == 0:
        command.append("--allow-root")
    say("starting JupyterLab; Ctrl-C ends it")
    os.chdir(ROOT)
    os.execve(command[0], command, surroundings())  # so that what ends the kit ends the server


def handout(name: str) -> Path:
    known = sorted(HANDOUTS.glob("*.md"))
    found = [path for path in known if path.stem == name] or [path for path in known if name in path.stem]
    if len(found) != 1:
        what = "could be several handouts" if found else "no such handout"
        raise KitError(f"{name}: {what}", "There are: " + ", ".join(path.stem for path in found or known), USAGE)
    return found[0]


def surroundings() -> dict[str, str]:
    """The kernel finds the package; JupyterLab's settings are ours where the user has none of their own."""
    overrides = SETTINGS / "labconfig" / "default_setting_overrides.json"
    overrides.parent.mkdir(parents=True, exist_ok=True)
    overrides.write_text(json.dumps(DEFAULTS))
    return os.environ | {"PYTHONPATH": before("PYTHONPATH", PACKAGE), "JUPYTER_CONFIG_PATH": before("JUPYTER_CONFIG_PATH", SETTINGS)}


def before(variable: str, path: Path) -> str:
    rest = os.environ.get(variable, "")
    return f"{path}:{rest}" if rest else str(path)


def export(folder: Path) -> int:
    """For Colab, VS Code and a plain Jupyter. Links from one handout to another lead to the files that are written."""
    handouts = sorted(HANDOUTS.glob("*.md"))
    logged([environment.python(), "-c", CONVERT, folder.resolve(), *handouts], "jupytext.txt", "writing the notebooks")
    for path in handouts:
        target = folder.resolve() / f"{path.stem}.ipynb"
        target.write_text(re.sub(r"\]\((\d\d_\w+)\.md", r"](\1.ipynb", target.read_text()))
        say(f"wrote {relative(target)}")
    return 0
