"""fmt, nlohmann_json, lz4 and zstd from PyPI in .kit/libraries, for machines that lack one of them and where only root may add it.

Headers come from packages that ship them; lz4 and zstd are the sources that their Python bindings carry, which
common/libraries/meson.build compiles."""

import shutil
import sys
import tarfile
from pathlib import Path

from ..console import steps
from ..errors import SETUP, KitError
from ..paths import OWN
from ..process import output
from . import environment

FOLDER = OWN / "libraries"
STAMP = FOLDER / "installed"
HEADERS = ("cmeel-fmt", "nlohmann-json")
SOURCES = ("lz4", "zstandard")


def fetched() -> bool:
    return STAMP.exists() and STAMP.read_text() == "\n".join(environment.requirements("libraries"))


def fetch() -> None:
    if fetched():
        return
    environment.make_venv()
    why = "this machine lacks one of them" if shutil.which("pkg-config") else "this machine has no pkg-config, which would find them"
    steps.begin("libraries", f"fetching fmt, nlohmann_json, lz4 and zstd into {OWN.name}/{FOLDER.name}: {why}")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for package in HEADERS:
        pip("install", "--no-deps", "--target", FOLDER / package, pinned(package))
    for package in SOURCES:
        pip("download", "--no-deps", "--no-binary", package, "--dest", FOLDER, pinned(package))
        [archive] = FOLDER.glob(f"{package}-*.tar.gz")
        unpack(archive, FOLDER / package)
    # Written last, so that its absence reveals an interrupted fetch.
    STAMP.write_text("\n".join(environment.requirements("libraries")))


def pinned(package: str) -> str:
    return next(pin for pin in environment.requirements("libraries") if pin.startswith(f"{package}=="))


def pip(*words) -> None:
    result = output([environment.python(), "-m", "pip", *words, "--quiet"])
    if result.returncode != 0:
        raise KitError(*environment.pip_failure([str(words[-1])], result.stdout), SETUP)


def unpack(archive: Path, place: Path) -> None:
    """Without the folder that bears the version, so that Meson's files need not know it."""
    with tarfile.open(archive) as packed:
        if sys.version_info >= (3, 12):
            packed.extractall(FOLDER, filter="data")
        else:
            packed.extractall(FOLDER)
    (FOLDER / archive.name.removesuffix(".tar.gz")).rename(place)
    archive.unlink()
