"""`kit notebook`: JupyterLab on the student's own copies of the handouts."""

import os
from pathlib import Path

from .. import handouts
from ..console import say
from ..handouts import copies, notebooks
from ..paths import ROOT
from ..process import relative
from ..programs import folder, labs
from ..setup import environment

PURPOSE = "open the handouts in JupyterLab"
GROUP = "learn"
ORDER = 100


def arguments(parser) -> None:
    parser.add_argument(
        "handout", nargs="?", default="00_start", metavar="HANDOUT", help="which one to open, such as 04_shuffle (default: 00_start)"
    )
    parser.add_argument("--no-browser", action="store_true", help="only start the server and print its address")
    parser.add_argument("--port", type=int, metavar="P", help="the server's port")
    parser.add_argument("--ipynb", type=Path, metavar="FOLDER", help="write the handouts as .ipynb files and start nothing")


def run(options) -> int:
    chosen = handouts.named(options.handout)
    environment.install("handouts", "the handouts become notebooks")
    if options.ipynb:
        return notebooks.export(options.ipynb)
    environment.install("notebook", "the handouts open in JupyterLab")
    build = folder.prepare()
    say("building the labs now, so that the first cell need not")
    for solved in (False, True):  # a handout begins with a picture of the solved lab
        labs.compile(build, labs.find(build, solved=solved))
    own = copies.of(chosen)
    say(f"opening {relative(own)}: what you write is saved there, and git ignores it")
    command = [environment.python(), "-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}", *notebooks.ARGUMENTS]
    command += [f"--LabApp.default_url=/lab/tree/{own.relative_to(ROOT)}"]
    command += ["--no-browser"] if options.no_browser else []
    command += [f"--port={options.port}"] if options.port else []
    if os.geteuid() == 0:
        command.append("--allow-root")
    say("starting JupyterLab; press Ctrl-C to end it")
    os.chdir(ROOT)
    os.execve(command[0], command, notebooks.surroundings())  # so that what ends the kit ends the server
