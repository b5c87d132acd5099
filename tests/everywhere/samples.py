#!/usr/bin/env python3
"""Builds NVIDIA's cuda-samples with the kit's compiler, runs each on the emulator without checks, and prints a table.

    git clone https://github.com/NVIDIA/cuda-samples
    tests/everywhere/samples.py cuda-samples [--only NAME ...] [--limit SECONDS] [--jobs N]

Left out are samples that link what the emulator does not stand in for: the driver's functions, NVRTC, other libraries of
NVIDIA's, and graphics. Whether a result is right, each sample finds out itself.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OTHER = re.compile(r"CUDA::(?!cudart\b)(\w+)|\b(OpenGL|Vulkan\w*|simpleD3D\w*|EGL|NVSCI|nvvm)", re.IGNORECASE)
WRONG = re.compile(r"\b(FAIL|FAILED|[Ff]ailed)\b|[Mm]ismatch|error code|warpfold:")
NOT_WRONG = re.compile(
    r"(fail(ed|ures?)?|mismatch(es)?)\s*[:=]\s*0|\b0 (fail|mismatch)|failed as expected|assertion `.*' failed", re.IGNORECASE
)
WAIVED = 2  # EXIT_WAIVED in the samples' helper_string.h: the sample says that it needs what is not there
# What a sample needs beside its folder; `devices`: it is meant for several.
DEVICES = {"simpleMultiGPU": 2, "simpleP2P": 2, "p2pBandwidthLatencyTest": 2, "streamOrderedAllocationP2P": 2, "simpleIPC": 2}


@dataclass
class Sample:
    folder: Path
    needs: str = ""  # what it needs that is not there
    built: str = ""  # what the compiler says, if it fails
    result: str = ""
    seconds: float = 0

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def program(self) -> Path:
        return self.folder / "on_emulator"


def samples_in(repository: Path, only: list[str]) -> list[Sample]:
    found = []
    for description in sorted(repository.glob("Samples/[0-9]_*/*/CMakeLists.txt")):
        folder = description.parent
        if (only and folder.name not in only) or not sources_of(folder):
            continue
        others = {next(filter(None, match.groups())).lower() for match in OTHER.finditer(description.read_text())}
        found.append(Sample(folder, needs=", ".join(sorted(others))))
    return found


def sources_of(folder: Path) -> list[Path]:
    """Some samples keep their sources in folders of their own."""
    return sorted(path for kind in ("cu", "cpp") for path in folder.rglob(f"*.{kind}"))


def build(sample: Sample) -> None:
    description = (sample.folder / "CMakeLists.txt").read_text()
    flags = ["-std=c++17", "-O2", "-lineinfo", "-gencode=arch=compute_90,code=compute_90", "-I", "../../../Common", "-I", "inc"]
    flags += ["--extended-lambda", "-rdc=true", "-lcudadevrt"] if "SEPARABLE_COMPILATION ON" in description else ["--extended-lambda"]
    if "OpenMP" in description:
        flags += ["-Xcompiler", "-fopenmp"]
    if "MPI_" in description:
        for what in "compile", "link":
            shown = subprocess.run(["mpicxx", f"--showme:{what}"], text=True, capture_output=True, check=True).stdout.split()
            flags += [flag for flag in shown if flag.startswith(("-I", "-L", "-l"))]
    sources = [str(path.relative_to(sample.folder)) for path in sources_of(sample.folder)]
    if "helper_multiprocess" in description:
        sources.append("../../../Common/helper_multiprocess.cpp")
    done = subprocess.run([ROOT / "kit", "nvcc", *flags, *sources, "-o", sample.program], cwd=sample.folder, text=True, capture_output=True)
    if done.returncode != 0:
        errors = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line.lower()]
        sample.built = errors[0] if errors else f"exit code {done.returncode}"


def run(sample: Sample, limit: float) -> None:
    environment = os.environ | {"WARPFOLD_DEVICES": str(DEVICES.get(sample.name, 1))}
    begin = time.monotonic()
    try:
        done = subprocess.run(
            [ROOT / "kit", "emulate", sample.program], cwd=sample.folder, env=environment, text=True, capture_output=True,
            timeout=limit, stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        sample.seconds, sample.result = limit, f"not after {limit:g} s"
        return
    sample.seconds = time.monotonic() - begin
    said = (done.stdout + done.stderr).splitlines()
    (sample.folder / "on_emulator.txt").write_text("\n".join(said))
    wrong = [line.strip() for line in said if WRONG.search(line) and not NOT_WRONG.search(line)]
    if done.returncode == WAIVED:
        sample.result = f"waived: {said[-2] if len(said) > 1 else ''}"
    elif done.returncode != 0 or wrong:
        sample.result = f"exit code {done.returncode}: {wrong[0] if wrong else ' '.join(said[-2:])}"
    else:
        sample.result = "right"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--limit", type=float, default=600, help="seconds per sample (default: 600)")
    parser.add_argument("--jobs", type=int, default=1, help="samples at a time (default: 1)")
    arguments = parser.parse_args()
    samples = samples_in(arguments.repository.resolve(), arguments.only)
    chosen = [sample for sample in samples if not sample.needs]

    def try_one(sample: Sample) -> Sample:
        build(sample)
        if not sample.built:
            run(sample, arguments.limit)
        return sample

    print("| sample | result | seconds |\n|---|---|---|")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for sample in pool.map(try_one, chosen):
            print(f"| `{sample.name}` | {sample.result or 'does not compile: ' + sample.built} | {sample.seconds:.1f} |", flush=True)
    right = sum(sample.result == "right" for sample in chosen)
    print(f"\n{len(chosen)} samples, {right} right. Left out for what they link:\n")
    for sample in samples:
        if sample.needs:
            print(f"- `{sample.name}`: {sample.needs}")
    return 0 if all(sample.result.startswith(("right", "waived")) for sample in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
