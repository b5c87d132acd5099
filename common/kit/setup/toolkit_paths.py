"""What a build must know about the CUDA toolkit: where it is, how old it is, and whether it accepts the host compiler.

Run by meson.build before it asks Meson for CUDA, because Meson's own message for a toolkit that it cannot use says
only that the compiler "can not compile programs". Standard library only; also imported by the kit's own commands.

    python3 toolkit_paths.py            prints `key<tab>value` lines, or says on stderr what is wrong and exits 1
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

OLDEST_TOOLKIT = (12, 0)


class ToolkitError(Exception):
    """The toolkit cannot be used; the text says why and what to do."""


@dataclass(frozen=True)
class Toolkit:
    nvcc: Path
    version: tuple[int, int]
    include: Path
    library: Path
    codes: tuple[int, ...]  # the capabilities that this nvcc makes machine code for, as 75, 80, ...
    keeps_ptx_plain: bool  # whether it knows --no-compress


def nvcc_on_path() -> Path | None:
    """The nvcc that Meson uses: it looks nowhere else."""
    found = shutil.which("nvcc")
    return Path(found) if found else None


USUAL_FOLDERS = ["/usr/local/cuda", "/opt/cuda"]


def other_nvccs(kit_toolkit: Path) -> list[Path]:
    """Compilers that are on the machine though not on PATH, best first."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), *USUAL_FOLDERS, str(kit_toolkit)]
    candidates = [Path(root) / "bin" / "nvcc" for root in roots if root]
    return [path for path in candidates if os.access(path, os.X_OK)]


def run(command: list[str], **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def read_version(nvcc: Path) -> tuple[int, int]:
    answer = run([str(nvcc), "--version"]).stdout
    match = re.search(r"release (\d+)\.(\d+)", answer)
    if not match:
        raise ToolkitError(f"{nvcc} --version does not name a release:\n{answer.strip()}")
    return int(match[1]), int(match[2])


def check_version(nvcc: Path, version: tuple[int, int]) -> None:
    if version < OLDEST_TOOLKIT:
        raise ToolkitError(
            f"{nvcc} is CUDA {version[0]}.{version[1]}; Warpfold needs {OLDEST_TOOLKIT[0]}.{OLDEST_TOOLKIT[1]} or newer.\n"
            "Put a newer nvcc first on PATH, or let `./kit setup` install one into the kit's own environment."
        )


def check_host_compiler(nvcc: Path) -> None:
    """nvcc rejects host compilers that it does not know; preprocessing an empty file is enough to find out."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.cu"
        source.touch()
        result = run([str(nvcc), "-E", str(source), "-o", os.devnull])
    judge_host_compiler(nvcc, result.returncode, result.stdout)


def judge_host_compiler(nvcc: Path | str, status: int, said: str) -> None:
    """Raises the reason for which nvcc rejects its host compiler, if it does."""
    if status == 0:
        return
    if "unsupported GNU version" in said or "unsupported clang version" in said:
        reason = re.search(r"unsupported (?:GNU|clang) version!([^\n]*)", said)[1].strip().split("! ")[0]
        raise ToolkitError(
            f"{nvcc} does not accept this machine's C++ compiler: {reason}.\n"
            "Install one that it accepts and name it, for example: export NVCC_PREPEND_FLAGS='-ccbin g++-13'"
        )
    if "Failed to preprocess host compiler properties" in said or "No such file" in said:
        raise ToolkitError(f"{nvcc} finds no C++ compiler. Install g++ (Debian, Ubuntu: apt-get install g++).\n{said.strip()}")
    raise ToolkitError(f"{nvcc} cannot preprocess an empty file:\n{said.strip()}")


def dry_run(nvcc: Path) -> str:
    """nvcc's own account of where its headers and libraries are; every layout of a toolkit answers it."""
    return run([str(nvcc), "--dryrun", "nothing.cu"]).stdout


def first_directory(listing: str, variable: str, flag: str, wanted: str) -> Path | None:
    """The first directory in nvcc's `variable` that holds a file called `wanted`."""
    for line in re.findall(rf"^#\$ {variable}=(.*)$", listing, re.MULTILINE):
        for word in shlex.split(line):
            directory = Path(word.removeprefix(flag))
            if any(directory.glob(wanted)):
                return directory.resolve()
    return None


def inspect(nvcc: Path) -> Toolkit:
    version = read_version(nvcc)
    check_version(nvcc, version)
    check_host_compiler(nvcc)
    listing = dry_run(nvcc)
    include = first_directory(listing, "INCLUDES", "-I", "cuda_runtime_api.h")
    library = first_directory(listing, "LIBRARIES", "-L", "libcudart.so")
    if include is None or library is None:
        missing = "cuda_runtime_api.h" if include is None else "libcudart.so"
        raise ToolkitError(
            f"{nvcc} is there but its toolkit has no {missing}: the CUDA runtime's development files are missing.\n"
            "Install them (NVIDIA's packages: cuda-cudart-dev), or let `./kit setup` install a complete toolkit."
        )
    codes = tuple(int(code) for code in re.findall(r"sm_(\d+)\b", run([str(nvcc), "--list-gpu-code"]).stdout))
    return Toolkit(nvcc, version, include, library, codes, "--no-compress" in run([str(nvcc), "--help"]).stdout)


def native_capability(toolkit: Toolkit) -> int | None:
    """The capability of this machine's first GPU, as 90 for 9.0; None without a GPU."""
    query = toolkit.nvcc.resolve().parent / "__nvcc_device_query"
    if not os.access(query, os.X_OK):
        return None
    result = subprocess.run([str(query)], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    match = re.match(r"\d+", result.stdout.strip()) if result.returncode == 0 else None
    return int(match[0]) if match else None


def missing_nvcc_message(kit_toolkit: Path) -> str:
    elsewhere = other_nvccs(kit_toolkit)
    if elsewhere:
        return f"nvcc is not on PATH, but there is one on this machine: export PATH={elsewhere[0].parent}:$PATH"
    return (
        "nvcc, the CUDA compiler, was not found. Either install the CUDA Toolkit (12.0 or newer) and put its bin folder on\n"
        "PATH, or run `./kit setup`, which installs NVIDIA's compiler into the kit's own environment."
    )


def main() -> int:
    root = Path(__file__).resolve().parents[3]
    nvcc = nvcc_on_path()
    try:
        if nvcc is None:
            raise ToolkitError(missing_nvcc_message(root / ".kit" / "toolkit"))
        toolkit = inspect(nvcc)
    except ToolkitError as error:
        print(error, file=sys.stderr)
        return 1
    # Meson accepts folders inside the source tree, where the kit's own toolkit is, only as relative paths.
    inside = toolkit.include.is_relative_to(root)
    capability = native_capability(toolkit)
    answers = {
        "version": f"{toolkit.version[0]}.{toolkit.version[1]}",
        "include": toolkit.include,
        "include_for_meson": toolkit.include.relative_to(root) if inside else toolkit.include,
        "library": toolkit.library,
        "plain_ptx": "yes" if toolkit.keeps_ptx_plain else "no",
        "gpu": capability or "",
        "native_code": capability if capability in toolkit.codes else "",
    }
    for key, value in answers.items():
        print(key, value, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
