"""The clone that this package lies in: its build folder, and the labs' programs built there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from .progress import Progress
from .verdict import BuildFailed, LabError

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "common"))

from kit.building import labs as kit_labs  # noqa: E402
from kit.errors import KitError  # noqa: E402

STEP = re.compile(r"\[(\d+)/(\d+)\] ")


class Folder:
    """A configured build folder: the kit's own, or the one that WARPFOLD_BUILD names."""

    def __init__(self, path: Path, ninja: str, environment: dict[str, str]):
        self.path, self.ninja, self.environment = path, ninja, environment

    def introspect(self, what: str):
        try:
            return json.loads((self.path / "meson-info" / f"intro-{what}.json").read_text())
        except (OSError, ValueError):
            raise LabError(f"{self.path} is not a build folder that Meson has configured") from None

    def emulator(self) -> Path:
        for entry in self.introspect("targets"):
            if entry["name"] == "cudart" and entry["type"] == "shared library":
                return Path(entry["filename"][0])
        raise LabError(f"{self.path} does not build the emulator")

    def compile(self, files: list[Path], progress: Progress) -> None:
        """Builds these files and what they need, and nothing else."""
        targets = [os.path.relpath(file, self.path) for file in files]
        # Jupyter asks every program for colours (CLICOLOR_FORCE), and a coloured FAILED: is not found among the lines.
        environment = self.environment | {"NINJA_STATUS": "[%f/%t] ", "LC_ALL": "C.UTF-8", "CLICOLOR_FORCE": "0"}
        command = [self.ninja, "-C", str(self.path), *targets]
        talk = []
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as process:
            for line in process.stdout:
                talk.append(line)
                if step := STEP.match(line):
                    progress.show(f"building, step {step[1]} of {step[2]}")
        if process.returncode != 0:
            raise BuildFailed(compiler_messages("".join(talk)))


def compiler_messages(talk: str) -> str:
    """What the compiler said, with paths as the student knows them, without ninja's own talk."""
    lines = talk.splitlines()
    start = next((i + 2 for i, line in enumerate(lines) if line.startswith("FAILED:")), max(0, len(lines) - 20))
    kept = [line for line in lines[start:] if not line.startswith(("[", "ninja:", "FAILED:"))]
    return re.sub(r"[^\s\"]*/(labs|solutions)/(?=\d\d_)", r"\1/", "\n".join(kept[:40])).strip()


_folder: Folder | None = None


def folder(progress: Progress) -> Folder:
    """The build folder, configured at the first call: that takes a while on a fresh clone."""
    global _folder
    if _folder is None:
        named = os.environ.get("WARPFOLD_BUILD")
        if named:
            _folder = Folder(Path(named).absolute(), os.environ.get("NINJA", "ninja"), dict(os.environ))
        else:
            progress.show("setting up the build")
            _folder = kits_own()
    return _folder


def kits_own() -> Folder:
    from kit import paths
    from kit.building.folder import Build
    from kit.setup import toolchain

    try:
        build = Build(toolchain.prepare())
    except KitError as error:
        raise LabError(f"{error}\n{error.advice}".strip()) from None
    return Folder(paths.BUILD, build.tools.ninja, build.tools.environ())


def all_labs(solved: bool, progress: Progress) -> list[kit_labs.Lab]:
    return kit_labs.find(folder(progress), solved=solved)


def named(name: str, solved: bool, progress: Progress) -> kit_labs.Lab:
    try:
        return kit_labs.named(all_labs(solved, progress), name)
    except KitError as error:
        if (ROOT / "labs" / name).is_dir():
            raise LabError(f"{name} is not part of the build here: what it needs was missing when that was set up. `./kit setup --tests` installs it where it may, or says what to install") from None
        raise LabError(f"{error}. {error.advice}") from None


def build(lab: kit_labs.Lab, progress: Progress) -> None:
    progress.show(f"building {lab.name}")
    place = folder(progress)
    # A program that is told of another emulator (common/lab/device.cpp) does not need this build's.
    needed = [] if os.environ.get("WARPFOLD_EMULATOR_DIR") else [place.emulator()]
    place.compile([lab.program, *needed], progress)


def ask(lab: kit_labs.Lab, progress: Progress, what: str, *words: str) -> dict:
    """Runs the lab's program, and gives the JSON that it prints."""
    progress.show(what)
    try:
        return kit_labs.ask(lab, *words)
    except KitError as error:
        raise LabError(str(error)) from None
