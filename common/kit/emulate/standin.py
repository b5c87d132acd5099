"""The emulator's library: in a clone, built when it is first needed; in the Python package, included."""

import platform
from pathlib import Path

from ..errors import PROGRAM, KitError
from ..paths import PACKAGED_EMULATOR

# What the package's library is compiled for on x86-64 (common/emulator/meson.build); a clone's is for its own machine.
NEEDED_FLAGS = {"avx2", "bmi2", "f16c", "fma"}


def packaged() -> Path | None:
    """The library that came with `pip install warpfold`."""
    return next(iter(sorted(PACKAGED_EMULATOR.glob("libcudart.so.[0-9]*"))), None)


def library() -> Path:
    """The library, ready to be used instead of NVIDIA's runtime."""
    found = packaged()
    if found is None:
        from ..programs import folder

        build = folder.prepare()
        found = build.emulator()
        # Beside it: a program that calls NCCL gets that from the same folder, and OpenCL's loader the driver.
        build.compile([found, build.nccl(), *build.opencl()])
    else:
        require_processor()
    return found


def opencl_vendors(folder: Path) -> Path | None:
    """The folder beside the library that names the OpenCL driver to OpenCL's loader, if there is a driver."""
    return folder / "opencl-vendors" if (folder / "libwarpfold_opencl.so").exists() else None


def require_processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    if platform.machine() != "x86_64":
        return
    flags = next((line.split() for line in cpuinfo.read_text().splitlines() if line.startswith("flags")), [])
    if flags and (missing := NEEDED_FLAGS - set(flags)):
        raise KitError(
            f"this processor has no {', '.join(sorted(missing))}, which the package's emulator is compiled for",
            "Build it for this machine: clone the repository, and run ./kit emulate there.",
            PROGRAM,
        )
