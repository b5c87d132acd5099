"""How each file is compiled, as Clang's tools read it: .kit/compile_commands.json, which .clangd names to editors.

Meson writes such a file too, but Clang's tools cannot use it well: most C++ is compiled several files at a time, so that
a single file has no entry of its own, and CUDA is compiled by nvcc, whose flags Clang does not know.
"""

import json
import re
import shlex
from pathlib import Path

from ..paths import OWN, ROOT
from ..setup.toolkit_paths import Toolkit, inspect

FILE = OWN / "compile_commands.json"
KITS_BUILD = OWN / "build"
# Read before a CUDA file instead of Clang's own header, which accepts only the toolkits that it knows.
CUDA_FOR_CLANG = ROOT / "common" / "editor" / "cuda_for_clang.hpp"

# How a compiler flag begins if it concerns the language; the others concern code generation.
TELLING = ("-D", "-U", "-W", "-fwrapv", "-pthread")
FOLDER_FLAGS = ("-isystem", "-I")
PIECE = re.compile(r'^#include\s*[<"](.+)[>"]$', re.MULTILINE)


def telling_flags(command: list[str], directory: Path) -> list[str]:
    """The flags that determine what a source means, with absolute paths of folders."""
    kept = []
    words = iter(command)
    for word in words:
        folder_flag = next((flag for flag in FOLDER_FLAGS if word.startswith(flag)), None)
        if folder_flag:
            folder = word.removeprefix(folder_flag).removeprefix("=") or next(words)
            kept.append(f"{folder_flag}{(directory / folder).resolve()}")
        elif word.lstrip("-").startswith("std="):
            kept.append("-" + word.lstrip("-"))
        elif word.startswith(TELLING) and word != "-Winvalid-pch":
            kept.append(word)
    return kept


def sources_of(source: Path) -> list[Path]:
    """The file itself, or the files that Meson compiles together as one."""
    if not re.search(r"-unity\d+\.cpp$", source.name):
        return [source]
    return [Path(name).resolve() for name in PIECE.findall(source.read_text())]


def cuda_flags(toolkit: Toolkit, flags: list[str]) -> list[str]:
    """The flags of a CUDA file. NVIDIA's headers are not system headers here, because editors hide names such as __shfl_sync from those."""
    major, minor = toolkit.version
    found = ["-xcuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-Xclang", "-fcuda-allow-variadic-functions"]
    found += [f"-D__CUDACC_VER_MAJOR__={major}", f"-D__CUDACC_VER_MINOR__={minor}", "-D__NV_NO_HOST_COMPILER_CHECK=1"]
    found += ["-Wno-unknown-cuda-version", f"-I{toolkit.include}", f"-I{toolkit.include / 'cccl'}", "-include", str(CUDA_FOR_CLANG)]
    return found + [flag for flag in flags if flag != f"-isystem{toolkit.include.resolve()}"]


def for_clang(entries: list[dict], toolkit: Toolkit) -> list[dict]:
    """Meson's entries, one for each handwritten file; files that are compiled as one have one output."""
    result = {}
    for entry in entries:
        directory = Path(entry["directory"])
        flags = telling_flags(shlex.split(entry["command"]), directory)
        for source in sources_of((directory / entry["file"]).resolve()):
            command = ["clang++", *(cuda_flags(toolkit, flags) if source.suffix == ".cu" else flags), "-Wno-unknown-pragmas"]
            said = {"directory": str(ROOT), "arguments": [*command, str(source)], "file": str(source), "output": entry["output"]}
            result.setdefault(str(source), said)
    return sorted(result.values(), key=lambda entry: entry["file"])


def refresh(build: Path, nvcc: Path) -> None:
    """Writes the file again whenever Meson has written its own."""
    meson = build / "compile_commands.json"
    newest = max(path.stat().st_mtime_ns for path in (meson, Path(__file__)))
    if FILE.exists() and FILE.stat().st_mtime_ns >= newest:
        return
    text = json.dumps(for_clang(json.loads(meson.read_text()), inspect(nvcc)), indent=1) + "\n"
    fresh = FILE.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(FILE)


def after_meson(build: str, nvcc: str) -> None:
    """Meson calls this when it has configured any build: who never starts `./kit` has an editor, too. Beside the kit's own build, another
    one's commands are no news."""
    if KITS_BUILD.exists() and KITS_BUILD != Path(build).resolve():
        return
    try:
        OWN.mkdir(exist_ok=True)
        refresh(Path(build), Path(nvcc))
    except OSError as error:  # a tree that cannot be written to can still be built
        print(f"Editors will not know how the files are compiled: {error}")
