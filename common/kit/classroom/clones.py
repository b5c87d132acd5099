"""Students' clones: when something in them was committed, and whether it is still as it was."""

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .archive import Entry
from .sandbox import MIB, Limits, Room, Sandbox


@dataclass(frozen=True)
class Commit:
    """The last commit of a student's clone. Its time is whatever the student's machine said."""

    time: float
    files: dict[str, str]  # path -> the hash that git has of it


def last_commit(folder: Path, sandbox: Sandbox | None) -> Commit | None:
    """The last commit of a clone. Git reads untrusted settings there, so it runs in the sandbox."""
    if sandbox is None or sandbox.unsafe or not (folder / ".git").is_dir() or (folder / ".git").is_symlink() or not shutil.which("git"):
        return None
    room = Room(
        read={folder / ".git": "/repository"},
        environment={"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"},
    )
    git = ["git", "--git-dir=/repository"]
    limits = Limits(cpu=10, wall=20, output=8 * MIB)
    try:
        told = sandbox.run([*git, "log", "-1", "--format=%ct"], room, limits)
        listed = sandbox.run([*git, "ls-tree", "-r", "-z", "--full-tree", "HEAD"], room, limits)
        if told.code != 0:
            return None
        rows = [row.partition("\t") for row in listed.stdout.decode(errors="replace").split("\0") if row]
        return Commit(float(told.stdout), {path: words.split(" ")[-1] for words, _, path in rows})
    except (ValueError, subprocess.SubprocessError, OSError):
        return None


def dated(commit: Commit, path: str, entry: Entry, shown: str) -> tuple[float, str]:
    """When a file was handed in, and a flag: the time of the commit for a file that is as it was committed; for one that was changed since,
    its own time if that is later. `shown`: the file's path, as it is shown."""
    if commit.files.get(path, "") in hashes_of(entry.data):
        return commit.time or entry.time, ""
    return max(commit.time, entry.time), f"{shown} is not the file of the last commit, so the file's own time counts if it is later"


def hashes_of(data: bytes) -> set[str]:
    """What git may call a file with these contents, with either kind of hash; a clone may have given it other line ends."""
    texts = (data, data.replace(b"\r\n", b"\n"), data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    return {name(b"blob %d\0" % len(text) + text).hexdigest() for text in texts for name in (hashlib.sha1, hashlib.sha256)}
