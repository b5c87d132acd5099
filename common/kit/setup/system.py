"""What must come from the operating system, and how to get it: installed by root, named to everyone else."""

import os
import re
import shutil

from ..console import say
from ..errors import SETUP, KitError
from ..process import output
from . import libraries
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
    named = os.environ.get("CXX", "")
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


def missing(tests: bool) -> list[Need]:
    needs = [] if host_compiler() else [COMPILER]
    if not shutil.which("pkg-config"):
        needs.append(PKG_CONFIG)
    return needs + [need for need in LIBRARIES + (TEST_LIBRARIES + OF_ONE_LAB if tests else []) if not has_library(need)]


def provide(needs: list[Need]) -> bool:
    """Installs what is missing, if that is allowed; otherwise says what an administrator must install.

    Libraries are no reason to stop: those of every build come from PyPI instead, and if so, the result is True."""
    if not needs:
        return False
    if os.geteuid() == 0 and manager() == "apt-get":
        install(needs)
        return False
    if any(not need.pkg_config and need is not PKG_CONFIG for need in needs):
        raise KitError("this machine lacks " + names(needs), how_to_install(needs), SETUP)
    for need in needs:
        if need in OF_ONE_LAB:
            say(f"not installed: {names([need])}; what needs it is skipped ({need.purpose})")
        elif need in TEST_LIBRARIES:
            say(f"not installed: {names([need])}; Meson will download and build its own copy")
    lacking = [need for need in needs if need in LIBRARIES]
    if not lacking:
        return False
    try:
        libraries.fetch()
    except KitError as error:
        raise KitError(str(error), f"{error.advice}\nOr do without: {how_to_install(lacking)}", error.code) from None
    return True


def find_browser() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def offer(need: Need, found: bool) -> None:
    """Installs what was not found, if the kit may do so; otherwise the tests that need it are skipped and say so."""
    if found:
        return
    try:
        provide([need])
    except KitError:
        say(f"not installed: {names([need])}; the tests that need it are skipped")
