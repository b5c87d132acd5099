"""C++ and CUDA: their formatting, what clang-tidy finds in them, and what an editor shows about them."""

import json
import os
import re
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .. import console
from ..paths import OWN, ROOT, VENV
from ..process import output
from ..programs import compile_commands, folder
from ..setup import environment, toolchain
from .cache import Clean, Includes, include_folders, key
from .check import Check, lines, tree

# A file that is formatted as a table (.def) is aligned by hand.
SOURCES = re.compile(r"\.(cpp|hpp|cu|cuh|inl|h)$")
# The tests' own CUDA programs deliberately do much that one should not do.
COMPILED = re.compile(r"^(common|tests)/.*\.cpp$|^(common|solutions)/.*\.cu$")
# What a student or a contributor opens first: every lab, stub and solved, and some of each folder of the emulator.
OPENED = re.compile(
    r"^(labs|solutions)/.*\.(cu|cpp)$|^common/lab/lab\.hpp$|^common/emulator/(fatbin/container|ptx/parser|machine/warp"
    r"|machine/instructions/(integer|warp_wide)|analysis/(counters|checker)|runtime/launch)\.[ch]pp$"
)
WORKERS = os.cpu_count() or 1


def tool(name: str) -> str:
    return str(VENV / "bin" / name)


def layout(files: list[Path], fix: bool) -> list[str]:
    how = ["-i"] if fix else ["--dry-run", "--Werror"]
    result = output([tool("clang-format"), *how, *files], cwd=ROOT)
    return [line for line in lines(result.stdout) if "[-Wclang-format-violations]" in line]


def commands() -> dict[Path, dict]:
    """How each file is compiled: all files, so the build with the kit's own tests is described first."""
    folder.configured(toolchain.prepare(tests=True), tests=True)
    return {Path(entry["file"]): entry for entry in json.loads(compile_commands.FILE.read_text())}


def compiled_together(files: list[Path], known: dict[Path, dict]) -> list[list[Path]]:
    """The files in groups of those that Meson compiles as one."""
    groups: dict[str, list[Path]] = {}
    for path in files:
        groups.setdefault(known[path]["output"], []).append(path)
    return list(groups.values())


def each_once(
    check: str, groups: list[list[Path]], known: dict[Path, dict], configuration: list[Path], look: Callable[[list[Path]], list[str]]
) -> list[str]:
    """Checks the files that have changed, or whose headers have, since they were found clean; several groups at a time."""
    includes, clean = Includes(), Clean(check)
    fixed = [*environment.requirements("lint"), *(path.read_text() for path in configuration)]
    nearest = next(iter(known.values()))  # a header's folders: those of any file beside it, or of any at all
    beside = {path.parent: entry for path, entry in known.items()}
    keys = {}
    for path in sum(groups, []):
        arguments = (known.get(path) or beside.get(path.parent) or nearest)["arguments"]
        keys[path] = key([*fixed, *arguments], includes.of(path, include_folders(arguments)))
    changed = [some for group in groups if (some := [path for path in group if not clean.has(path, keys[path])])]
    problems = []
    try:
        with console.progress(check) as show, ThreadPoolExecutor(WORKERS) as pool:
            for done, (group, found) in enumerate(zip(changed, pool.map(look, changed), strict=True), 1):
                problems += found
                show(done, len(changed))
                for path in group if not found else ():
                    clean.add(path, keys[path])
    finally:  # what has been found clean stays recorded even if the check is stopped half-way
        clean.save()
    return problems


def tidy(files: list[Path], fix: bool) -> list[str]:
    """Files that are compiled as one are read as one: their headers take longer than they do."""
    known = commands()

    def look(group: list[Path]) -> list[str]:
        with tempfile.NamedTemporaryFile("w", suffix=".cpp", dir=OWN) as unit:
            unit.write("".join(f'#include "{path}" // NOLINT(bugprone-suspicious-include)\n' for path in group))
            unit.flush()
            one, flags = (group[0], ["-p", OWN]) if len(group) == 1 else (unit.name, ["--", *known[group[0]]["arguments"][1:-1]])
            words = [tool("clang-tidy"), "--quiet", "--warnings-as-errors=*", one, *flags]
            result = output(words, cwd=ROOT)
        said = [line for line in lines(result.stdout) if re.search(r": (error|warning): ", line)]
        named = ", ".join(str(path.relative_to(ROOT)) for path in group)
        return list(dict.fromkeys(said)) or ([f"{named}: clang-tidy failed"] if result.returncode else [])

    configuration = [path for path in tree() if path.name == ".clang-tidy"]
    compiled = compiled_together([path for path in files if path in known], known)
    return list(dict.fromkeys(each_once("tidy", compiled, known, configuration, look)))


def editors(files: list[Path], fix: bool) -> list[str]:
    def look(group: list[Path]) -> list[str]:
        [path] = group
        result = output([tool("clangd"), f"--check={path}", "--check-locations=false"], cwd=ROOT)
        name = path.relative_to(ROOT)
        said = [f"{name}: {line}" for line in re.findall(r"^E\[[\d:.]+\] (\[.*)", result.stdout, re.MULTILINE)]
        return said or ([] if "All checks completed, 0 errors" in result.stdout else [f"{name}: clangd failed"])

    known = commands()  # not lab 10 where there is no OpenCL
    opened = [[path] for path in files if path in known or path.suffix == ".hpp"]
    return each_once("editors", opened, known, [ROOT / ".clangd", compile_commands.CUDA_FOR_CLANG], look)


LAYOUT = Check("format", "C++ and CUDA are formatted as .clang-format says", SOURCES, layout, mends=True)
TIDY = Check("tidy", "clang-tidy finds nothing in the compiled files", COMPILED, tidy)
EDITORS = Check("editors", "clangd reads the labs and the emulator without errors", OPENED, editors)
