"""Build folders: the kit's own, .kit/build, apart from the student's; and others that Meson has configured."""

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from .. import console
from ..console import say, steps
from ..errors import BUILD, SETUP, KitError
from ..paths import BUILD as FOLDER
from ..paths import LOGS, OWN, ROOT
from ..process import output, relative, tail
from ..setup import nccl, plan, system, toolchain
from ..setup.lock import exclusive
from ..setup.packages import OF_ONE_LAB
from ..setup.toolchain import Tools
from . import compile_commands, ninja

DOWNLOAD_FAILED = re.compile(r"could not get https?://|WrapDB connection failed|urlopen error|Failed to download")

# What a build folder is made for: each with what is said if that has changed.
REASONS = {
    "nvcc": "nvcc is another one", "meson": "Meson is another one", "root": "the clone was moved", "native": "WARPFOLD_NATIVE has changed",
    "nccl": "NCCL is another one", "kit_libraries": "the C++ libraries are others", "of_one_lab": "OpenCL or MPI has come or gone", "cxx": "CXX names another compiler, or the one that it named is gone",
}  # fmt: skip


@dataclass(frozen=True)
class Build:
    """A configured build folder."""

    path: Path
    ninja: str
    environment: dict[str, str]  # for Ninja and everything that it starts

    def compile(self, files: list[Path], show: Callable[[int, int], None] | None = None) -> str:
        """Builds these files and what they need, and nothing else; `show` is called with the progress. Returns the
        compiler's warnings about the labs' files that it compiled."""
        if not files:
            return ""
        targets = [os.path.relpath(file, self.path) for file in files]
        command = [self.ninja, "-C", str(self.path), *targets]
        with exclusive() if self.path == FOLDER else nullcontext():
            if steps.planned:
                steps.begin("compile", "compiling the emulator and the programs that this command needs")
            with console.progress("building") as on_terminal:
                return ninja.run(command, self.environment, show or on_terminal)

    def introspect(self, what: str):
        """What `meson introspect --WHAT` prints, read from the file in which Meson keeps it for other programs."""
        path = self.path / "meson-info" / f"intro-{what}.json"
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError) as error:
            own = self.path == FOLDER
            advice = f"Remove {relative(OWN)} and try again." if own else f"Is {self.path} a build folder that Meson has configured?"
            raise KitError(f"{relative(path)} cannot be read", advice, BUILD) from error

    def target(self, kind: str, name: str) -> Path:
        """The file that a target produces."""
        for entry in self.introspect("targets"):
            if entry["name"] == name and entry["type"] == kind:
                return Path(entry["filename"][0])
        raise KitError(f"the build in {relative(self.path)} has no {kind} called {name}", code=BUILD)

    def emulator(self) -> Path:
        """The path of the emulator's library, which may not have been built yet."""
        return self.target("shared library", "cudart")

    def nccl(self) -> Path:
        """The path of NCCL's stand-in, likewise."""
        return self.target("shared library", "nccl")

    def opencl(self) -> list[Path]:
        """That of the OpenCL driver, unless OpenCL's headers were missing."""
        return [Path(entry["filename"][0]) for entry in self.introspect("targets") if entry["name"] == "warpfold_opencl"]


def prepare() -> Build:
    """The kit's own build folder, with everything that a build needs set up."""
    return configured(toolchain.prepare())


def configured(tools: Tools, tests: bool = False) -> Build:
    """The kit's own build folder. Once requested, the kit tests stay configured: each command builds only the targets that
    it needs, so the other commands stay quick."""
    with exclusive():
        record = FOLDER / "kit-configuration.json"
        wanted = {"nvcc": str(tools.nvcc), "meson": tools.meson, "root": str(ROOT), "native": native(), "nccl": nccl.found(),
                  "kit_libraries": tools.kit_libraries, "of_one_lab": [system.has_library(need) for need in OF_ONE_LAB]}  # fmt: skip
        try:
            known = {"native": "true", "nccl": "", "kit_libraries": False, "cxx": "", "of_one_lab": wanted["of_one_lab"]}
            known |= json.loads(record.read_text())
        except (OSError, ValueError):
            known = {}
        wanted["cxx"] = os.environ.get("CXX", "").strip() or still_there(known.get("cxx", ""))  # once named, it stays
        # A Ninja of another version builds everything again, so the first one stays, whatever the PATH of later commands finds.
        tools = replace(tools, ninja=shutil.which(known.get("ninja", "")) or tools.ninja)
        changed = [REASONS[key] for key, value in wanted.items() if known.get(key) != value]
        if changed and known:
            say(f"the build begins anew: {', '.join(changed)}")
            steps.plan(["configure", "compile"])
        had_tests = bool(known.get("tests")) and not changed
        if changed or (tests and not had_tests):
            configure(tools, tests, anew=bool(changed), cxx=wanted["cxx"])
        if (now := wanted | {"tests": tests or had_tests, "ninja": tools.ninja}) != known:
            record.write_text(json.dumps(now))
        compile_commands.refresh(FOLDER, tools.nvcc)
    return Build(FOLDER, tools.ninja, tools.environ())


def still_there(cxx: str) -> str:
    """A compiler that was named earlier, with its flags, unless it has been removed since."""
    return cxx if cxx and shutil.which(cxx.split()[0]) else ""


def native() -> str:
    """Whether the emulator is tuned for this machine. An image that is built on one and run on another must not be."""
    said = os.environ.get("WARPFOLD_NATIVE", "true")
    if said not in ("true", "false"):
        raise KitError(f"WARPFOLD_NATIVE={said}: true or false", code=SETUP)
    return said


def configure(tools: Tools, tests: bool, anew: bool, cxx: str) -> None:
    asked = {"solutions": True, "native": native() == "true", "kit_tests": tests, "kit_libraries": tools.kit_libraries}
    options = [f"-D{name}={str(value).lower()}" for name, value in asked.items()]
    if anew:
        shutil.rmtree(FOLDER, ignore_errors=True)
        steps.begin("configure", f"configuring the build in {relative(FOLDER)}")
        command = [tools.meson, "setup", FOLDER, ROOT, *options]
    else:
        command = [tools.meson, "configure", FOLDER, *options]
    result = output(command, env=tools.environ() | ({"CXX": cxx} if cxx else {}))
    if result.returncode != 0:
        raise configuration_failure(result.stdout, tests)


def configuration_failure(talk: str, tests: bool) -> KitError:
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "configure.txt"
    log.write_text(talk)
    errors = re.findall(r"ERROR: (.*(?:\n(?!\n).*)*)", talk)
    reason = errors[-1].split("\nA full log")[0].strip() if errors else tail(talk)
    if "No space left" in talk:
        return KitError(*plan.disk_full("Meson could not configure the build"), SETUP)
    if DOWNLOAD_FAILED.search(talk):
        return KitError(
            "no network: Meson could not fetch the libraries that this machine lacks",
            f"{system.how_to_install(system.missing(tests))}\nor connect to the network and run the same command again.",
            BUILD,
        )
    return KitError(f"Meson could not configure the build: {reason}", f"The whole output: {relative(log)}", BUILD)
