"""Pairs of submissions whose code is built alike, names and comments aside, as compare50 sees it (optional; CS50's, from PyPI).

compare50 needs older packages than the kit's other tools, so it has an environment of its own, and runs there as a program."""

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kit.console import say
from kit.errors import SETUP, KitError
from kit.paths import OWN
from kit.process import output, tail
from kit.setup import environment

from ..submission.regions import NotALab, take_apart

VENV = OWN / "compare50"
GROUP = "compare50"  # of requirements.txt
HOW = "./kit class feedback --alike"
SECONDS = 300  # for one lab
MOST = 20  # pairs of a lab


@dataclass(frozen=True)
class Pair:
    lab: str
    students: tuple[str, str]
    score: float  # compare50's: the more, and the rarer, what both have
    share: float  # of the shorter one's own code


def is_installed() -> bool:
    stamp = VENV / "installed"
    return stamp.exists() and stamp.read_text().split("\n") == environment.requirements(GROUP)


def install() -> None:
    if is_installed():
        return
    pins = environment.requirements(GROUP)
    say(f"installing {', '.join(pins)} in {VENV.parent.name}/{VENV.name}: finds code that is built alike")
    environment.require_venv_module()
    shutil.rmtree(VENV, ignore_errors=True)
    made = output([sys.executable, "-m", "venv", VENV])
    if made.returncode != 0:
        raise KitError(f"python3 -m venv failed\n{tail(made.stdout)}", code=SETUP)
    got = output([VENV / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check", "--retries", "1", "--no-input", *pins])
    if got.returncode != 0:
        raise KitError(*environment.pip_failure(pins, got.stdout), SETUP)
    (VENV / "installed").write_text("\n".join(pins))


def own_code(text: str) -> str:
    """The regions of a file, one after the other."""
    return "\n".join("\n".join(lines) for _, lines in take_apart(text).regions) + "\n"


def pairs(lab: str, stub: str, texts: dict[str, str]) -> list[Pair]:
    """Of one lab; `texts`: by student. What stands in the stub does not count. Raises KitError if compare50 fails."""
    code = {}
    for student, text in texts.items():
        try:
            code[student] = own_code(text)
        except NotALab:
            continue
    students = sorted(code)
    with tempfile.TemporaryDirectory(prefix="warpfold-alike-") as name:
        folder = Path(name)
        (folder / "stub.cu").write_text(own_code(stub))
        for number, student in enumerate(students):
            (folder / f"{number}.cu").write_text(code[student])
        program = [VENV / "bin" / "python", Path(__file__).with_name("with_compare50.py"), folder, str(len(students)), str(MOST)]
        try:
            said = subprocess.run(
                program, text=True, capture_output=True, timeout=SECONDS, env={"PYTHONHASHSEED": "50", "LC_ALL": "C.UTF-8"}
            )
            found = json.loads(said.stdout)
        except (ValueError, subprocess.TimeoutExpired) as error:
            raise KitError(f"compare50 gave no answer for {lab}: {error}") from error
    return [Pair(lab, (students[a], students[b]), score, share) for a, b, score, share in found]
