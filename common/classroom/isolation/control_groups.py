"""A control group for each sandbox, where this process may make one: its limits count all memory of all processes in it, also what
they share and what no process has mapped (cgroups(7)). Without one, limits of processes must do."""

import itertools
import os
import shutil
import subprocess
import time
from functools import lru_cache
from pathlib import Path

GROUPS = itertools.count()  # of this process


class ControlGroup:
    """Made for one sandbox, and removed after it."""

    def __init__(self, folder: Path, limits: dict[str, int], events: str):
        """`limits`: by file; the first must be there, the others depend on the kernel and on what the group may decide."""
        self.folder, self.events = folder, folder / events
        folder.mkdir()
        for number, (name, limit) in enumerate(limits.items()):
            if number == 0 or (folder / name).exists():
                (folder / name).write_text(str(limit))

    @property
    def words(self) -> list[str]:
        """What starts a program in the group."""
        return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(self.folder)]

    def ran_out_of_memory(self) -> bool:
        try:
            counts = dict(line.split() for line in self.events.read_text().splitlines())
        except (OSError, ValueError):
            return False
        return int(counts.get("oom_kill", 0)) > 0

    def remove(self) -> None:
        until = time.monotonic() + 5
        while True:
            try:
                return self.folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:  # the last of its processes is still ending
                if time.monotonic() > until:
                    return
                time.sleep(0.01)


def make(memory: int, processes: int) -> ControlGroup | None:
    """A group that may hold this many bytes and processes; None where this process may make none."""
    parent = where()
    if parent is None:
        return None
    folder = parent / f"warpfold-{os.getpid()}-{next(GROUPS)}"
    try:
        if (parent / "cgroup.controllers").exists():
            limits = {"memory.max": memory, "memory.swap.max": 0, "memory.oom.group": 1, "pids.max": processes}
            return ControlGroup(folder, limits, "memory.events")
        limits = {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory}
        return ControlGroup(folder, limits, "memory.oom_control")
    except OSError:
        return None


@lru_cache(1)
def where(mounts: Path = Path("/proc/self/mounts"), own: Path = Path("/proc/self/cgroup")) -> Path | None:
    """The folder in which groups can be made: of version 2 where memory is handed on to them (as the system does for root, and by
    delegation), or of version 1."""
    for kind, path in candidates(mounts, own):
        trial = path / f"warpfold-trial-{os.getpid()}"
        try:
            if kind == "cgroup2" and "memory" not in (path / "cgroup.subtree_control").read_text().split():
                continue
            trial.mkdir()
            trial.rmdir()
            return path
        except OSError:
            continue
    return None


def candidates(mounts: Path, own: Path):
    """(version, folder): this process's own group of each hierarchy that counts memory, and its hierarchy's root. In a container, the
    own one may be out of sight."""
    groups = [line.split(":", 2) for line in own.read_text().splitlines()]
    for line in mounts.read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup" and "memory" in options.split(","):
            mine = [path for _, names, path in groups if "memory" in names.split(",")]
        elif kind == "cgroup2":
            mine = [path for _, names, path in groups if names == ""]
        else:
            continue
        for path in [*mine, "/"]:
            yield kind, Path(place + path.rstrip("/"))


@lru_cache(1)
def systemd_makes_scopes() -> bool:
    """Whether the user's own systemd can put a program into a group of its own."""
    if os.geteuid() == 0 or not shutil.which("systemd-run"):
        return False
    try:
        tried = subprocess.run([*scope(1 << 28, 16), "true"], capture_output=True, timeout=10, stdin=subprocess.DEVNULL)
        return tried.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def scope(memory: int, processes: int) -> list[str]:
    limits = [f"--property=MemoryMax={memory}", "--property=MemorySwapMax=0", f"--property=TasksMax={processes}"]
    return ["systemd-run", "--user", "--scope", "--quiet", "--collect", *limits, "--"]
