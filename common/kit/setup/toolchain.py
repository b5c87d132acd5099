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
from ..paths import BUILD, ROOT, TOOLKIT, VENV
from ..process import output, relative
from . import environment, libraries, nccl, plan, system, toolkit_paths
from .lock import exclusive
from .toolkit_paths import Toolkit, ToolkitError

PROGRAMS = [("meson", (1, 0), "describes the build"), ("ninja", (1, 10), "runs the build")]


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
        toolkit, refusals = usable_nvcc()
        if pieces := lacking(kit_libraries, toolkit):
            if pieces != ["compilation"]:
                environment.require_venv_module()
            system.try_host_compiler()
            plan.announce(pieces)
        if kit_libraries:
            libraries.fetch()
        meson, ninja = (program(*each) for each in PROGRAMS)
        toolkit = toolkit or install_toolkit(refusals)
        nccl.provide(toolkit, nccl_wanted)
        return Tools(meson, ninja, toolkit.nvcc, kit_libraries)


def lacking(kit_libraries: bool, toolkit: Toolkit | None) -> list[str]:
    """The pieces of a set-up (plan.PIECES) that this clone lacks."""
    own = {
        "libraries": kit_libraries and not libraries.fetched(),
        "build": not all(of_machine(name, oldest) for name, oldest, _ in PROGRAMS) and not environment.is_installed("build"),
        "toolkit": toolkit is None,
    }
    wanted = {"venv": any(own.values()) and not environment.venv_works(), **own, "compilation": not (BUILD / "build.ninja").exists()}
    return [piece for piece in plan.PIECES if wanted[piece]]


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
    if found := of_machine(name, oldest):
        return found
    if found := shutil.which(name):
        say(f"{found} is older than {oldest[0]}.{oldest[1]}, so the kit uses its own")
    environment.install("build", f"{name} {purpose}")
    return str(VENV / "bin" / name)


def of_machine(name: str, oldest: tuple[int, int]) -> str | None:
    found = shutil.which(name)
    return found if found and version_of(found) >= oldest else None


def version_of(path: str) -> tuple[int, int]:
    result = output([path, "--version"])
    match = re.match(r"(\d+)\.(\d+)", result.stdout.strip()) if result.returncode == 0 else None
    return (int(match[1]), int(match[2])) if match else (0, 0)


def nvcc() -> Toolkit:
    toolkit, refusals = usable_nvcc()
    return toolkit or install_toolkit(refusals)


def usable_nvcc() -> tuple[Toolkit | None, list[str]]:
    """The first usable nvcc of: $NVCC, PATH, the usual folders, the kit's own; and why those before it were rejected."""
    if named := os.environ.get("NVCC"):
        return named_nvcc(named), []
    first = toolkit_paths.nvcc_on_path()
    candidates = list(dict.fromkeys(([first] if first else []) + toolkit_paths.other_nvccs(TOOLKIT)))
    refusals = []
    for candidate in candidates:
        if candidate == TOOLKIT / "bin" / "nvcc" and not environment.is_installed("toolkit"):
            continue
        try:
            return toolkit_paths.inspect(candidate), refusals
        except ToolkitError as error:
            refusals.append(str(error))
    return None, refusals


def named_nvcc(name: str) -> Toolkit:
    """The user's own choice: used, or rejected with a reason, but never ignored."""
    path = Path(name).absolute()
    if path.name != "nvcc" or not os.access(path, os.X_OK) or path.is_dir():
        raise KitError(f"NVCC={name}: not an nvcc that can be run", "Give its full path, for example NVCC=/usr/local/cuda/bin/nvcc.", SETUP)
    try:
        return toolkit_paths.inspect(path)
    except ToolkitError as error:
        raise KitError(f"NVCC={name}: {error}", code=SETUP) from error


def install_toolkit(refusals: list[str]) -> Toolkit:
    """NVIDIA's wheels together form a toolkit, except for two links that a linker looks for."""
    for refusal in refusals:
        say(refusal.splitlines()[0])
    if platform.machine() not in ("x86_64", "aarch64"):
        raise KitError(f"no usable nvcc, and NVIDIA's compiler does not exist for {platform.machine()}", code=SETUP)
    why = "no usable nvcc was found" if refusals else "no nvcc was found"
    environment.install("toolkit", f"{why}; NVIDIA's own CUDA compiler goes into the kit's environment", try_host_compiler)
    shape_toolkit()
    try:
        return toolkit_paths.inspect(TOOLKIT / "bin" / "nvcc")
    except ToolkitError as error:
        raise KitError(str(error), code=SETUP) from error


def try_host_compiler() -> None:
    """Asks NVIDIA's own header, from a small package, whether nvcc will accept this compiler, before the other 270 MB are fetched."""
    environment.install_pins([pin for pin in environment.requirements("toolkit") if pin.startswith("nvidia-cuda-crt")])
    [header] = site_packages().glob("nvidia/cu[0-9]*/include/crt/host_config.h")
    named = re.search(r"(?:-ccbin|--compiler-bindir)[= ](\S+)", os.environ.get("NVCC_PREPEND_FLAGS", ""))
    compiler = named[1] if named else os.environ.get("NVCC_CCBIN") or "g++"
    result = output([compiler, "-E", "-x", "c++", "-D__CUDACC__", "-I", header.parents[1], header, "-o", os.devnull])
    try:
        toolkit_paths.judge_host_compiler("NVIDIA's compiler", result.returncode, result.stdout)
    except ToolkitError as error:
        raise KitError(str(error), code=SETUP) from error


def site_packages() -> Path:
    return VENV / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def shape_toolkit() -> None:
    packages = site_packages()
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
