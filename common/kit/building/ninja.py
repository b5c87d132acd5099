"""Runs Ninja: shows its progress, and what the compiler said if it failed."""

import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from ..child import bound
from ..errors import BUILD, KitError
from ..paths import LOGS
from ..process import relative
from ..setup import plan
from . import messages

STEP = re.compile(r"\[(\d+)/(\d+)\] ")
MOST_LINES = 30  # of the compiler's output


class BuildFailed(KitError):
    """A target that could not be built. `said`: the compiler's output, without Ninja's."""

    def __init__(self, talk: str):
        lines = talk.splitlines()
        start = next((i for i, line in enumerate(lines) if line.startswith("FAILED:")), max(0, len(lines) - 20))
        what = lines[start].removeprefix("FAILED:").strip() if lines else "nothing"
        kept = [line for line in lines[start + 2 :] if not line.startswith(("[", "ninja:", "FAILED:"))]
        self.said = "\n".join(messages.ordered("\n".join(kept)).splitlines()[:MOST_LINES])
        super().__init__(f"could not build {what}\n{self.said}", f"The whole output: {relative(keep(talk))}", BUILD)


def keep(talk: str) -> Path:
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "build.txt"
    log.write_text(talk)
    return log


def run(command: list[str], environment: dict[str, str], show: Callable[[int, int], None]) -> str:
    """`show` is called with the number of finished steps and the number of all steps. Returns the compiler's warnings about the labs."""
    # Jupyter asks every program for colours (CLICOLOR_FORCE), and a coloured FAILED: would not be recognised.
    environment = environment | {"NINJA_STATUS": "[%f/%t] ", "LC_ALL": "C.UTF-8", "CLICOLOR_FORCE": "0"}
    talk = []
    # Ninja ends its compilers when it is asked to end; with SIGKILL it could not.
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                          preexec_fn=bound(signal.SIGTERM)) as process:  # fmt: skip
        for line in process.stdout:
            talk.append(line)
            if step := STEP.match(line):
                show(int(step[1]), int(step[2]))
    if process.returncode != 0:
        if any("No space left" in line for line in talk):
            raise KitError(*plan.disk_full("the build stopped"), BUILD)
        raise BuildFailed("".join(talk))
    return messages.warnings("".join(line for line in talk if not STEP.match(line)))
