"""The clone of the course: its build folder, and the labs' programs built there."""

import os
import re
from contextlib import contextmanager
from pathlib import Path

from . import regions
from .home import ROOT, is_clone
from .progress import Progress
from .verdict import BuildFailed, LabError

# isort: split
# From the folder that home.py has put on the path.
from kit.errors import KitError
from kit.programs import labs as kit_labs
from kit.programs import ninja
from kit.programs.folder import Build, prepare

NO_CLONE = (
    "This is a lab of the course, but there is no clone of the course here. Clone the repository and start the notebook in it. "
    "Kernels of your own go into a cell that begins with %%cuda."
)


def require_clone() -> None:
    if not is_clone(ROOT):
        raise LabError(NO_CLONE)


def compiler_messages(said: str) -> str:
    """What the compiler said, with paths as the student knows them."""
    return re.sub(r"[^\s\"]*/(labs|solutions)/(?=\d\d_)", r"\1/", said).strip()


def cell_at_fault(said: str) -> str:
    """How the cell begins whose code the compiler refuses, by the first error in a student's file."""
    error = re.search(r"^(labs/\S+?)[(:](\d+)\S* (?:fatal )?error\b", said, re.MULTILINE)
    if not error:
        return ""
    return regions.at_fault(regions.read(ROOT / error[1]), error[1], int(error[2]))


_folder: Build | None = None


def folder(progress: Progress) -> Build:
    """The build folder, the kit's own or the one that WARPFOLD_BUILD names; configured at the first call, which takes a
    while on a fresh clone."""
    global _folder
    if _folder is None:
        require_clone()
        named = os.environ.get("WARPFOLD_BUILD")
        if named:
            _folder = Build(Path(named).absolute(), os.environ.get("NINJA", "ninja"), dict(os.environ))
        else:
            progress.show("setting up the build")
            with lab_errors():
                _folder = prepare()
    return _folder


@contextmanager
def lab_errors():
    """Turns the kit's errors into errors that end a cell."""
    try:
        yield
    except ninja.BuildFailed as error:
        said = compiler_messages(error.said)
        raise BuildFailed(said, cell_at_fault(said)) from None
    except KitError as error:
        raise LabError(f"{error}\n{error.advice}".strip()) from None


def all_labs(solved: bool, progress: Progress) -> list[kit_labs.Lab]:
    with lab_errors():
        return kit_labs.find(folder(progress), solved=solved)


def named(name: str, solved: bool, progress: Progress) -> kit_labs.Lab:
    try:
        return kit_labs.named(all_labs(solved, progress), name)
    except KitError as error:
        if solved and not (ROOT / "solutions").is_dir():
            raise LabError("This edition has no solutions.") from None
        if (ROOT / "labs" / name).is_dir():
            raise LabError(
                f"{name} is not part of this build: something that it needs was missing when the build was set up. `./kit setup --tests` installs it where it may, or says what to install"
            ) from None
        raise LabError(f"{error}. {error.advice}") from None


def build(lab: kit_labs.Lab, progress: Progress) -> str:
    """Returns the compiler's warnings, if it had to compile."""
    progress.show(f"building {lab.name}")
    with lab_errors():
        return compiler_messages(
            kit_labs.compile(folder(progress), [lab], lambda done, of: progress.show(f"building, step {done} of {of}"))
        )


def ask(lab: kit_labs.Lab, progress: Progress, what: str, *words: str) -> dict:
    """Runs the lab's program, and gives the JSON that it prints."""
    progress.show(what)
    with lab_errors():
        return kit_labs.ask(lab, *words)
