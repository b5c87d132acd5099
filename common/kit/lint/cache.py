"""Which files a slow check has found clean, by a hash of everything that its answer depends on; kept in .kit/lint."""

import hashlib
import json
import re
from pathlib import Path

from ..paths import OWN, ROOT

INCLUDE = re.compile(rb'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


class Includes:
    """The files of this clone that a source includes, and those that these include. The search is wider than a
    compiler's: if a name is found in several folders, all of those files count."""

    def __init__(self) -> None:
        self.direct: dict[Path, set[Path]] = {}

    def of(self, source: Path, folders: tuple[Path, ...]) -> set[Path]:
        found, waiting = set(), [source]
        while waiting:
            path = waiting.pop()
            if path not in found:
                found.add(path)
                waiting += self.included_by(path, folders)
        return found

    def included_by(self, path: Path, folders: tuple[Path, ...]) -> set[Path]:
        if path not in self.direct:
            names = [name.decode(errors="replace") for name in INCLUDE.findall(path.read_bytes())]
            candidates = [folder / name for name in names for folder in (path.parent, *folders)]
            self.direct[path] = {each.resolve() for each in candidates if each.is_file() and each.is_relative_to(ROOT)}
        return self.direct[path]


def include_folders(arguments: list[str]) -> tuple[Path, ...]:
    """The include folders in a compiler's command that are in this clone."""
    folders = [Path(word.removeprefix("-I")) for word in arguments if word.startswith("-I")]
    return tuple(dict.fromkeys(folder for folder in folders if folder.is_relative_to(ROOT)))


def key(parts: list[str], files: set[Path]) -> str:
    digest = hashlib.sha256("\0".join(parts).encode())
    for path in sorted(files):
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


class Clean:
    """The keys of the files that a check has found clean."""

    def __init__(self, check: str):
        self.path = OWN / "lint" / f"{check}.json"
        try:
            self.keys: dict[str, str] = json.loads(self.path.read_text())
        except (OSError, ValueError):
            self.keys = {}

    def has(self, file: Path, key: str) -> bool:
        return self.keys.get(str(file.relative_to(ROOT))) == key

    def add(self, file: Path, key: str) -> None:
        self.keys[str(file.relative_to(ROOT))] = key

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.with_suffix(".new").write_text(json.dumps(self.keys, indent=1, sort_keys=True))
        self.path.with_suffix(".new").replace(self.path)
