#!/usr/bin/env python3
"""Every solved rung's time on this machine's GPU, from 2^10 elements up, with the emulator's counts of the same launches.

    ladder.py BUILD OUT.json [--seconds S] [--exponents E...] [--counts]
    ladder.py BUILD OUT.json --shapes [--counts]

--shapes: lab 11 instead, on about square matrices of three sizes, and timed on 2^26 floats from one row to 2^26.

One process per lab and size; sizes that matter most come first, and what does not fit into S seconds is left out and
named. Grids fit this GPU on the emulator too (WARPFOLD_GRID_FOR). docs/results/ladder.py and common/kit/ladder/predict.py
read what this writes.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "common"))

from kit.ladder import predict

EXPONENTS = [20, 23, 26, 9, 10, 14, 29, 12, 16, 18, 22, 24, 28, 30, 32, 33, 34]
COUNTED = [20, 23, 26]
# Beyond these, a launch takes seconds; and rungs of one block, which take 512 elements.
LAST = {
    "01_naive_atomic": 29,
    "thread_sums": 29,
    "one_thread_folds": 29,
    "in_place_interleaved": 9,
    "in_place_sequential": 9,
    "one_block_shared": 9,
}
ROW_SUMS = "11_row_sums"
SQUARE = [(20, 1 << 10), (23, 1 << 11), (26, 1 << 13)]  # log2 n, rows
SHAPES = SQUARE + [(26, 1 << rows) for rows in (0, 4, 7, 10, 16, 19, 22, 26)]
SUMS_ONE_ARRAY = ["01_naive_atomic", "02_tree", "03_warp_unroll", "04_shuffle", "05_grid_stride", "09_speed_of_light"]
GRID_FOR = predict.named("H200").grid_for


def answer(program, *words):
    run = subprocess.run(
        [str(program), "--json", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "WARPFOLD_CHECKS": "none", "WARPFOLD_GRID_FOR": GRID_FOR},
    )
    try:
        return json.loads(run.stdout)
    except ValueError:
        return {"rungs": [], "error": (run.stderr or run.stdout)[-300:]}


def times(program, exponent, *words):
    rungs = [rung["name"] for rung in answer(program, "--list")["rungs"] if exponent <= LAST.get(rung["name"], exponent)]
    chosen = [word for rung in rungs for word in ("--rung", rung)]
    found = answer(program, "--time", "--device", "gpu", "--n", f"2^{exponent}", *words, *chosen)
    if "error" in found:
        print(program.name, exponent, found["error"], flush=True)
    for rung in found["rungs"]:
        if "time" in rung:
            yield {"rung": rung["name"], "state": rung["state"], **rung["time"]}
        else:
            print(program.name, exponent, rung["name"], rung["state"], rung["reason"], flush=True)


def counts(program, exponent, *words):
    """Launches of each rung; `lines` are left out."""
    for rung in answer(program, "--profile", "--device", "emulator", "--n", f"2^{exponent}", *words)["rungs"]:
        launches = rung.get("profile", {}).get("report", {}).get("launches", [])
        yield {"rung": rung["name"], "launches": [{key: value for key, value in launch.items() if key != "lines"} for launch in launches]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--exponents", type=int, nargs="+", default=EXPONENTS)
    parser.add_argument("--shapes", action="store_true", help="lab 11 on matrices of many shapes")
    parser.add_argument("--counts", action="store_true", help="only the emulator's counts")
    options = parser.parse_args()
    take = counts if options.counts else times
    if options.shapes:
        program = options.build / "labs" / f"{ROW_SUMS}_solution"
        results = [{"lab": ROW_SUMS, "exponent": exponent, "rows": rows, **result}
                   for exponent, rows in (SQUARE if options.counts else SHAPES) for result in take(program, exponent, "--rows", str(rows))]  # fmt: skip
        options.out.write_text(json.dumps(results, indent=1) + "\n")
        print(f"{len(results)} measured")
        return
    until = time.monotonic() + options.seconds
    results, left_out = [], []
    for exponent in COUNTED if options.counts else options.exponents:
        for lab in SUMS_ONE_ARRAY:
            program = options.build / "labs" / f"{lab}_solution"
            if exponent > LAST.get(lab, exponent) or (exponent > 32 and lab != "09_speed_of_light"):
                continue
            if time.monotonic() > until:
                left_out.append((lab, exponent))
                continue
            for result in take(program, exponent):
                results.append({"lab": lab, "exponent": exponent, **result})
            options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(f"{len(results)} measured; left out for want of time: {left_out or 'nothing'}")


if __name__ == "__main__":
    main()
