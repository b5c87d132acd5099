"""Packages of the operating system: what each distribution calls the things that the kit needs, and how they are installed."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

from ..console import say
from ..errors import SETUP, KitError
from ..process import output, tail


@dataclass(frozen=True)
class Need:
    """One thing that a command needs: what each distribution calls it, and what it is for."""

    purpose: str
    packages: dict[str, str]
    pkg_config: str = ""  # libraries: the name that pkg-config knows; Meson can build these itself


def library(pkg_config: str, purpose: str, apt: str, dnf: str, pacman: str, zypper: str) -> Need:
    return Need(purpose, {"apt-get": apt, "dnf": dnf, "pacman": pacman, "zypper": zypper}, pkg_config)


COMPILER = Need("compiles the emulator", {"apt-get": "g++", "dnf": "gcc-c++", "pacman": "gcc", "zypper": "gcc-c++"})
PKG_CONFIG = Need("finds libraries", {"apt-get": "pkg-config", "dnf": "pkgconf", "pacman": "pkgconf", "zypper": "pkgconf-pkg-config"})
VENV = Need(
    "holds the kit's own tools",
    {"apt-get": f"python3.{sys.version_info.minor}-venv", "dnf": "python3", "pacman": "python", "zypper": "python3"},
)
LIBRARIES = [
    library("fmt", "text", "libfmt-dev", "fmt-devel", "fmt", "fmt-devel"),
    library("nlohmann_json", "JSON", "nlohmann-json3-dev", "json-devel", "nlohmann-json", "nlohmann_json-devel"),
    library("liblz4", "reads compressed PTX", "liblz4-dev", "lz4-devel", "lz4", "liblz4-devel"),
    library("libzstd", "reads compressed PTX", "libzstd-dev", "libzstd-devel", "zstd", "libzstd-devel"),
]
# For labs 10 and 12. Without them the rest of the course is complete, so nothing waits for them but the tests.
OF_ONE_LAB = [
    library("OpenCL", "lab 10: OpenCL", "ocl-icd-opencl-dev opencl-headers pocl-opencl-icd",
            "ocl-icd-devel opencl-headers pocl", "ocl-icd opencl-headers pocl", "ocl-icd-devel opencl-headers pocl"),
    library("libclc", "lab 10: OpenCL C on the emulator", "clang libclc", "clang libclc-devel", "clang libclc", "clang libclc"),
    library("ompi-c", "lab 12: MPI", "libopenmpi-dev openmpi-bin", "openmpi-devel", "openmpi", "openmpi-devel"),
]  # fmt: skip
# For PDFs and for the tests that look at the site. Some distributions have it only as a snap, so nothing waits for it.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = Need("looks at the site", {"apt-get": "chromium", "dnf": "chromium", "pacman": "chromium", "zypper": "chromium"})
# Isolates a student's program when a class is graded.
SANDBOX = Need("keeps what is graded apart", {"apt-get": "bubblewrap", "dnf": "bubblewrap", "pacman": "bubblewrap", "zypper": "bubblewrap"})
# A cluster of one machine, for the tests that grade a class on it and run lab 12's ranks.
SLURM = Need("a cluster of this machine, for the tests", {"apt-get": "munge slurmctld slurmd slurm-client", "dnf": "munge slurm-slurmctld slurm-slurmd slurm",
             "pacman": "munge slurm-llnl", "zypper": "munge slurm slurm-node"})  # fmt: skip
TEST_LIBRARIES = [library("gtest", "the kit's own tests", "libgtest-dev", "gtest-devel", "gtest", "gtest")]

INSTALL = {
    "apt-get": "apt-get install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "zypper": "zypper install",
}


def manager() -> str | None:
    return next((name for name in INSTALL if shutil.which(name)), None)


def names(needs: list[Need]) -> str:
    chosen = manager() or "apt-get"
    words = " ".join(need.packages[chosen] for need in needs)
    return re.sub(r"\blibclc$|\blibclc(?= )", f"libclc{version_of_clang()}", words) if chosen == "apt-get" else words


def version_of_clang() -> str:
    """ "-14": Debian names libclc after the Clang that it was built for. Empty where that is not known."""
    found = re.search(r"Depends: clang(-\d+)", output(["apt-cache", "depends", "clang"]).stdout) if shutil.which("apt-cache") else None
    return found[1] if found else ""


def how_to_install(needs: list[Need]) -> str:
    """The line that an administrator types."""
    chosen = manager()
    if chosen is None:
        return f"An administrator must install these packages (with Debian's names): {names(needs)}"
    return f"An administrator must run: {INSTALL[chosen]} {names(needs)}"


def install(needs: list[Need]) -> None:
    for need in needs:
        say(f"installing {names([need])}: {need.purpose}")
    command = ["apt-get", "install", "-y", "--no-install-recommends", *names(needs).split()]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    if output(command, env=environment, stdin=subprocess.DEVNULL).returncode == 0:
        return
    say("updating the list of packages, which was out of date")
    output(["apt-get", "update"], env=environment, stdin=subprocess.DEVNULL)
    result = output(command, env=environment, stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        raise KitError(
            f"apt-get could not install {names(needs)}\n{tail(result.stdout, 8)}",
            "Check the network and the package sources, then run the same kit command again.",
            SETUP,
        )
