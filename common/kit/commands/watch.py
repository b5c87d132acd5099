"""`kit watch LAB`: checks the lab again whenever its file is saved."""

import subprocess
import time

from .. import options as shared
from ..building import folder, labs
from ..building.folder import Build
from ..console import paint, say
from ..errors import KitError
from ..process import relative

PURPOSE = "check a lab again whenever its file is saved"
ORDER = 40

POLL_SECONDS = 0.2  # polling one file costs nothing and works on every file system, network ones too


def arguments(parser) -> None:
    parser.add_argument("lab", metavar="LAB", help="the lab, as 04_shuffle or shuffle")
    shared.rungs(parser)
    parser.add_argument("--times", type=int, metavar="N", help="stop after N checks")


def run(options) -> int:
    if options.times is not None and options.times < 1:
        raise KitError(f"--times {options.times}: at least 1 is needed", code=2)
    build = folder.prepare()
    lab = labs.named(labs.find(build, solved=False), options.lab)
    words = [word for rung in options.rung for word in ("--rung", rung)]
    checks, status = 0, 0
    while options.times is None or checks < options.times:
        saved = stamp(lab)
        status = check(build, lab, words)
        checks += 1
        if options.times is not None and checks >= options.times:
            break
        say(f"waiting for {relative(lab.source)} to be saved; Ctrl-C ends")
        while stamp(lab) == saved:
            time.sleep(POLL_SECONDS)
    return status


def stamp(lab: labs.Lab):
    """Editors replace a file rather than write to it, so for a moment there may be none."""
    try:
        status = lab.source.stat()
        return status.st_mtime_ns, status.st_size
    except FileNotFoundError:
        return None


def check(build: Build, lab: labs.Lab, words: list[str]) -> int:
    started = time.monotonic()
    try:
        labs.compile(build, [lab])
    except KitError as error:
        print(paint(str(error), "red"), flush=True)
        return error.code
    status = subprocess.run([str(lab.program), *words]).returncode
    print(paint(f"{time.strftime('%H:%M:%S')}  {time.monotonic() - started:.1f} s", "grey"), flush=True)
    return status
