"""`./kit lint --only CHECK` on the whole tree: one_check.py CHECK."""

import os
import subprocess
import sys
from pathlib import Path

SKIPPED = 77  # as Meson knows it

if __name__ == "__main__":
    if not os.environ.get("WARPFOLD_KIT_TEST"):
        print("SKIP: its tools are in .kit/venv, which ./kit test sets up")
        sys.exit(SKIPPED)
    kit = Path(__file__).resolve().parents[2] / "kit"
    sys.exit(subprocess.run([kit, "lint", "--only", sys.argv[1]]).returncode)
