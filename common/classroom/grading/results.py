"""Result files: the only record of what was graded. There is one for each submission and lab, named by the hash of everything
that it depends on, and moved into place in one step."""

import json
import os
import tempfile
from pathlib import Path

from ..course.version import FORMAT

KEYS = {"lab", "graded", "why", "unsafe", "rungs", "flags"}  # that each result has


def place(into: Path, lab: str, key: str) -> Path:
    return into / "results" / lab / f"{key}.json"


def failure_place(into: Path, lab: str, key: str) -> Path:
    """Says why something is not graded. A later run tries it again, unless it says that somebody should look at it."""
    return into / "results" / lab / f"{key}.failed.json"


def write(path: Path, result: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(result, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o640)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: Path) -> dict | None:
    """None if there is no complete result."""
    try:
        result = json.loads(path.read_text())
        return result if result["format"] == FORMAT and result.keys() >= KEYS else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
