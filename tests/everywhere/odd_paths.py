#!/usr/bin/env python3
"""Sets Warpfold up in folders with unusual names, solves lab 01 there, moves the clone and does it again.

    python3 tests/everywhere/odd_paths.py [--work FOLDER] [--only NAME]

Takes some minutes per folder, and a network connection as an ordinary user; run it as one on a bare machine, where compiler,
Meson and libraries come from PyPI as well. tests/kit/test_paths.py is the part of it that every run of the suite has."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = "01_naive_atomic"
FOLDERS = ["warp fold", "Übung é 王", "d'été", "CUDA #1", "Doe, Jane & co = 100%", "a" * 200]


def fresh(clone: Path) -> None:
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], text=True, capture_output=True, check=True)
    for name in names.stdout.splitlines():
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name, follow_symlinks=False)
    shutil.copy(clone / "solutions" / LAB / "naive_atomic.cu", clone / "labs" / LAB)


def works(clone: Path) -> bool:
    """Whether the lab passes, and the profile names its lines."""
    began = time.monotonic()
    commands = {"watch": (["--times", "1"], "pass "), "profile": (["--solutions"], "atomicAdd(")}
    for command, (words, wanted) in commands.items():
        said = subprocess.run(["./kit", command, LAB, *words], cwd=clone, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if said.returncode != 0 or wanted not in said.stdout:
            print(f"FAILED: ./kit {command} in {clone}\n{said.stdout}")
            return False
    print(f"works, {time.monotonic() - began:4.0f} s: {clone}", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, help="an empty folder (default: a temporary one)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only a folder of this name; may be repeated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        good = True
        for folder in options.only or FOLDERS:
            clone = work / folder / "warpfold"
            fresh(clone)
            good = works(clone) and good
            moved = work / "moved" / folder / "elsewhere"
            moved.parent.mkdir(parents=True)
            good = works(clone.rename(moved)) and good
            shutil.rmtree(moved)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
