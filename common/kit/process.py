"""Runs other programs, with a log if their output is of interest only when they fail."""

import os
import subprocess
from pathlib import Path

from .errors import USAGE, KitError
from .paths import LOGS


def output(command: list, **options) -> subprocess.CompletedProcess:
    """Runs a command and keeps its output; a program that cannot be started counts as failed (127)."""
    command = [str(word) for word in command]
    try:
        return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, stdout=f"{command[0]}: {error.strerror}")


def logged(command: list, log: str, what: str, advice: str = "", code: int = 1, env: dict | None = None) -> str:
    """Runs a command with its output in .kit/logs/LOG; on failure shows the end of it."""
    LOGS.mkdir(parents=True, exist_ok=True)
    result = output(command, env=env if env is not None else os.environ.copy())
    path = LOGS / log
    path.write_text(" ".join(str(word) for word in command) + "\n" + result.stdout)
    if result.returncode != 0:
        raise KitError(f"{what} failed\n{tail(result.stdout)}", advice or f"The whole output: {relative(path)}", code)
    return result.stdout


def tail(text: str, lines: int = 20) -> str:
    return "\n".join("  " + line for line in text.strip().splitlines()[-lines:])


def require_writable(path: Path, option: str) -> None:
    """Checks, before long work, that its result can be written to that file."""
    folder = path.resolve().parent
    if path.is_dir():
        raise KitError(f"{option} {path}: that is a folder", "Give the name of a file.", USAGE)
    if not folder.is_dir():
        raise KitError(f"{option} {path}: there is no folder {folder}", code=USAGE)
    if not os.access(folder, os.W_OK):
        raise KitError(f"{option} {path}: the folder is not writable", code=USAGE)


def relative(path: Path) -> str:
    """The path as the user would type it from the current folder, if that is shorter."""
    try:
        return os.path.relpath(path) if len(os.path.relpath(path)) < len(str(path)) else str(path)
    except ValueError:
        return str(path)
