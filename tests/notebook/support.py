"""What the tests of the notebook package share."""

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "common" / "notebook"
SKIP = 77  # Meson's exit code for a test that was left out


def use_python_with(*modules: str) -> None:
    """Goes on in the kit's own environment where this Python lacks a module; leaves the test out where that does too."""
    if all(importlib.util.find_spec(name) for name in modules):
        return
    own = ROOT / ".kit" / "venv" / "bin" / "python"
    if own.exists() and not os.environ.get("WARPFOLD_IN_VENV"):
        os.environ["WARPFOLD_IN_VENV"] = "1"
        os.execv(own, [str(own), *sys.argv])
    print(f"SKIP: this Python has not all of {', '.join(modules)}; `./kit docs` installs them for the kit")
    sys.exit(SKIP)


sys.path[:0] = [str(PACKAGE), str(ROOT / "common")]
