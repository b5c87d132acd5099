"""Distributes the work with Parsl, to a pool on this machine or to Slurm. Workers report only that a piece is done; the
result files are the record."""

import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path

from kit.console import say
from kit.errors import USAGE, KitError
from kit.paths import ROOT
from kit.setup import environment

from ..submission import handin
from .grader import needs_no_room
from .work import Piece, grade, scratch_of

MARK = "WARPFOLD_CLASS"  # in the environment of every process that a run starts: its class folder


def run(pieces: list[Piece], into: Path, settings: dict) -> int:
    """Grades all of these; returns how many could not be graded."""
    end_what_was_left(into)
    progress = Progress(pieces)
    at_once = [piece for piece in pieces if needs_no_room(piece.lab, handin.kept(piece.source))]
    others = [piece for piece in pieces if piece not in at_once]
    failed = sum(not grade(piece) for piece in progress.through(at_once))
    if others and settings.get("kind", "local") == "here":
        failed += sum(not grade(piece) for piece in progress.through(others))
    elif others:
        failed += with_parsl(others, progress, into, settings)
    if pieces:
        progress.end()
    return failed


def with_parsl(pieces: list[Piece], progress: "Progress", into: Path, settings: dict) -> int:
    programs = str(environment.VENV / "bin")  # Parsl's own programs, which it starts by name
    os.environ |= {
        MARK: str(into.resolve()),
        "SPT_NOENV": "1",  # Parsl sets process titles, which would overwrite the environment by which its processes are recognised
        "PATH": f"{programs}:{os.environ.get('PATH', os.defpath)}",
        "PYTHONPATH": str(ROOT / "common"),
    }
    import parsl

    logs = into / "work" / "parsl"
    shutil.rmtree(logs, ignore_errors=True)
    loaded = None
    try:
        loaded = parsl.load(configuration(settings, logs, len(pieces)))
        remote = parsl.python_app(grade)
        return follow({remote(piece): piece for piece in pieces}, progress)
    finally:
        if loaded:
            parsl.dfk().cleanup()
            parsl.clear()
        end_what_was_left(into)


def follow(waiting: dict[Future, Piece], progress: "Progress") -> int:
    failed = 0
    while waiting:
        done, _ = wait(waiting, timeout=5, return_when=FIRST_COMPLETED)
        for future in done:
            piece = waiting.pop(future)
            if future.exception() is not None:
                say(f"{piece.lab.name} {piece.source.parent.parent.name}: the worker was lost: {future.exception()}")
            well = future.exception() is None and future.result()
            failed += not well
            progress.add(piece)
        progress.show()
    return failed


def configuration(settings: dict, logs: Path, pieces: int):
    from parsl.config import Config
    from parsl.executors import HighThroughputExecutor
    from parsl.providers import LocalProvider, SlurmProvider

    kind = settings.get("kind", "local")
    workers = int(settings.get("workers", 0)) or os.cpu_count() or 1
    worker_init = f"export PATH={shlex.quote(os.environ['PATH'])} PYTHONPATH={shlex.quote(str(ROOT / 'common'))} {MARK}={shlex.quote(os.environ[MARK])} SPT_NOENV=1"
    if kind == "local":
        provider = LocalProvider(init_blocks=1, max_blocks=1, worker_init=worker_init)
        address = "127.0.0.1"
    elif kind == "slurm":
        nodes = int(settings.get("nodes", 1))
        provider = SlurmProvider(
            settings.get("partition"), account=settings.get("account"), nodes_per_block=1, init_blocks=nodes, max_blocks=nodes, min_blocks=0,
            cores_per_node=workers, walltime=str(settings.get("walltime", "01:00:00")), worker_init=worker_init, exclusive=False,
            scheduler_options=str(settings.get("options", "")),
        )  # fmt: skip
        address = settings.get("address")
    else:
        raise KitError(f"[engine] kind = {kind}: the kinds are local and slurm", code=USAGE)
    executor = HighThroughputExecutor(
        label="graders", provider=provider, address=address, loopback_address="127.0.0.1", max_workers_per_node=min(workers, pieces) if kind == "local" else workers,
        worker_logdir_root=str(logs), heartbeat_period=5, heartbeat_threshold=30, encrypted=kind != "local",
    )  # fmt: skip
    return Config(executors=[executor], run_dir=str(logs), retries=2, strategy="simple", usage_tracking=0, initialize_logging=False)


def end_what_was_left(into: Path) -> None:
    """A driver that was killed leaves its interchange and workers behind."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        left = left_behind(into)
        for pid in left:
            try:
                os.kill(pid, sent)
            except (ProcessLookupError, PermissionError):
                pass
        until = time.monotonic() + 3
        while left and left_behind(into) and time.monotonic() < until:
            time.sleep(0.05)
    for folder in scratch(into):
        shutil.rmtree(folder, ignore_errors=True)
    for unfinished in (into / "results").glob("*/.new-*"):
        unfinished.unlink(missing_ok=True)


def left_behind(into: Path) -> list[int]:
    """Processes of a run in this class's folder, recognised by their environment or, if that is lost, by the log that they write there."""
    mark, logs = f"{MARK}={into.resolve()}".encode(), f"{into.resolve()}/work/parsl/"
    return [pid for pid in processes() if mark in environment_of(pid) or any(path.startswith(logs) for path in open_files(pid))]


def scratch(into: Path) -> list[Path]:
    """Temporary folders left on this machine by processes that were ended while they graded this class."""
    return sorted(Path(tempfile.gettempdir()).glob(f"{scratch_of(into)}*"))


def processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def environment_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def open_files(pid: int) -> list[str]:
    try:
        return [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return []


def in_own_environment() -> None:
    """Restarts this command in the kit's own environment, where Parsl is installed."""
    environment.install("class", "the engine that distributes the grading")
    if Path(sys.prefix).resolve() == environment.VENV.resolve():
        return
    sys.stdout.flush()
    os.execve(
        environment.python(), [environment.python(), str(ROOT / "kit"), *sys.argv[1:]], os.environ | {"PYTHONPATH": str(ROOT / "common")}
    )


class Progress:
    """One line: how much is done, how many rungs pass, and how long the rest will take."""

    def __init__(self, pieces: list[Piece]):
        self.pieces, self.began = pieces, time.monotonic()
        self.done = self.passed = self.rungs = 0

    def through(self, pieces: list[Piece]) -> Iterator[Piece]:
        """These pieces, each of which is done when the next one is asked for."""
        for piece in pieces:
            self.show()
            yield piece
            self.add(piece)

    def add(self, piece: Piece) -> None:
        self.done += 1
        states = [rung["state"] for rung in (piece.result or {"rungs": []})["rungs"]]
        self.rungs += len(states)
        self.passed += states.count("pass")

    def line(self) -> str:
        spent = time.monotonic() - self.began
        to_go = f", {spent / self.done * (len(self.pieces) - self.done):.0f} s to go" if self.done else ""
        return f"graded {self.done} of {len(self.pieces)} texts, {self.passed} of {self.rungs} rungs pass{to_go}"

    def show(self) -> None:
        if sys.stderr.isatty():
            print(f"\rkit: {self.line()}\033[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        say(f"graded {self.done} texts in {time.monotonic() - self.began:.0f} s, {self.passed} of {self.rungs} rungs pass")
