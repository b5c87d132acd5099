#!/usr/bin/env python3
"""Fits the constants of common/kit/ladder/predict.py, and says how well they do.

    fit_model.py [--fit]                            on docs/results/model_h200.json
    fit_model.py --gather COUNTS.json TIMES.json    makes that file out of two of tests/gpu/ladder.py's
    fit_model.py --gather COUNTS.json TIMES.json --shapes    likewise, out of two that it made with --shapes

Without --fit the constants stay as they are. Least squares of the logarithm of predicted over measured, by coordinate
descent. Lab 11's matrices are not fitted to; they are told of after the rest.
"""

import argparse
import dataclasses
import json
import math
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "common"))

from kit.ladder import predict

FILE = Path(__file__).resolve().parents[2] / "docs" / "results" / "model_h200.json"
FITTED_TO, HELD_OUT = "cases", "row_sums"
KEPT = [*predict.USED, "barriers"]


def gather(counts, times, part):
    def key_of(each):
        return each["rung"], each["exponent"], each.get("rows", 1)

    measured = {key_of(time): time["median_us"] for time in json.loads(Path(times).read_text())}
    found = []
    for rung in json.loads(Path(counts).read_text()):
        key = key_of(rung)
        if rung["launches"] and key in measured:
            launches = [{"grid": launch["grid"], "block": launch["block"], "counters": {name: launch["counters"][name] for name in KEPT}}
                        for launch in rung["launches"]]  # fmt: skip
            found.append({"rung": key[0], "n": 1 << key[1], "measured_us": round(measured[key], 2), "launches": launches})
    known = json.loads(FILE.read_text()) | {part: found}
    lists = [f'"{name}": [\n' + ",\n".join(map(json.dumps, known[name])) + "\n]" for name in (FITTED_TO, HELD_OUT)]
    FILE.write_text('{"gpu": "H200", ' + ", ".join(lists) + "}\n")


def cases(known):
    for case in known:
        yield case["rung"], case["n"].bit_length() - 1, case["launches"], case["measured_us"]


def loss(found, gpu, constants):
    return sum(math.log(predict.run_us(launches, gpu, constants) / us) ** 2 for _, _, launches, us in found)


def fit(found, gpu):
    best = predict.FITTED
    step = 0.2
    while step > 0.004:
        improved = False
        for name in [each.name for each in dataclasses.fields(best)]:
            for factor in (1 + step, 1 / (1 + step)):
                tried = dataclasses.replace(best, **{name: getattr(best, name) * factor})
                if tried.bandwidth_reached <= 0.97 and tried.issue_reached <= 1 and loss(found, gpu, tried) < loss(found, gpu, best):
                    best, improved = tried, True
        if not improved:
            step /= 2
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--gather", nargs=2, metavar=("COUNTS", "TIMES"))
    parser.add_argument("--shapes", action="store_true")
    options = parser.parse_args()
    if options.gather:
        gather(*options.gather, HELD_OUT if options.shapes else FITTED_TO)
    known = json.loads(FILE.read_text())
    gpu = predict.named(known["gpu"])
    found = list(cases(known[FITTED_TO]))
    constants = fit(found, gpu) if options.fit else predict.FITTED
    print(constants, "\n")
    report(found, gpu, constants)
    print("\nNot in the fit:\n")
    report(list(cases(known[HELD_OUT])), gpu, constants)


def report(found, gpu, constants):
    print("| rung | n | bound by | predicted us | measured us | off by |\n|---|---|---|---|---|---|")
    off = []
    for rung, exponent, launches, us in found:
        predicted = predict.run_us(launches, gpu, constants)
        off.append(abs(predicted / us - 1))
        part = max(launches, key=lambda launch: predict.launch_us(launch, gpu, constants))
        each = predict.parts(part, gpu, constants)
        print(
            f"| `{rung}` | 2^{exponent} | {max(each, key=each.get)} | {predicted:,.1f} | {us:,.1f} | {100 * (predicted / us - 1):+.0f} % |"
        )
    print(f"\nMedian error {100 * statistics.median(off):.0f} %, largest {100 * max(off):.0f} %.")
    for exponent in sorted({case[1] for case in found}):
        print(order(exponent, [case for case in found if case[1] == exponent], gpu, constants))


def order(exponent, found, gpu, constants):
    """Pairs of rungs that the measurement tells apart by a tenth, and of them those that the model puts in the same order."""
    pairs = right = 0
    for at, (_, _, launches, us) in enumerate(found):
        for _, _, others, other_us in found[:at]:
            if max(us, other_us) > 1.1 * min(us, other_us):
                pairs += 1
                right += (predict.run_us(launches, gpu, constants) > predict.run_us(others, gpu, constants)) == (us > other_us)
    return f"2^{exponent}: {right} of {pairs} pairs of rungs that differ by a tenth or more are in the right order."


if __name__ == "__main__":
    main()
