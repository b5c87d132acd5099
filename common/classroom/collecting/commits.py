"""The time of a submission that is a clone: that of its last commit, which is whatever the student's machine said."""

import hashlib
import shutil
import stat
import subprocess
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..isolation.sandbox import MIB, Limits, Room, Sandbox

MOST_IN_GIT = 20_000  # files and folders of a clone's own that are looked at


@dataclass(frozen=True)
class Commit:
    time: float
    files: dict[str, str]  # path -> the hash that git has of it


def last_commit(folder: Path, sandbox: Sandbox | None) -> Commit | None:
    """The last commit of a clone. Git reads untrusted settings there, so it runs in the sandbox."""
    if sandbox is None or sandbox.unsafe or not (folder / ".git").is_dir() or (folder / ".git").is_symlink() or not shutil.which("git"):
        return None
    if not all(map(is_plain, [folder / ".git", *islice((folder / ".git").rglob("*"), MOST_IN_GIT)])):
        return None
    room = Room(
        read={folder / ".git": "/repository"},
        environment={
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        },
    )
    git = ["git", "--git-dir=/repository", "-c", "log.showSignature=false", "-c", "log.mailmap=false"]
    limits = Limits(cpu=10, wall=10, own_memory_only=True, output=8 * MIB)
    try:
        shown = sandbox.run([*git, "log", "-1", "--format=%ct"], room, limits)
        if shown.code != 0:  # it may have waited for a pipe that stands where a file should
            return None
        listed = sandbox.run([*git, "ls-tree", "-r", "-z", "--full-tree", "HEAD"], room, limits)
        rows = [row.partition("\t") for row in listed.stdout.decode(errors="replace").split("\0") if row]
        return Commit(float(shown.stdout), {path: words.split(" ")[-1] for words, _, path in rows})
    except (ValueError, subprocess.SubprocessError, OSError):
        return None


def is_plain(path: Path) -> bool:
    """A file, a folder or a link: git would wait for a pipe."""
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def dated(commit: Commit, path: str, data: bytes, time: float) -> tuple[float, bool]:
    """The time that counts for a file, and whether it is as it was committed. A file that was changed since has its own time if that is later."""
    if commit.files.get(path, "") in hashes_of(data):
        return commit.time or time, True
    return max(commit.time, time), False


def hashes_of(data: bytes) -> set[str]:
    """What git may call a file with these contents, with either kind of hash; a clone may have given it other line ends."""
    texts = (data, data.replace(b"\r\n", b"\n"), data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    return {name(b"blob %d\0" % len(text) + text).hexdigest() for text in texts for name in (hashlib.sha1, hashlib.sha256)}
