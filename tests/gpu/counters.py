#!/usr/bin/env python3
"""Counts of the emulator beside those of a GPU, launch by launch, for every solved rung.

    counters.py measure BUILD OUT.json     on a machine with a GPU and Nsight Compute: keeps the GPU's counts
    counters.py compare BUILD FILE.json    without a GPU: holds this build's emulator to the counts in FILE (TAP)
    counters.py table BUILD FILE.json      the two side by side, as Markdown

Both run the same program with the same arguments; WARPFOLD_GRID_FOR makes grids that fit the machine the same.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "common"))

from kit.counters import CATALOGUE
from kit.profile import nsight

N = 1 << 20
GRID_FOR = "16x1024"
LABS = ["01_naive_atomic", "02_tree", "03_warp_unroll", "04_shuffle", "05_grid_stride", "09_speed_of_light", "11_row_sums", "13_softmax"]
COUNTERS = [
    "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
    "shared_load_requests", "shared_load_wavefronts", "shared_store_requests", "shared_store_wavefronts",
    "bank_conflicts", "atomic_requests", "atomic_operations", "barriers", "shuffles", "blocks",
]  # fmt: skip
# Equal, but for these: (rung, counter, part by which it may differ, why). math.inf: it is not compared.
POLLING = "blocks wait for each other's words: how often they look, and when they tidy up, depends on who comes first"
CLUSTERS_BARRIERS = "barriers of a cluster are another instruction than those of a block, which Nsight Compute's figure is about"
EXPLAINED = [
    ("champion", "global_load_requests", 0.02, POLLING),
    ("champion", "global_load_sectors", 0.02, POLLING),
    ("champion", "global_store_requests", 0.10, POLLING),
    ("champion", "global_store_sectors", 0.10, POLLING),
    ("cluster", "barriers", math.inf, CLUSTERS_BARRIERS),
    ("longest_rows", "barriers", math.inf, CLUSTERS_BARRIERS),
]  # fmt: skip
# Not compared: its grid is as large as fits the GPU, and l1tex, where Nsight Compute counts, sees nothing of bulk copies.
NOT_COMPARED = {"bulk_copies"}
# Shown, and not compared.
OTHERS = {
    "warp_instructions": "the emulator counts PTX, the GPU its own machine code: a predicated branch, an address or a remainder takes "
    "another number of instructions there",
}


def programs(build):
    """The solved labs of the build: (lab, path, rungs)."""
    for lab in LABS:
        path = Path(build, "labs", f"{lab}_solution")
        listed = subprocess.run([path, "--list", "--json"], capture_output=True, text=True, check=True)
        yield lab, path, [rung["name"] for rung in json.loads(listed.stdout)["rungs"]]


def arguments(program, rung, device, n):
    return [str(program), "--rung", rung, "--n", str(n), "--device", device, "--json"]


def environment(**more):
    return {**os.environ, "WARPFOLD_GRID_FOR": GRID_FOR, **more}


def emulated(program, rung, n):
    """The launches of the rung's profile; none where it does not take n elements."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        run = subprocess.run(arguments(program, rung, "emulator", n), capture_output=True, text=True,
                             # One worker: a block that waits for others' words counts each look at them.
                             env=environment(WARPFOLD_REPORT=str(report), WARPFOLD_CHECKS="none", WARPFOLD_WORKERS="1"))  # fmt: skip
        if run.returncode == 2:
            return []
        if run.returncode != 0:
            raise SystemExit(f"{program} --rung {rung} failed:\n{run.stdout[-1000:]}{run.stderr[-1000:]}")
        return json.loads(report.read_text())["launches"]


def measure(build, out):
    found = []
    for lab, program, rungs in programs(build):
        for rung in rungs:
            n = N if emulated(program, rung, N) else 512
            profiled = len(emulated(program, rung, n))
            launches = nsight.of_rung(arguments(program, rung, "gpu", n), rung, profiled, environment())["launches"]
            for launch in launches:
                del launch["lines"]
            found.append({"lab": lab, "rung": rung, "n": n, "launches": launches})
            print(lab, rung, n, len(launches), flush=True)
    about = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True)
    result = {"device": about.stdout.strip(), "date": str(date.today()), "grid_for": GRID_FOR, "rungs": found}
    Path(out).write_text(as_text(result))


def as_text(result):
    """JSON with one launch per line, so that differences can be read."""
    head = json.dumps({key: value for key, value in result.items() if key != "rungs"})[:-1]
    rungs = ",\n".join(
        f'{json.dumps({key: rung[key] for key in ("lab", "rung", "n")})[:-1]}, "launches": [\n  '
        + ",\n  ".join(json.dumps(launch) for launch in rung["launches"])
        + "]}"
        for rung in result["rungs"]
    )
    return f'{head}, "rungs": [\n{rungs}\n]}}\n'


def pairs(build, file):
    """(lab, rung, n, launches of the emulator, launches of the GPU), the emulator's counted now."""
    kept = {(rung["lab"], rung["rung"]): rung for rung in json.loads(Path(file).read_text())["rungs"]}
    jobs = [(lab, rung, kept.get((lab, rung)), program) for lab, program, rungs in programs(build) for rung in rungs]
    with ThreadPoolExecutor(2) as pool:
        counts = pool.map(lambda job: emulated(job[3], job[1], job[2]["n"]) if job[2] else [], jobs)
    for (lab, rung, known, _), launches in zip(jobs, counts, strict=True):
        yield lab, rung, known["n"] if known else N, launches, known["launches"] if known else None


def allowance(rung, counter):
    return next((part for name, key, part, _ in EXPLAINED if (name, key) == (rung, counter)), 0.0)


def differences(rung, ours, theirs):
    if len(ours) != len(theirs):
        return [f"{len(ours)} launches on the emulator, {len(theirs)} on the GPU"]
    said = []
    for at, (mine, gpu) in enumerate(zip(ours, theirs, strict=True)):
        if mine["grid"] != gpu["grid"] or mine["block"] != gpu["block"]:
            said.append(f"launch {at}: grid {mine['grid']} of {mine['block']}, on the GPU {gpu['grid']} of {gpu['block']}")
            continue
        for key in COUNTERS:
            expected, counted = gpu["counters"][key], mine["counters"][key]
            if abs(counted - expected) > allowance(rung, key) * max(expected, 1):
                said.append(f"launch {at}: {key} is {counted:,} on the emulator, {expected:,} on the GPU")
    return said


def compare(build, file):
    failed = False
    number = 0
    for lab, rung, n, ours, theirs in pairs(build, file):
        if rung in NOT_COMPARED:
            continue
        if theirs is None:
            said = [f"{Path(file).name} has no counts of it: measure again on a GPU"]
        else:
            said = differences(rung, ours, theirs)
        failed |= bool(said)
        number += 1
        print(f"{'not ok' if said else 'ok'} {number} - {lab} {rung}, n = {n}")
        for each in said:
            print(f"# {each}")
    print(f"1..{number}")
    return 0  # TAP: the lines say what failed


def table(build, file):
    print("| rung | launch | " + " | ".join(CATALOGUE[key].label for key in [*COUNTERS, *OTHERS]) + " |")
    print("|" + "---|" * (2 + len(COUNTERS) + len(OTHERS)))
    for _, rung, _, ours, theirs in pairs(build, file):
        for mine, gpu in zip(ours, theirs or [], strict=False):
            cells = [cell(mine["counters"][key], gpu["counters"][key]) for key in [*COUNTERS, *OTHERS]]
            print(f"| `{rung}` | {gpu['grid'][0]:,} x {gpu['block'][0]} | " + " | ".join(cells) + " |")


def cell(ours, theirs):
    """One figure where the two agree; the emulator's, then the GPU's, where they don't."""
    return f"{ours:,}" if ours == theirs else f"**{ours:,}** / {theirs:,}"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", build, out]:
            measure(build, out)
        case ["compare", build, file]:
            sys.exit(compare(build, file))
        case ["table", build, file]:
            table(build, file)
        case _:
            raise SystemExit(__doc__)
