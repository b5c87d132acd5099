#!/usr/bin/env python3
"""Builds Warpfold for 64-bit Arm and runs the emulator's own tests and the labs there, on qemu.

    python3 tests/arm/run.py [--work DIR] [--record] [TEST...]

Everything goes into one folder, and none of it takes root: Debian's arm64 libraries unpacked from their packages,
NVIDIA's compiler from PyPI with the runtime's Arm library, a cross build. Without test names: those below. --record
writes the outcome to docs/results/arm.md. Exit code 77 where the machine lacks something, which is then said.
Needs of Debian: qemu-user-static, g++-aarch64-linux-gnu, and Linux 6.7 or newer.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
SKIPPED = 77
PROGRAMS = ["aarch64-linux-gnu-g++", "qemu-aarch64-static", "apt-get", "dpkg-deb", "unshare", "meson", "ninja"]
PACKAGES = ["libc6-dev", "libstdc++-12-dev", "libfmt-dev", "libgtest-dev", "liblz4-dev", "libzstd-dev", "nlohmann-json3-dev"]
LABS = ["01_naive_atomic", "02_tree", "03_warp_unroll", "04_shuffle", "05_grid_stride", "12_many_gpus"]
# Without "emulator memory": the peak that it measures would be qemu's own.
TESTS = [
    "emulator machine", "emulator ptx", "emulator fatbin", "emulator analysis", "program *", "library *",
    *("cooperative default_stream_per_thread device graphs launches libraries memory report sticky streams symbols"
      " separate_compilation devices devices_threads devices_order processes nccl").split(),
    *(f"solutions/{lab}" for lab in LABS), *(f"solutions/{lab}/*/emulator" for lab in LABS),
]  # fmt: skip


class Lacking(Exception):
    """The machine lacks something; nothing is wrong with Warpfold."""


def run(command: list, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], check=True, **options)


def unpack_debian(root: Path, apt: Path) -> None:
    """The packages and what they need, without installing any: apt in folders of its own, for another architecture."""
    if (root / "usr/include/fmt").exists():
        return
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    where = {"Dir::State": apt, "Dir::State::lists": apt / "lists", "Dir::Cache": apt / "cache", "Dir::State::status": apt / "status"}
    how = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "Debug::NoLocking": 1,
        "APT::Install-Recommends": 0,
        "APT::Sandbox::User": "",
    }
    options = [word for key, value in (where | how).items() for word in ("-o", f"{key}={value}")]
    try:
        run(["apt-get", *options, "-qq", "update"])
        run(["apt-get", *options, "-qq", "-y", "--download-only", "install", *PACKAGES])
    except subprocess.CalledProcessError as error:
        raise Lacking(f"Debian's arm64 packages cannot be fetched ({error})") from error
    for package in sorted((apt / "cache/archives").glob("*.deb")):
        run(["dpkg-deb", "-x", package, root])


def pinned_toolkit() -> list[str]:
    """NVIDIA's wheels as requirements.txt pins them."""
    group = (SOURCE / "requirements.txt").read_text().split("# group toolkit")[1].split("# group")[0]
    return re.findall(r"^nvidia-\S+", group, re.MULTILINE)


def shape_toolkit(folder: Path) -> Path:
    """This machine's nvcc over Arm's runtime: what NVIDIA's own installer of a cross toolkit lays side by side."""
    root = folder / "nvidia" / "cu13"
    if (root / "lib64").exists():
        return root
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
    pins = pinned_toolkit()
    runtime = [pin for pin in pins if "cuda-runtime" in pin]
    arm = folder.with_name("runtime-aarch64")
    try:
        run([*pip, "--target", folder, *pins])
        run([*pip, "--target", arm, "--platform", "manylinux2014_aarch64", "--only-binary=:all:", *runtime])
    except subprocess.CalledProcessError as error:
        raise Lacking(f"NVIDIA's compiler cannot be fetched ({error})") from error
    for library in (arm / "nvidia" / "cu13" / "lib").glob("libcuda*"):
        shutil.copy2(library, root / "lib" / library.name)
    (root / "lib/libcudart.so").symlink_to("libcudart.so.13")
    (root / "lib64").symlink_to("lib")
    return root


def environment(root: Path, toolkit: Path) -> dict[str, str]:
    flags = f"-ccbin aarch64-linux-gnu-g++ -Xcompiler --sysroot={root}"
    return os.environ | {
        "PATH": f"{toolkit / 'bin'}:{os.environ['PATH']}",
        "NVCC_PREPEND_FLAGS": flags,
        "QEMU_LD_PREFIX": str(root),
    }


def configure(work: Path, root: Path, build: Path, environ: dict[str, str]) -> None:
    launcher = "['ccache']" if shutil.which("ccache") else "[]"
    paths = work / "paths.ini"
    paths.write_text(f"[constants]\nroot = '{root}'\nlauncher = {launcher}\n")
    options = ["-Dsolutions=true", "-Dkit_tests=true", "-Dnative=false", "--wrap-mode=nofallback"]
    again = ["--reconfigure"] if (build / "build.ninja").exists() else []
    run(
        [
            HERE / "emulated.sh",
            "meson",
            "setup",
            *again,
            build,
            SOURCE,
            f"--cross-file={paths}",
            f"--cross-file={HERE / 'aarch64.ini'}",
            *options,
        ],
        env=environ,
    )


def wanted(build: Path, patterns: list[str]) -> list[dict]:
    tests = json.loads((build / "meson-info" / "intro-tests.json").read_text())
    expressions = [re.compile(re.escape(pattern).replace(r"\*", ".*")) for pattern in patterns]
    return [test for test in tests if any(expression.fullmatch(test["name"]) for expression in expressions)]


def compile_for(tests: list[dict], build: Path, environ: dict[str, str], jobs: str) -> None:
    targets = {entry["id"]: entry["filename"] for entry in json.loads((build / "meson-info" / "intro-targets.json").read_text())}
    files = {os.path.relpath(name, build) for test in tests for need in test["depends"] for name in targets.get(need, [])}
    run([HERE / "emulated.sh", "ninja", "-C", build, f"-j{jobs}", *sorted(files)], env=environ)


def outcomes(build: Path) -> dict[str, int]:
    counted: dict[str, int] = {}
    for line in (build / "meson-logs" / "testlog.json").read_text().splitlines():
        result = json.loads(line)["result"]
        counted[result] = counted.get(result, 0) + 1
    return counted


def record(counted: dict[str, int], tests: list[dict], seconds: float) -> None:
    def version(command: list[str]) -> str:
        return subprocess.run(command, text=True, capture_output=True).stdout.splitlines()[0]

    rooms = sorted({test["name"].split("/")[1] if test["name"].startswith("solutions/") else test["name"] for test in tests})
    results = ", ".join(f"{count} {result}" for result, count in sorted(counted.items()))
    (SOURCE / "docs/results/arm.md").write_text(f"""# 64-bit Arm: the last run

`python3 tests/arm/run.py --record` wrote this page, from a cross build for 64-bit Arm run by qemu on x86-64. [64-bit Arm](../reference/arm.md)
says what this shows and what it cannot show.

| | |
|---|---|
| date | {datetime.date.today().isoformat()} |
| outcome | {results} |
| compiler | {version(["aarch64-linux-gnu-g++", "--version"])} |
| processor emulator | {version(["qemu-aarch64-static", "--version"])} |
| time of the tests | {seconds:.0f} s, which says nothing about real Arm hardware |

Tests: {", ".join(rooms)}.
""")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=SOURCE / ".kit" / "arm", help="the folder that holds it all (default: .kit/arm)")
    parser.add_argument("--record", action="store_true", help="write docs/results/arm.md")
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    parser.add_argument("tests", nargs="*", metavar="TEST", help="names of Meson's tests, * for anything")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    try:
        if missing := [name for name in PROGRAMS if not shutil.which(name)]:
            raise Lacking(f"not installed: {', '.join(missing)} (Debian: qemu-user-static g++-aarch64-linux-gnu util-linux)")
        if subprocess.run([HERE / "emulated.sh", "true"]).returncode != 0:
            raise Lacking("qemu cannot be registered here (see above)")
        unpack_debian(work / "root", work / "apt")
        toolkit = shape_toolkit(work / "toolkit")
    except Lacking as error:
        print(f"SKIP: {error}", file=sys.stderr)
        return SKIPPED
    build = work / "build"
    environ = environment(work / "root", toolkit)
    configure(work, work / "root", build, environ)
    tests = wanted(build, options.tests or TESTS)
    compile_for(tests, build, environ, options.jobs)
    begun = time.monotonic()
    names = [f"warpfold:{test['name']}" if ":" in test["name"] else test["name"] for test in tests]
    status = subprocess.run(
        [HERE / "emulated.sh", "meson", "test", "-C", build, "--no-rebuild", "--timeout-multiplier=10", "--num-processes", options.jobs, *names],
        env=environ,
    ).returncode  # fmt: skip
    if options.record:
        record(outcomes(build), tests, time.monotonic() - begun)
    return status


if __name__ == "__main__":
    sys.exit(main())
