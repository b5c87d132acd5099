"""CUB's and Thrust's algorithms that hand data from block to block, on elements of every width, against the host.

    python3 tests/emulator/libraries/campaign.py BUILD [--library cub] [--algorithm scan ...] [--rounds 3]

BUILD is a build folder with the emulator in it (the kit's own is .kit/build). Each program is compiled once and then
run on 1, 2, 4 and 8 workers, with checks off and on, when nothing may be told of it; what is wrong is printed with the
seed that shows it again. The
whole campaign takes about an hour on two cores; the suite runs a small part of it: --run PROGRAM takes programs that
Meson has built (meson.build).
"""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = ["cub", "thrust"]
TYPES = {1: "std::uint8_t", 2: "std::uint16_t", 4: "std::uint32_t", 8: "std::uint64_t", 12: "Bytes12", 16: "Bytes16"}
NARROW = [1, 2, 4, 8]
# Which widths of key and value each algorithm is tried on; without keys the first is 4 and means nothing.
VALUES_ONLY = [(4, value) for value in TYPES]
PAIRS = [(key, value) for key in TYPES for value in TYPES]
WIDTHS = {
    "scan": VALUES_ONLY, "scan_by_key": PAIRS, "reduce_by_key": PAIRS, "unique": VALUES_ONLY, "copy_if": VALUES_ONLY,
    "partition": VALUES_ONLY, "sort": [(key, value) for key in TYPES for value in (1, 4, 12, 16)],
    "histogram": [(4, value) for value in NARROW], "run_length_encode": VALUES_ONLY,
}  # fmt: skip
WORKERS = [1, 2, 4, 8]


@dataclass(frozen=True)
class Program:
    library: str
    algorithm: str
    key: int
    value: int

    def name(self) -> str:
        return f"{self.library}-{self.algorithm}-{self.key}-{self.value}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--library", action="append", choices=LIBRARIES)
    parser.add_argument("--algorithm", action="append", choices=list(WIDTHS))
    parser.add_argument("--widths", help="KEY,VALUE in bytes: only these")
    parser.add_argument("--rounds", type=int, default=3, help="random sizes per program and configuration")
    parser.add_argument("--run", action="append", type=Path, default=[], metavar="PROGRAM", help="only this one, as built")
    parser.add_argument("--keep", type=Path, help="a folder for the programs, used again if it holds them")
    options = parser.parse_args()
    libraries = [path.parent for path in options.build.rglob("libcudart.so*") if "emulator" in path.parts]
    if not libraries:
        sys.exit(f"{options.build} holds no emulator: build it first")
    if options.run:
        return report({path.name: run(path, libraries[0], options.rounds) for path in options.run})
    programs = [
        Program(library, algorithm, key, value)
        for library, algorithm in itertools.product(options.library or LIBRARIES, options.algorithm or WIDTHS)
        for key, value in WIDTHS[algorithm]
        if not options.widths or options.widths == f"{key},{value}"
    ]
    folder = options.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    said = {}

    def try_out(program: Program) -> str:
        return compile_program(program, folder) or run(folder / program.name(), libraries[0], options.rounds)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for program, wrong in zip(programs, pool.map(try_out, programs), strict=True):
            said[program.name()] = wrong
            print(f"{program.name()}: {'wrong' if wrong else 'right'}", flush=True)
    return report(said)


def report(said: dict[str, str]) -> int:
    """`said`: what is wrong with each program, "" where nothing is."""
    wrong = {name: text for name, text in said.items() if text}
    for name, text in wrong.items():
        print(f"{name}:\n{text}")
    print(f"{len(said) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


def compile_program(program: Program, folder: Path) -> str:
    """Compiles it unless it is there; what the compiler said where it fails."""
    if (folder / program.name()).exists():
        return ""
    words = {
        "TRY_LIBRARY": program.library, "TRY_ALGORITHM": program.algorithm, "TRY_KEY": TYPES[program.key], "TRY_VALUE": TYPES[program.value],
    }  # fmt: skip
    command = [os.environ.get("NVCC", "nvcc"), "-std=c++17", "--extended-lambda", "-cudart", "shared", "-lineinfo"]
    command += ["-gencode=arch=compute_75,code=compute_75", *(f"-D{name}={value}" for name, value in words.items())]
    command += ["-o", str(folder / program.name()), str(HERE / "one_algorithm.cu")]
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr or done.stdout or "nvcc failed"


def run(program: Path, library: Path, rounds: int) -> str:
    """What came out wrong on some number of workers, checks off or on."""
    wrong = []
    for workers, checks in itertools.product(WORKERS, [False, True]):
        environment = os.environ | {"LD_LIBRARY_PATH": str(library), "WARPFOLD_WORKERS": str(workers)}
        report = Path(tempfile.mkdtemp()) / "report.json"
        if checks:
            environment |= {"WARPFOLD_CHECKS": "all", "WARPFOLD_REPORT": str(report)}
        seed = random.randrange(1 << 32)
        words = [str(program), str(rounds), str(seed), "30000" if checks else "300000"]
        try:
            done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=100)
            said = "" if done.returncode == 0 else done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            said = "no end after 100 s"
        if report.exists() and not said:
            hazards = json.loads(report.read_text())["hazards"]
            said = "\n".join(f"told: {each['kind']} {each['file']}:{each['line']}: {each['message']}" for each in hazards[:9])
        if said:
            wrong.append(f"  on {workers} workers, checks {'on' if checks else 'off'}, seed {seed}:\n{said.strip()}")
    return "\n".join(wrong)


if __name__ == "__main__":
    sys.exit(main())
