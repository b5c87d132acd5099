"""Prints the folder of the CUDA runtime's headers and the runtime's major version, a line each.

They come from NVIDIA's wheels, which pip installs for the build, or from the toolkit whose nvcc is on PATH."""

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def candidates() -> list[Path]:
    found = importlib.util.find_spec("nvidia")
    wheels = [Path(folder) for folder in found.submodule_search_locations] if found else []
    nvcc = shutil.which("nvcc")
    roots = [root for folder in wheels for root in sorted(folder.glob("cu[0-9]*"), reverse=True)]
    return [root / "include" for root in roots + ([Path(nvcc).resolve().parents[1]] if nvcc else [])]


def main() -> int:
    for include in candidates():
        header = include / "cuda_runtime_api.h"
        if header.exists() and (include / "crt" / "host_defines.h").exists():
            version = re.search(r"#define CUDART_VERSION\s+(\d+)", header.read_text())
            # Meson accepts folders inside the source tree, where a clone's own toolkit is, only by their relative path.
            print(os.path.relpath(include, HERE) if include.is_relative_to(HERE.parents[1]) else include)
            print(int(version[1]) // 1000)
            return 0
    print("the CUDA runtime's headers were not found: pip install nvidia-cuda-runtime nvidia-cuda-crt", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
