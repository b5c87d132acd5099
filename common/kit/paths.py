"""Where things are. Everything that `kit` makes is in .kit, so that removing that folder undoes it all."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / ".kit"
VENV = OWN / "venv"
TOOLKIT = OWN / "toolkit"  # a link to NVIDIA's wheels inside VENV, laid out like a toolkit
NCCL = OWN / "nccl"  # a link to NVIDIA's NCCL inside VENV, if the kit has installed it
BUILD = OWN / "build"
LOGS = OWN / "logs"
REQUIREMENTS = ROOT / "requirements.txt"
PACKAGED_EMULATOR = ROOT.parent / ".warpfold.mesonpy.libs"  # where pip puts the Python package's; ROOT is the package itself there
EMULATOR = BUILD / "common" / "emulator" / "runtime"
