"""`kit bench`: how fast the emulator is, comparing each program with a plain CPU loop over the same floats in the same run; and how
long it takes to grade a class."""

import json
import subprocess

from ..building import folder
from ..console import paint
from ..emulate.program import emulated
from ..errors import KitError
from ..table import Table

PURPOSE = "measure the emulator against a plain CPU loop"
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


def run(options) -> int:
    if options.workers is not None and options.workers < 1:
        raise KitError(f"--workers {options.workers}: at least 1 is needed", code=2)
    build = folder.prepare()
    emulator = build.emulator()
    if options.devices:
        return compare_devices(options, build, emulator)
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
