"""C++ libraries that the machine lacks and that nobody here may install: fetched from PyPI into .kit/libraries.

Headers come from packages that ship them; lz4 and zstd from the source that their Python bindings carry, compiled here.
Files for pkg-config make Meson treat them as the system's. If PyPI cannot be reached either, Meson still fetches
and builds its own copies (subprojects/)."""

import os
import shutil
import sys
import tarfile
from pathlib import Path

from ..console import say
from ..errors import SETUP, KitError
from ..paths import OWN, VENV
from ..process import output, tail
from . import environment

FOLDER = OWN / "libraries"
PC_FILES = FOLDER / "pkgconfig"

# By pkg-config name: the package, where its headers are in it, and further flags for the compiler.
HEADERS = {
    "fmt": ("cmeel-fmt", "cmeel.prefix/include", "-DFMT_HEADER_ONLY"),
    "nlohmann_json": ("nlohmann-json", "nlohmann_json/include", ""),
}
# The source package, the one file to compile, and how.
SOURCES = {
    "liblz4": ("lz4", "lz4libs/lz4.c", []),
    "libzstd": ("zstandard", "zstd/zstd.c", ["-DZSTD_DISABLE_ASM=1", "-DZSTD_LEGACY_SUPPORT=0"]),
}


def variables() -> dict[str, str]:
    """The environment in which pkg-config finds them, and is found itself; empty if none were fetched."""
    if not PC_FILES.exists():
        return {}
    told = {"PKG_CONFIG_PATH": os.pathsep.join(filter(None, [str(PC_FILES), os.environ.get("PKG_CONFIG_PATH")]))}
    return told if shutil.which("pkg-config") else told | {"PKG_CONFIG": program()}


def program() -> str:
    """pkg-config: the machine's, or the one that PyPI has, past its Python wrapper, which says nothing into a pipe."""
    own = next(VENV.glob("lib/python3*/site-packages/pkgconf/.bin/pkgconf"), "pkg-config")
    return shutil.which("pkg-config") or str(own)


def fetch(names: list[str]) -> bool:
    """Fetches these libraries, and pkg-config if there is none. False if that fails."""
    try:
        if not shutil.which("pkg-config"):
            environment.install("pkgconf", "finds libraries")
        environment.make_venv()
        for name in names:
            if not (PC_FILES / f"{name}.pc").exists():
                say(f"fetching {name} into {OWN.name}/{FOLDER.name}")
                fetch_headers(name) if name in HEADERS else build(name)
    except KitError as error:
        say(str(error).splitlines()[0])
        return False
    return True


def pinned(package: str) -> str:
    return next(pin for pin in environment.requirements("libraries") if pin.startswith(f"{package}=="))


def pip(*words) -> None:
    result = output([environment.python(), "-m", "pip", *words])
    if result.returncode != 0:
        raise KitError(*environment.pip_failure([str(words[-1])], result.stdout), SETUP)


def fetch_headers(name: str) -> None:
    package, headers, flags = HEADERS[name]
    pip("install", "--quiet", "--no-deps", "--upgrade", "--target", FOLDER / package, pinned(package))
    include = FOLDER / package / headers
    describe(name, pinned(package), f"-I{include} {flags}".strip(), "")


def build(name: str) -> None:
    package, source, flags = SOURCES[name]
    place = FOLDER / package
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    pip("download", "--quiet", "--no-deps", "--no-binary", package, "--dest", place, pinned(package))
    [archive] = place.glob("*.tar.gz")
    with tarfile.open(archive) as unpacked:
        if sys.version_info >= (3, 12):
            unpacked.extractall(place, filter="data")
        else:
            unpacked.extractall(place)
    [root] = [path for path in place.iterdir() if path.is_dir()]
    file = root / source
    compiled = place / "library.o"
    compiler = os.environ.get("CC") or next((found for found in ("cc", "gcc", "clang") if shutil.which(found)), "cc")
    for command in (
        [*compiler.split(), "-O2", "-fPIC", "-w", *flags, "-c", file, "-o", compiled],
        ["ar", "rcs", place / f"{name}.a", compiled],
    ):
        result = output(command)
        if result.returncode != 0:
            raise KitError(f"{name} cannot be compiled\n{tail(result.stdout, 8)}", code=SETUP)
    describe(name, pinned(package), f"-I{file.parent}", f"-L{place} -l{name.removeprefix('lib')} -lpthread")


def describe(name: str, pin: str, compile_flags: str, link_flags: str) -> None:
    """Written last, so that its absence reveals an interrupted fetch."""
    PC_FILES.mkdir(parents=True, exist_ok=True)
    text = f"Name: {name}\nDescription: from {pin}\nVersion: {pin.split('==')[1]}\nCflags: {compile_flags}\nLibs: {link_flags}\n"
    path: Path = PC_FILES / f"{name}.pc"
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)
