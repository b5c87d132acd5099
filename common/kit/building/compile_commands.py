"""How each file is compiled, as Clang's tools read it: .kit/compile_commands.json, which .clangd names to editors.

Meson writes such a file too, but one that they cannot read well: most C++ is compiled several files at a time, so that
a file has no entry of its own, and CUDA by nvcc, whose flags Clang does not know.
"""

import json
import re
import shlex
from pathlib import Path

from ..paths import OWN, ROOT
from ..setup.toolkit_paths import Toolkit, inspect

FILE = OWN / "compile_commands.json"
# Read in front of a CUDA file in place of Clang's own header for it, which takes only the toolkits that it knows.
CUDA_FOR_CLANG = ROOT / "common" / "editor" / "cuda_for_clang.hpp"

# What a compiler's flag must begin with to say something of the language; the others are about making code.
TELLING = ("-D", "-U", "-W", "-fwrapv", "-pthread")
FOLDER_FLAGS = ("-isystem", "-I")
PIECE = re.compile(r'^#include\s*[<"](.+)[>"]$', re.MULTILINE)


def telling_flags(command: list[str], directory: Path) -> list[str]:
    """The flags that say what a source means; folders by their whole names."""
    kept = []
    words = iter(command)
    for word in words:
        folder_flag = next((flag for flag in FOLDER_FLAGS if word.startswith(flag)), None)
        if folder_flag:
            folder = word.removeprefix(folder_flag).removeprefix("=") or next(words)
            kept += [folder_flag, str((directory / folder).resolve())]
        elif word.lstrip("-").startswith("std="):
            kept.append("-" + word.lstrip("-"))
        elif word.startswith(TELLING) and word != "-Winvalid-pch":
            kept.append(word)
    return kept


def sources_of(source: Path) -> list[Path]:
    """The file itself, or those that Meson lets be compiled as one."""
    if not re.search(r"-unity\d+\.cpp$", source.name):
        return [source]
    return [Path(name).resolve() for name in PIECE.findall(source.read_text())]


def cuda_flags(toolkit: Toolkit) -> list[str]:
    major, minor = toolkit.version
    return ["-xcuda", f"-D__CUDACC_VER_MAJOR__={major}", f"-D__CUDACC_VER_MINOR__={minor}", "--cuda-host-only", "-Xclang", "-fcuda-allow-variadic-functions", "-nocudainc", "-nocudalib", "-Wno-unknown-cuda-version", "-D__NV_NO_HOST_COMPILER_CHECK=1",
            "-isystem", str(toolkit.include), "-isystem", str(toolkit.include / "cccl"), "-include", str(CUDA_FOR_CLANG)]  # fmt: skip


def for_clang(entries: list[dict], toolkit: Toolkit) -> list[dict]:
    """Meson's entries, one for each file that somebody wrote."""
    result = {}
    for entry in entries:
        directory = Path(entry["directory"])
        flags = telling_flags(shlex.split(entry["command"]), directory)
        for source in sources_of((directory / entry["file"]).resolve()):
            language = cuda_flags(toolkit) if source.suffix == ".cu" else []
            command = ["clang++", *language, *flags, "-Wno-unknown-pragmas"]
            result.setdefault(str(source), {"directory": str(ROOT), "arguments": [*command, str(source)], "file": str(source)})
    return sorted(result.values(), key=lambda entry: entry["file"])


def refresh(build: Path, nvcc: Path) -> None:
    """Written again after Meson has written its own."""
    meson = build / "compile_commands.json"
    newest = max(path.stat().st_mtime_ns for path in (meson, Path(__file__)))
    if FILE.exists() and FILE.stat().st_mtime_ns >= newest:
        return
    text = json.dumps(for_clang(json.loads(meson.read_text()), inspect(nvcc)), indent=1) + "\n"
    fresh = FILE.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(FILE)
