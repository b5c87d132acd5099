"""nvcc, called so that the emulator can run the program: linked to the shared runtime, with line numbers.

In a clone it is the kit's choice of nvcc. In the Python package it is $NVCC, the machine's own, or the one from NVIDIA's
wheels: the first that makes programs for the runtime that the package replaces."""

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..errors import SETUP, KitError
from ..paths import EMULATOR, PACKAGED_EMULATOR, ROOT
from ..setup import toolkit_paths
from . import removed, standin

FLAGS = ["-cudart", "shared", "-lineinfo"]
NCCL_HEADERS = ROOT / "common" / "emulator" / "nccl" / "include"  # the stand-in's


@dataclass(frozen=True)
class Compiler:
    nvcc: Path
    link: Path  # the folder in which -lcudart is found
    runtime: Path  # the folder of NVIDIA's own runtime, for a GPU

    def command(self, words: list[str]) -> list[str]:
        """The whole command. The user's arguments come last, so that they take precedence. NCCL is NVIDIA's where nvcc or its host
        compiler finds one by itself, and else the stand-in. Of the arguments, --legacy is the kit's own."""
        linker = [word for part in ("--enable-new-dtags", "-rpath", str(self.runtime)) for word in ("-Xlinker", part)]
        own_nccl = [f"-L{EMULATOR}"] if self.link != PACKAGED_EMULATOR else []
        headers = [NCCL_HEADERS, *([removed.HEADER.parent] if removed.OPTION in words else [])]
        host = ["-Xcompiler", ",".join(map(quoted, [*linker, *(word for each in headers for word in ("-idirafter", str(each)))]))]
        legacy = ["-include", removed.HEADER.name] if removed.OPTION in words else []
        nvccs = [word for word in words if word != removed.OPTION]
        return [str(self.nvcc), *FLAGS, f"-L{self.link}", *own_nccl, *host, *legacy, *nvccs]


def quoted(word: str) -> str:
    """For -Xcompiler, which nvcc takes apart at commas and gives to a shell. (It escapes what -Xlinker is given, wrongly.)"""
    return '"' + word.replace(",", "\\,") + '"'


def find() -> Compiler:
    if standin.packaged() is None:
        from ..setup import toolchain

        toolkit = toolchain.nvcc()
        return Compiler(toolkit.nvcc, toolkit.library, toolkit.library)
    return for_package(int(standin.packaged().suffix[1:]))


def of_wheels() -> Path | None:
    """The nvcc from NVIDIA's wheels in this Python environment."""
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations) if spec else []
    found = [nvcc for folder in folders for nvcc in sorted(Path(folder).glob("cu[0-9]*/bin/nvcc"))]
    return found[-1] if found else None


def for_package(major: int) -> Compiler:
    wheels = of_wheels()
    usual = [Path(root) / "bin" / "nvcc" for root in toolkit_paths.USUAL_FOLDERS]
    named = [os.environ.get("NVCC"), shutil.which("nvcc"), *(path for path in usual if path.exists()), wheels]
    refused = []
    for nvcc in dict.fromkeys(Path(name) for name in named if name):
        try:
            found = toolkit_paths.read_version(nvcc)
        except (toolkit_paths.ToolkitError, OSError) as error:
            refused.append(f"{nvcc} cannot be run ({error})")
            continue
        if found[0] == major:
            require_host_compiler(nvcc)
            return Compiler(nvcc, PACKAGED_EMULATOR, nvcc.resolve().parents[1] / ("lib" if nvcc == wheels else "lib64"))
        refused.append(f"{nvcc} is CUDA {found[0]}.{found[1]}")
    said = "; ".join(refused) if refused else "there is none here"
    raise KitError(f"this emulator needs the nvcc of CUDA {major}: {said}", "pip install 'warpfold[nvcc]' installs NVIDIA's.", SETUP)


def require_host_compiler(nvcc: Path) -> None:
    try:
        toolkit_paths.check_host_compiler(nvcc)
    except toolkit_paths.ToolkitError as error:
        raise KitError(str(error), code=SETUP) from error
