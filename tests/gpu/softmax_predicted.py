#!/usr/bin/env python3
"""What the model of common/kit/ladder/predict.py says of lab 13's rungs, beside what was measured; prints Markdown.

    softmax_predicted.py BUILD docs/results/softmax_h200.json

The emulator counts matrices of few rows; a count is a part that is always there and a part per row. What the model does not know:
that rows which are read again come from L2, that blocks of a cluster wait for each other, and bulk copies.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "common"))

from kit.ladder import predict

RUNGS = ["three_reads", "online", "kept", "cluster", "longest_rows", "rms_norm"]


def launch_of(program: str, rung: str, columns: int, rows: int, gpu: predict.Gpu) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        environment = os.environ | {"WARPFOLD_REPORT": str(report), "WARPFOLD_CHECKS": "none", "WARPFOLD_GRID_FOR": gpu.grid_for}
        words = ["--rung", rung, "--n", str(rows * columns), "--rows", str(rows), "--device", "emulator", "--json"]
        subprocess.run([program, *words], env=environment, check=True, stdout=subprocess.DEVNULL)
        [launch] = json.loads(report.read_text())["launches"]
    return launch


def extrapolated(few: dict, more: dict, rows: int) -> dict:
    """What 2 and 4 rows count, for any number of rows."""
    counters = {}
    for key in predict.USED:
        per_row = (more["counters"][key] - few["counters"][key]) / 2
        counters[key] = few["counters"][key] + per_row * (rows - 2)
    return {"block": few["block"], "counters": counters}


def main(build: str, file: str) -> None:
    measured = json.loads(Path(file).read_text())
    gpu = predict.named(measured["device"].split()[1])
    ratios = []
    print("| columns | " + " | ".join(f"`{rung}`" for rung in RUNGS) + " |")
    print("|---" * (1 + len(RUNGS)) + "|")
    for text, times in measured["tables"]["float32"].items():
        columns, cells = int(text), []
        for rung in RUNGS:
            if rung not in times:
                cells.append("")
                continue
            few, more = (launch_of(f"{build}/labs/13_softmax_solution", rung, columns, rows, gpu) for rows in (2, 4))
            us = predict.run_us([extrapolated(few, more, measured["elements"] // columns)], gpu)
            took = times[rung]["us"][1]
            ratios.append(us / took)
            cells.append(f"{us:,.0f} ({100 * (us / took - 1):+.0f} %)")
        print(f"| 2^{int(math.log2(columns))} | " + " | ".join(cells) + " |", flush=True)
    off = sorted(abs(ratio - 1) for ratio in ratios)
    print(f"\n{len(off)} cases; off by {100 * statistics.median(off):.0f} % in the median, by at most {100 * off[-1]:.0f} %.")


if __name__ == "__main__":
    main(*sys.argv[1:])
