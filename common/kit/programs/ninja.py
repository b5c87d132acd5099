"""Runs Ninja: shows its progress, and what the compiler said if it failed."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from ..child import bound
from ..errors import BUILD, KitError
from ..paths import LOGS, ROOT
from ..process import relative
from ..setup import plan
from . import advice, messages

STEP = re.compile(r"\[(\d+)/(\d+)\] ")
CLOCK_WENT_BACK = re.compile(r"perhaps system time is not set|Clock skew detected")  # Ninja's words for it, and Meson's
LAB_TARGET = re.compile(r"labs/(\d\d_\w+?)(_solution)?(?:\.p/.*)?$")
MOST_LINES = 30  # of the compiler's output


class BuildFailed(KitError):
    """A target that could not be built. `said`: the compiler's output, without Ninja's."""

    def __init__(self, talk: str):
        lines = talk.splitlines()
        start = next((i for i, line in enumerate(lines) if line.startswith("FAILED:")), max(0, len(lines) - 20))
        what = lines[start].removeprefix("FAILED:").strip() if lines else "nothing"
        kept = [line for line in lines[start + 2 :] if not line.startswith(("[", "ninja:", "FAILED:"))]
        said, source = messages.ordered("\n".join(kept)), lab_source(what)
        said = messages.of_lab(said) if source else said
        self.said = "\n".join(said.splitlines()[:MOST_LINES])
        help = advice.lines("\n".join(kept), source) if source else []
        text = "\n".join([f"could not build {relative(source) if source else what}", *help, self.said])
        super().__init__(text, f"The whole output: {relative(keep(talk))}", BUILD)


def lab_source(target: str) -> Path | None:
    """The file of the lab to which this program or object belongs."""
    found = LAB_TARGET.match(target)
    folder = ROOT / ("solutions" if found and found[2] else "labs") / (found[1] if found else "")
    return next((path for path in sorted(folder.glob("*")) if found and path.suffix in (".cu", ".cpp")), None)


def keep(talk: str) -> Path:
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "build.txt"
    log.write_text(talk)
    return log


def run(command: list[str], environment: dict[str, str], show: Callable[[int, int], None]) -> str:
    """`show` is called with the number of finished steps and the number of all steps. Returns the compiler's warnings about the labs."""
    # Jupyter asks every program for colours (CLICOLOR_FORCE), and a coloured FAILED: would not be recognised.
    environment = environment | {"NINJA_STATUS": "[%f/%t] ", "LC_ALL": "C.UTF-8", "CLICOLOR_FORCE": "0"}
    code, talk = followed(command, environment, show)
    if code != 0 and CLOCK_WENT_BACK.search("".join(talk)):
        out_of_the_future(command[:3], environment)
        code, talk = followed(command, environment, show)
    if code != 0:
        if any("No space left" in line for line in talk):
            raise KitError(*plan.disk_full("the build stopped"), BUILD)
        raise BuildFailed("".join(talk))
    return messages.warnings("".join(line for line in talk if not STEP.match(line)))


def followed(command: list[str], environment: dict[str, str], show: Callable[[int, int], None]) -> tuple[int, list[str]]:
    """The exit code and the lines of one run."""
    talk = []
    # Ninja ends its compilers when it is asked to end; with SIGKILL it could not.
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                          preexec_fn=bound(signal.SIGTERM)) as process:  # fmt: skip
        for line in process.stdout:
            talk.append(line)
            if step := STEP.match(line):
                show(int(step[1]), int(step[2]))
    return process.returncode, talk


def out_of_the_future(command: list[str], environment: dict[str, str]) -> None:
    """Dates the files from which Meson makes the build's own file back to now, if they were written by a clock that has been set back since:
    Meson refuses them, and Ninja would find its file older than them however often it is made anew. `command`: Ninja with its folder."""
    said = subprocess.run([*command, "-t", "query", "build.ninja"], text=True, capture_output=True, env=environment).stdout
    for line in said.partition("outputs:")[0].splitlines()[2:]:
        path = Path(command[2]) / line.strip().removeprefix("| ").removeprefix("|| ")
        if path.is_file() and path.stat().st_mtime > time.time():
            os.utime(path)
