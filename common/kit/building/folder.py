"""Building with Meson in .kit/build, apart from the student's own build folder."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ..console import say
from ..errors import BUILD, KitError
from ..paths import BUILD as FOLDER
from ..paths import LOGS, OWN, ROOT
from ..process import output, relative, tail
from ..setup import system
from ..setup.lock import exclusive
from ..setup.toolchain import Tools

DOWNLOAD_FAILED = re.compile(r"could not get https?://|WrapDB connection failed|urlopen error|Failed to download")


class Build:
    """A configured build folder."""

    def __init__(self, tools: Tools, tests: bool = False):
        self.tools = tools
        with exclusive():
            self._configure(tests)

    def _configure(self, tests: bool) -> None:
        """Kit tests, once asked for, stay: building only the targets that a command needs keeps the others quick."""
        record = FOLDER / "kit-configuration.json"
        wanted = {"nvcc": str(self.tools.nvcc), "meson": self.tools.meson, "root": str(ROOT)}
        try:
            known = json.loads(record.read_text())
        except (OSError, ValueError):
            known = {}
        same_tools = all(known.get(key) == value for key, value in wanted.items())
        if same_tools and (known.get("tests") or not tests):
            return
        options = ["-Dsolutions=true", f"-Dkit_tests={'true' if tests else 'false'}"]
        if same_tools:
            command = [self.tools.meson, "configure", FOLDER, *options]
        else:
            shutil.rmtree(FOLDER, ignore_errors=True)
            say(f"configuring the build in {relative(FOLDER)}")
            command = [self.tools.meson, "setup", FOLDER, ROOT, *options]
        result = output(command, env=self.tools.environ())
        if result.returncode != 0:
            raise configuration_failure(result.stdout, tests)
        record.write_text(json.dumps(wanted | {"tests": tests}))

    def compile(self, targets: list[str] | None = None) -> None:
        """Builds the targets (all where None), showing how far it has got."""
        with exclusive():
            ninja([self.tools.ninja, "-C", str(FOLDER), *(targets or [])], self.tools.environ())

    def introspect(self, what: str):
        """What `meson introspect --WHAT` prints, read from the file that Meson keeps of it for other programs."""
        path = FOLDER / "meson-info" / f"intro-{what}.json"
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise KitError(f"{relative(path)} cannot be read", f"Remove {relative(OWN)} and try again.", BUILD) from error

    def target(self, kind: str, name: str) -> Path:
        """The file that a target builds."""
        for entry in self.introspect("targets"):
            if entry["name"] == name and entry["type"] == kind:
                return Path(entry["filename"][0])
        raise KitError(f"the build has no {kind} called {name}", code=BUILD)

    def emulator(self) -> Path:
        """The emulator's library, built."""
        library = self.target("shared library", "cudart")
        self.compile([str(library.relative_to(FOLDER))])
        return library


def configuration_failure(talk: str, tests: bool) -> KitError:
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "configure.txt"
    log.write_text(talk)
    errors = re.findall(r"ERROR: (.*(?:\n(?!\n).*)*)", talk)
    reason = errors[-1].split("\nA full log")[0].strip() if errors else tail(talk)
    if DOWNLOAD_FAILED.search(talk):
        return KitError(
            "no network: Meson could not fetch the libraries that this machine lacks",
            f"{system.how_to_install(system.missing(tests))}\nor connect to the network and run the same command again.",
            BUILD,
        )
    return KitError(f"Meson could not configure the build: {reason}", f"The whole output: {relative(log)}", BUILD)


def ninja(command: list[str], environment: dict[str, str]) -> None:
    environment = environment | {"NINJA_STATUS": "[%f/%t] ", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    talk = []
    live = sys.stderr.isatty()
    for line in process.stdout:
        talk.append(line)
        step = re.match(r"\[(\d+)/(\d+)\] ", line)
        if live and step:
            print(f"\rkit: building {step[1]} of {step[2]}\033[K", end="", file=sys.stderr, flush=True)
    if live:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if process.wait() != 0:
        raise build_failure("".join(talk))


def build_failure(talk: str) -> KitError:
    """What the compiler said, from the first failure on: the rest of ninja's talk is of no use to the reader."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "build.txt"
    log.write_text(talk)
    lines = talk.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("FAILED:")), max(0, len(lines) - 20))
    shown = [line for line in lines[start + 2 :] if not line.startswith("[")][:30]
    what = lines[start].removeprefix("FAILED:").strip() if lines else "nothing"
    return KitError(f"could not build {what}\n" + "\n".join(shown), f"The whole output: {relative(log)}", BUILD)

