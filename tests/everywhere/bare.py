#!/usr/bin/env python3
"""Runs the README's two commands in a fresh clone on a bare machine: a folder that debootstrap made, of which each run gets a copy.

    debootstrap --variant=minbase trixie machines/trixie
    python3 tests/everywhere/bare.py machines/trixie --user student --log logs
    python3 tests/everywhere/bare.py machines/trixie --user root --packages libfmt-dev --command './kit demo'

Needs root, for chroot. Prints a row for docs/results/bare.md per command. The machine is as one that somebody works on: Git and Python,
and for an ordinary user the compiler, since only root may add it. docs/results/bare.md says what the last runs showed."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path("home/student/warpfold")  # the clone, in the machine
BASE = ["ca-certificates", "git", "python3"]
OF_USER = {"root": [], "student": ["g++", "python3-venv"]}
MOUNTS = ["/dev", "/sys"]


class Machine:
    """A copy of a bare machine that is gone when the run ends: what is written lies in a layer above."""

    def __init__(self, base: Path, stack: ExitStack):
        layer = Path(tempfile.mkdtemp(dir=base.parent))
        stack.callback(remove, layer)
        self.root = layer / "root"
        for name in ("root", "upper", "work"):
            (layer / name).mkdir()
        stack.callback(subprocess.run, ["umount", "--recursive", "--lazy", self.root])
        self.mount("-t", "overlay", "overlay", "-o", f"lowerdir={base},upperdir={layer}/upper,workdir={layer}/work", self.root)
        for folder in MOUNTS:
            self.mount("--rbind", "--make-rslave", folder, self.root / folder[1:])

    def mount(self, *words) -> None:
        subprocess.run(["mount", *words], check=True)

    def carry(self, path: Path) -> None:
        place = self.root / path.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        shutil.copy(path, place)

    def run(self, user: str, command: str, log: Path) -> int:
        """As a login of that user: nothing of this machine's environment is there."""
        with log.open("a") as out:
            print(f"$ {command}", file=out, flush=True)
            unshared = ["unshare", "--pid", "--fork", "--kill-child", f"--mount-proc={self.root}/proc"]
            words = [*unshared, "chroot", self.root, "su", "-", user, "-c", command]
            environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "dumb"}
            return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment).returncode

    def required(self, command: str, log: Path) -> None:
        if self.run("root", command, log) != 0:
            sys.exit(f"failed: {command}\n{log.read_text()[-2000:]}")


def remove(layer: Path) -> None:
    """Not while something is mounted there: the files would be this machine's own."""
    if str(layer) in Path("/proc/self/mounts").read_text():
        sys.exit(f"still mounted, so it stays: {layer}")
    shutil.rmtree(layer)


def prepare(machine: Machine, options, log: Path) -> None:
    for path in [Path("/etc/resolv.conf"), Path("/etc/hosts")]:
        machine.carry(path)
    packages = " ".join(BASE + OF_USER[options.user] + options.packages)
    machine.required(f"apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends {packages}", log)
    machine.required("useradd --create-home --shell /bin/bash student", log)
    for path in options.carry:
        machine.carry(path)
    clone = machine.root / HERE
    subprocess.run(["git", "clone", "--quiet", "--no-local", "--depth", "1", f"file://{ROOT}", clone], check=True)
    machine.required(f"chown -R {options.user}: /{HERE}", log)


def says(machine: Machine, command: str) -> str:
    """One line of what a command of the machine prints."""
    found = subprocess.run(["chroot", machine.root, "sh", "-c", command], text=True, capture_output=True)
    return (found.stdout.splitlines() or ["none"])[0]


def row(machine: Machine, options, command: str, code: int, seconds: float, text: str) -> str:
    name = says(machine, ". /etc/os-release && echo $NAME $VERSION_ID")
    tools = f"Python {says(machine, 'python3 -V').split()[-1]}, GCC {says(machine, 'g++ -dumpfullversion')}"
    libraries = "from PyPI" if (machine.root / HERE / ".kit" / "libraries").exists() else "the machine's"
    kept = sum(path.lstat().st_size for path in (machine.root / HERE / ".kit").rglob("*") if not path.is_dir()) // 10**6
    counts = re.findall(r"\d+ passed, \d+ failed, \d+ skipped", text)
    result = counts[-1] if counts else "done" if code == 0 else f"exit status {code}"
    dev = " ".join(options.packages) or "none"
    cells = [name, tools, options.user, dev, libraries, f"`{command}`", f"{seconds / 60:.1f} min", f"{kept} MB", result]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machine", type=Path, help="the folder that debootstrap made")
    parser.add_argument("--user", choices=OF_USER, default="student")
    parser.add_argument("--packages", nargs="*", default=[], metavar="NAME", help="what the machine has besides, for example libfmt-dev")
    parser.add_argument("--carry", nargs="*", type=Path, default=[], metavar="FILE",
                        help="files of this machine that the bare one needs to reach PyPI: certificates, pip.conf")  # fmt: skip
    parser.add_argument("--command", action="append", metavar="LINE", help="in place of the README's two; may be repeated")
    parser.add_argument("--log", type=Path, default=Path("."), metavar="FOLDER", help="where the output is kept")
    options = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("only root may chroot")
    options.log.mkdir(parents=True, exist_ok=True)
    log = options.log / f"{options.machine.name}-{options.user}{'-packages' if options.packages else ''}.log"
    log.unlink(missing_ok=True)
    good = True
    with ExitStack() as stack:
        machine = Machine(options.machine.resolve(), stack)
        prepare(machine, options, log)
        for command in options.command or ["./kit demo", "./kit test"]:
            before = log.stat().st_size
            began = time.monotonic()
            code = machine.run(options.user, f"cd /{HERE} && {command}", log)
            seconds = time.monotonic() - began
            print(row(machine, options, command, code, seconds, log.read_bytes()[before:].decode(errors="replace")), flush=True)
            good = good and code == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
