"""The tools that a build needs: a C++ compiler, nvcc, Meson and Ninja, from the machine or from the kit's own environment."""

import os
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ..console import say
from ..errors import SETUP, KitError
from ..paths import ROOT, TOOLKIT, VENV
from ..process import output, relative
from . import environment, nccl, system, toolkit_paths
from .lock import exclusive
from .toolkit_paths import Toolkit, ToolkitError

OLDEST_MESON = (1, 0)
OLDEST_NINJA = (1, 10)


@dataclass(frozen=True)
class Tools:
    meson: str
    ninja: str
    nvcc: Path
    kit_libraries: bool  # C++ libraries from PyPI instead of the machine's

    def environ(self) -> dict[str, str]:
        """The environment for Meson, Ninja and everything that they start."""
        own = [str(VENV / "bin")] if VENV.exists() else []
        path = os.pathsep.join([*own, str(self.nvcc.parent), os.environ.get("PATH", os.defpath)])
        return os.environ | {"PATH": path, "NINJA": self.ninja}


def prepare(tests: bool = False, nccl_wanted: bool = False) -> Tools:
    """Sets up whatever is missing for a build (with the kit's own tests, if requested; with NCCL, if there are GPUs for it or if
    requested) and returns the tools."""
    if platform.system() != "Linux":
        raise KitError(
            f"Warpfold runs on Linux; this is {platform.system()}",
            "On Windows, use WSL2; on a Mac, use a Linux machine or container.",
            SETUP,
        )
    require_usable_path(str(ROOT))
    with exclusive():
        environment.free_scripts()  # those of a clone that an older kit set up and that was moved since
        kit_libraries = system.provide(system.missing(tests))
        system.check_host_compiler()
        meson, ninja = program("meson", OLDEST_MESON, "describes the build"), program("ninja", OLDEST_NINJA, "runs the build")
        toolkit = nvcc()
        nccl.provide(toolkit, nccl_wanted)
        return Tools(meson, ninja, toolkit.nvcc, kit_libraries)


def require_usable_path(path: str) -> None:
    """nvcc and Meson hand paths to a shell in double quotes, and the loader of programs takes lists of paths apart at : and ;."""
    if found := sorted(set(path) & set('"$`:;\n')):
        raise KitError(
            f"the path of this clone, {path!r}, contains {' and '.join(map(repr, found))}, which nvcc and the system's loader do not accept",
            "Rename or move the folder; spaces, accents, apostrophes and # are fine.",
            SETUP,
        )


def program(name: str, oldest: tuple[int, int], purpose: str) -> str:
    """The machine's own program if it is new enough, else the pinned one."""
    found = shutil.which(name)
    if found and version_of(found) >= oldest:
        return found
    if found:
        say(f"{found} is older than {oldest[0]}.{oldest[1]}, so the kit uses its own")
    environment.install("build", f"{name} {purpose}")
    return str(VENV / "bin" / name)


def version_of(path: str) -> tuple[int, int]:
    result = output([path, "--version"])
    match = re.match(r"(\d+)\.(\d+)", result.stdout.strip()) if result.returncode == 0 else None
    return (int(match[1]), int(match[2])) if match else (0, 0)


def nvcc() -> Toolkit:
    """The first usable nvcc of: $NVCC, PATH, the usual folders, the kit's own; the last is installed if there is no other."""
    if named := os.environ.get("NVCC"):
        return named_nvcc(named)
    first = toolkit_paths.nvcc_on_path()
    candidates = list(dict.fromkeys(([first] if first else []) + toolkit_paths.other_nvccs(TOOLKIT)))
    refusals = []
    for candidate in candidates:
        if candidate == TOOLKIT / "bin" / "nvcc" and not environment.is_installed("toolkit"):
            continue
        try:
            return toolkit_paths.inspect(candidate)
        except ToolkitError as error:
            refusals.append(str(error))
    for refusal in refusals:
        say(refusal.splitlines()[0])
    return install_toolkit(nvcc_is_there=bool(refusals))


def named_nvcc(name: str) -> Toolkit:
    """The user's own choice: used, or rejected with a reason, but never ignored."""
    path = Path(name).absolute()
    if path.name != "nvcc" or not os.access(path, os.X_OK) or path.is_dir():
        raise KitError(f"NVCC={name}: not an nvcc that can be run", "Give its full path, for example NVCC=/usr/local/cuda/bin/nvcc.", SETUP)
    try:
        return toolkit_paths.inspect(path)
    except ToolkitError as error:
        raise KitError(f"NVCC={name}: {error}", code=SETUP) from error


def install_toolkit(nvcc_is_there: bool) -> Toolkit:
    """NVIDIA's wheels together form a toolkit, except for two links that a linker looks for."""
    if platform.machine() not in ("x86_64", "aarch64"):
        raise KitError(f"no usable nvcc, and NVIDIA's compiler does not exist for {platform.machine()}", code=SETUP)
    why = "no usable nvcc was found" if nvcc_is_there else "no nvcc was found"
    environment.install("toolkit", f"{why}; NVIDIA's own CUDA compiler goes into the kit's environment")
    shape_toolkit()
    try:
        return toolkit_paths.inspect(TOOLKIT / "bin" / "nvcc")
    except ToolkitError as error:
        raise KitError(str(error), code=SETUP) from error


def shape_toolkit() -> None:
    packages = VENV / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    roots = sorted(packages.glob("nvidia/cu[0-9]*/bin/nvcc"))
    if not roots:
        raise KitError(f"NVIDIA's compiler wheels hold no bin/nvcc below {relative(packages)}/nvidia", code=SETUP)
    root = roots[-1].parents[1]
    link(root / "lib64", "lib")
    runtimes = sorted((root / "lib").glob("libcudart.so.*"))
    if not runtimes:
        raise KitError("NVIDIA's runtime wheel holds no libcudart", code=SETUP)
    link(root / "lib" / "libcudart.so", runtimes[0].name)
    link(TOOLKIT, os.path.relpath(root, TOOLKIT.parent))


def link(path: Path, target: str) -> None:
    """Creates or corrects a symbolic link in one step."""
    if path.is_symlink() and os.readlink(path) == target:
        return
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(path)
