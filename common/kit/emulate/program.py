"""Which programs the emulator can run, what to do about the others, and the environment in which they run on it."""

import os
import platform
import re
import shutil
from pathlib import Path

from .. import console
from ..errors import PROGRAM, KitError
from . import elf, standin

# What works only with NVIDIA's driver: its own functions, and libraries that come as machine code of GPUs.
NEEDS_DRIVER = re.compile(r"lib(cuda|(cublas|cudnn|cufft|curand|cusolver|cusparse|cutensor|npp|nvblas|nvjpeg)\w*)\.so")
DRIVER_FUNCTION = re.compile(r"cu(blas|dnn|fft|rand|solver|sparse|tensor|[A-Z])|npp|nvjpeg")


def relink() -> str:
    return f"""Link it to the shared runtime instead: {console.PROGRAM} nvcc program.cu -o program
In a build that calls nvcc: NVCC_APPEND_FLAGS="-cudart shared" in its environment.
With CMake: -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared"""


def find(name: str) -> Path:
    """Finds a program as a shell would: a name with a slash is a path; one without is looked up on PATH, then in the current folder."""
    if "/" not in name:
        found = shutil.which(name) or (name if Path(name).is_file() else None)
        if found is None:
            raise KitError(f"no program called {name}, neither on PATH nor here", "Give its path, for example ./program.", PROGRAM)
        name = found
    path = Path(name)
    if not path.exists():
        raise KitError(f"no such program: {name}", "Build it first, or check the path.", PROGRAM)
    if path.is_dir():
        raise KitError(f"{name} is a folder, not a program", code=PROGRAM)
    if not os.access(path, os.R_OK):
        raise KitError(f"{name} cannot be read", f"chmod u+r {name}", PROGRAM)
    return path.absolute()


def require_emulatable(path: Path) -> None:
    if path.suffix in (".cu", ".cpp", ".cc", ".c"):
        raise KitError(
            f"{path.name} is source code, not a program", f"Compile it first: {console.PROGRAM} nvcc {path.name} -o {path.stem}", PROGRAM
        )
    try:
        program = elf.read(path)
    except elf.NotElf as error:
        raise KitError(f"{error}: not a program that nvcc built", script_advice(path), PROGRAM) from error
    if program.bits != 64 or program.machine != platform.machine():
        raise KitError(f"{path.name} is a program for {program.machine}; this machine is {platform.machine()}", code=PROGRAM)
    if not os.access(path, os.X_OK):
        raise KitError(f"{path.name} is not executable", f"chmod +x {path.name}", PROGRAM)
    parts = [program, *elf.libraries(program)]
    if static := linked_statically(parts):
        raise KitError(f"{static.path.name} is linked to the static CUDA runtime, which cannot be replaced", relink(), PROGRAM)
    for part in parts:
        check_driver(part)
    if any(part.runtime or part.uses_opencl for part in parts):
        return
    raise KitError(
        f"{path.name} is not a CUDA program: it carries no GPU code and links to no CUDA runtime, nor to OpenCL",
        f"{console.PROGRAM} nvcc program.cu -o program makes one that runs on the emulator.",
        PROGRAM,
    )


def check_driver(part: elf.Elf) -> None:
    libraries = [name for name in part.needed if NEEDS_DRIVER.match(name)]
    if not libraries or NEEDS_DRIVER.match(part.path.name):
        return
    try:
        functions = sorted(name for name in elf.imports(part.path) if DRIVER_FUNCTION.match(name))
    except elf.NotElf as error:
        raise KitError(str(error), code=PROGRAM) from error
    if not functions and "libcuda.so.1" not in libraries:
        return
    called = ", ".join(functions[:4]) + (f" and {len(functions) - 4} more" if len(functions) > 4 else "")
    raise KitError(
        f"{part.path.name} is linked to {', '.join(libraries)}, which needs NVIDIA's driver"
        + (f": it calls {called}" if functions else ""),
        "The emulator has the functions of the CUDA runtime (cuda...) and of NCCL, and no others of NVIDIA's.",
        PROGRAM,
    )


def linked_statically(parts: list[elf.Elf]) -> elf.Elf | None:
    """Which of a program's files holds GPU code, if none of them asks for the CUDA runtime as a shared library."""
    return None if any(part.runtime for part in parts) else next((part for part in parts if part.carries_gpu_code), None)


def script_advice(path: Path) -> str:
    with open(path, "rb") as file:
        if file.read(2) == b"#!":
            return f"It is a script: give {console.PROGRAM} emulate the program that the script starts."
    return "Give the file that nvcc or the linker wrote."


def check_version(program: elf.Elf, emulator: Path) -> None:
    """The loader finds a library by its exact name, so a CUDA 12 program never gets a stand-in for CUDA 13's runtime."""
    for part in [program, *elf.libraries(program)]:
        if part.runtime and not (emulator.parent / part.runtime).exists():
            raise KitError(
                f"{part.path.name} needs {part.runtime}; this emulator stands in for {emulator.name}",
                f"{console.PROGRAM} nvcc builds it with the compiler that fits."
                + ("" if standin.packaged() else " Or configure the kit with the program's toolkit: NVCC=.../bin/nvcc ./kit setup"),
                PROGRAM,
            )


def check_opencl(program: elf.Elf, folder: Path) -> None:
    if standin.opencl_vendors(folder) is None and any(part.uses_opencl for part in [program, *elf.libraries(program)]):
        raise KitError(
            f"{program.path.name} uses OpenCL, and the emulator was built without OpenCL's headers",
            "Install them (Debian, Ubuntu: opencl-headers), then: ./kit setup",
            PROGRAM,
        )


def emulated(folder: Path) -> dict[str, str]:
    """The environment in which a program finds the emulator instead of NVIDIA's runtime, and as OpenCL's only device."""
    rest = os.environ.get("LD_LIBRARY_PATH", "")
    vendors = standin.opencl_vendors(folder)
    opencl = {"OCL_ICD_VENDORS": str(vendors)} if vendors else {}
    return os.environ | opencl | {"LD_LIBRARY_PATH": f"{folder}:{rest}" if rest else str(folder)}


def checked(environment: dict[str, str]) -> dict[str, str]:
    """The same for a program whose hazards are looked for."""
    return {"WARPFOLD_GUARD_DEVICE_MEMORY": "on", "WARPFOLD_BOTH_ORDERS": "on"} | environment | {"WARPFOLD_CHECKS": "all"}
