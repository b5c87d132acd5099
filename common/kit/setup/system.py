"""What must come from the operating system, and how to get it: installed by root, named to everyone else."""

import os
import re
import shutil
import tempfile
from pathlib import Path

from ..console import say
from ..errors import SETUP, KitError
from ..process import output, tail
from .packages import (
    BROWSER,
    BROWSERS,
    COMPILER,
    LIBRARIES,
    OF_ONE_LAB,
    PKG_CONFIG,
    SANDBOX,
    SLURM,
    TEST_LIBRARIES,
    Need,
    how_to_install,
    install,
    manager,
    names,
)

__all__ = ["BROWSER", "SANDBOX", "SLURM", "how_to_install"]  # re-exported for code that asks what is missing

OLDEST_GXX = 11


def has_library(need: Need) -> bool:
    return output(["pkg-config", "--exists", need.pkg_config]).returncode == 0


def host_compiler() -> str | None:
    """What Meson compiles C++ with. Clang only if it is named: nvcc uses g++ unless told otherwise."""
    named = os.environ.get("CXX", "").strip()
    if named and not shutil.which(named.split()[0]):
        raise KitError(f"CXX={named}: there is no such compiler", "Name another one, or unset CXX.", SETUP)
    return next((name for name in [named, "c++", "g++"] if name and shutil.which(name.split()[0])), None)


def check_host_compiler() -> None:
    """Too old a compiler fails hundreds of lines into a build; better to say so at once."""
    compiler = host_compiler()
    text = output([*compiler.split(), "--version"]).stdout
    version = output([*compiler.split(), "-dumpversion"]).stdout.strip()
    major = re.match(r"\d+", version)
    if major and "clang" not in text and int(major[0]) < OLDEST_GXX:
        raise KitError(
            f"{compiler} is GCC {version}; Warpfold needs GCC {OLDEST_GXX} or newer",
            "Install a newer one and name it, for example: CXX=g++-12 NVCC_PREPEND_FLAGS='-ccbin g++-12' ./kit demo",
            SETUP,
        )


def try_host_compiler() -> None:
    """Before anything large is fetched for it: whether it makes a program of C++20 that can be linked."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.cpp"
        source.write_text("#include <compare>\n#include <span>\nint main() { return std::span<int>().size() != 0; }\n")
        result = output([*host_compiler().split(), "-std=c++20", source, "-o", source.with_suffix("")])
    if result.returncode != 0:
        raise KitError(f"{host_compiler()} cannot compile a program of C++20\n{tail(result.stdout, 6)}",
                       "Install a C++ compiler with its standard library, or name another one: CXX=g++-12 ./kit demo", SETUP)  # fmt: skip


def missing(tests: bool) -> list[Need]:
    needs = [] if host_compiler() else [COMPILER]
    if not shutil.which("pkg-config"):
        needs.append(PKG_CONFIG)
    return needs + [need for need in LIBRARIES + (TEST_LIBRARIES + OF_ONE_LAB if tests else []) if not has_library(need)]


def provide(needs: list[Need]) -> bool:
    """Installs what is missing, if that is allowed and succeeds; otherwise says what an administrator must install.

    Libraries are no reason to stop: the result is whether those of every build must come from PyPI (libraries.fetch)."""
    if not needs:
        return False
    is_necessary = any(not need.pkg_config and need is not PKG_CONFIG for need in needs)
    if os.geteuid() == 0 and manager() == "apt-get":
        try:
            install(needs)
            return False
        except KitError:
            if is_necessary:
                raise
    elif is_necessary:
        raise KitError("this machine lacks " + names(needs), how_to_install(needs), SETUP)
    for need in needs:
        if need in OF_ONE_LAB:
            say(f"not installed: {names([need])}; what needs it is skipped ({need.purpose})")
    return any(need in LIBRARIES for need in needs)


def find_browser() -> str | None:
    """The first that starts: Ubuntu's package chromium-browser is a script that asks for a snap."""
    found = [path for name in BROWSERS if (path := shutil.which(name))]
    return next((path for path in found if output([path, "--version"]).returncode == 0), None)


def offer(need: Need, found: bool) -> None:
    """Installs what was not found, if the kit may do so; otherwise the tests that need it are skipped and say so."""
    if found:
        return
    try:
        provide([need])
    except KitError:
        say(f"not installed: {names([need])}; the tests that need it are skipped")
