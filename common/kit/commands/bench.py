"""`kit bench`: how fast the emulator is, comparing each program with a plain CPU loop over the same floats in the same run; and how
long it takes to grade a class."""

import json
import shlex
import subprocess
import time
from pathlib import Path

from ..console import paint
from ..emulate.program import checked, emulated
from ..errors import KitError
from ..programs import folder
from ..table import Table

PURPOSE = "measure the emulator's speed, and what checks cost"
GROUP = "work on the kit"
ORDER = 90

# How long each program may take on a 2-core machine without a GPU, in milliseconds: counters only, all checks on.
BUDGET_MS = {
    "naive_atomic": (45, 90),
    "interleaved_tree": (120, 250),
    "grid_stride_tree": (12, 25),
    "grid_stride_shuffle": (12, 25),
    "vector_loads": (7, None),
}

# What --cost-of-checks measures if it is given no program: beside these, algorithms of CUB and Thrust in which blocks wait for each other.
LIBRARIES = ["cub_scan_by_key", "cub_reduce_by_key", "thrust_partition", "thrust_reduce_by_key", "blocks"]


def arguments(parser) -> None:
    parser.add_argument("--json", action="store_true", help="print a JSON list of {program, n, ms, median_ms, cpu_loop_ms, ratio}")
    parser.add_argument("--checks", action="store_true", help="measure with all checks on; without this, only counters are kept")
    parser.add_argument("--workers", type=int, metavar="N", help="host threads that run blocks (default: one per core)")
    parser.add_argument(
        "--devices",
        type=int,
        choices=range(2, 17),
        metavar="N",
        help="compare N emulated devices with one instead, for the same elements in all",
    )
    parser.add_argument(
        "--cost-of-checks",
        nargs="*",
        metavar="PROGRAM",
        help="compare `emulate --check` with `emulate`, for whole programs: these, each with its arguments in one word, or ten of the kit's own",
    )


def run(options) -> int:
    if options.workers is not None and options.workers < 1:
        raise KitError(f"--workers {options.workers}: at least 1 is needed", code=2)
    build = folder.prepare()
    emulator = build.emulator()
    if options.devices:
        return compare_devices(options, build, emulator)
    if options.cost_of_checks is not None:
        return compare_checks(options, build, emulator)
    programs = {name: build.target("executable", f"bench_{name}") for name in BUDGET_MS}
    build.compile([emulator, *programs.values()])
    environment = emulated(emulator.parent) | {"WARPFOLD_CHECKS": "all" if options.checks else "none"}
    if options.workers:
        environment["WARPFOLD_WORKERS"] = str(options.workers)
    results = [measure(name, path, environment) for name, path in programs.items()]
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        print_table(results, options.checks)
    return 0


def compare_devices(options, build, emulator) -> int:
    """In turn, because the machine may be busier at one time than at another; the best of each counts."""
    rounds = 5
    program = build.target("executable", "bench_several_devices")
    build.compile([emulator, program])
    environment = emulated(emulator.parent) | {"WARPFOLD_CHECKS": "all" if options.checks else "none"}
    if options.workers:
        environment["WARPFOLD_WORKERS"] = str(options.workers)
    best = {}
    for _ in range(rounds):
        for devices in (1, options.devices):
            result = ask("several_devices", program, environment | {"WARPFOLD_DEVICES": str(devices)})
            best[devices] = min(best.get(devices, result["ms"]), result["ms"])
    ratio = best[options.devices] / best[1]
    if options.json:
        print(json.dumps({"n": result["n"], "ms": {str(devices): ms for devices, ms in best.items()}, "ratio": round(ratio, 3)}, indent=2))
    else:
        print(
            f"{result['n']:,} elements: {best[1]:.1f} ms on one device, {best[options.devices]:.1f} ms on {options.devices}; ratio {ratio:.2f} (goal: 1.2)."
        )
    return 0


def compare_checks(options, build, emulator) -> int:
    """In turn; the best of each counts. A program that is given may fail its check: what counts is the time."""
    rounds = 3
    commands = {words: shlex.split(words) for words in options.cost_of_checks}
    if not commands:
        names = [f"bench_{name}" for name in BUDGET_MS] + [f"library_{name}" for name in LIBRARIES]
        programs = {name: build.target("executable", name) for name in names}
        build.compile([emulator, *programs.values()])
        commands = {name: [str(path), *(["4", "1"] if name.startswith("library") else [])] for name, path in programs.items()}
    plain = emulated(emulator.parent) | ({"WARPFOLD_WORKERS": str(options.workers)} if options.workers else {})
    results = []
    for name, command in commands.items():
        runs = [(seconds(command, plain), seconds(command, checked(plain))) for _ in range(rounds)]
        unchecked, with_checks = map(min, zip(*runs, strict=True))
        results.append(
            {"program": name, "s": round(unchecked, 3), "checked_s": round(with_checks, 3), "ratio": round(with_checks / unchecked, 1)}
        )
    if options.json:
        print(json.dumps(results, indent=2))
        return 0
    table = Table(["program", "unchecked", "checked", "ratio"])
    for each in results:
        table.add([each["program"], f"{each['s']:.2f} s", f"{each['checked_s']:.2f} s", f"{each['ratio']:.1f}"])
    print(f"Whole programs, without checks and with those of `emulate --check`, best of {rounds} by the host's clock.\n")
    print(table.text())
    return 0


def seconds(command: list[str], environment: dict[str, str]) -> float:
    if not Path(command[0]).is_file():
        raise KitError(f"no such program: {command[0]}", code=2)
    began = time.monotonic()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def measure(name: str, path, environment: dict[str, str]) -> dict:
    record = ask(name, path, environment)
    return record | {"ratio": round(record["ms"] / record["cpu_loop_ms"], 3)}


def ask(name: str, path, environment: dict[str, str]) -> dict:
    result = subprocess.run([str(path)], env=environment, text=True, capture_output=True)
    if result.returncode != 0:
        raise KitError(f"bench {name} failed (exit code {result.returncode})\n{result.stderr.strip()}")
    return json.loads(result.stdout)


def print_table(results: list[dict], checks: bool) -> None:
    print(f"The emulator, {'all checks' if checks else 'counters'} on: one launch, best and median of several, by the host's clock.\n")
    table = Table(["program", "n", "ms", "median", "CPU loop", "ratio", "budget"], drop_first=["median", "n"])
    for result in results:
        budget = BUDGET_MS[result["program"]][1 if checks else 0]
        within = budget is None or result["ms"] <= budget
        table.add([
            result["program"], f"{result['n']:,}", paint(f"{result['ms']:.1f}", "green" if within else "red"),
            f"{result['median_ms']:.1f}", f"{result['cpu_loop_ms']:.1f}", f"{result['ratio']:.2f}",
            f"{budget} ms" if budget else "",
        ])  # fmt: skip
    print(table.text())
