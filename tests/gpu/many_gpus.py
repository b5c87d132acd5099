#!/usr/bin/env python3
"""Measures all that docs/results says of several GPUs, in one go, on all GPUs of this machine:

    ninja -C BUILD tests/gpu/many_gpus common/lab/links
    many_gpus.py BUILD RESULT.json

RESULT.json: the device, how many of them, CUDA's and NCCL's version, the date; "times" and "bits" as the program many_gpus
prints them; "collectives", NCCL's all-reduce by ring and by tree; "links", each ordered pair as the program links measures it.
Times are in microseconds, rates in GB/s. Takes two to three minutes on four H200s. tests/gpu/fit_scaling.py fits the model to it."""

import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

ALGORITHMS = ("ring", "tree")


def printed(command: list[str], **environment: str) -> dict:
    done = subprocess.run(command, text=True, capture_output=True, env=os.environ | environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def merged(sums: dict, collectives: list[dict], links: dict, date: str) -> dict:
    found = {key: sums[key] for key in ("device", "gpus", "driver", "nccl")} | {"date": date}
    found |= {"times": sums["times"], "bits": sums["bits"]}
    found["collectives"] = [entry for each in collectives for entry in each["collectives"]]
    found["links"] = links["links"]
    return found


def as_text(found: dict) -> str:
    """JSON with an entry per line, so that a new run shows in a diff what has changed."""
    parts = []
    for key, value in found.items():
        if isinstance(value, list):
            parts.append(f' "{key}": [\n' + ",\n".join("  " + json.dumps(entry) for entry in value) + "\n ]")
        else:
            parts.append(f' "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("build", type=Path)
    options.add_argument("result", type=Path)
    chosen = options.parse_args()
    program = str(chosen.build.resolve() / "tests/gpu/many_gpus")
    sums = printed([program, "--weak"])
    collectives = [printed([program, "--collectives", name], NCCL_ALGO=name.capitalize()) for name in ALGORITHMS]
    links = printed([str(chosen.build.resolve() / "common/lab/links")])
    chosen.result.write_text(as_text(merged(sums, collectives, links, datetime.date.today().isoformat())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
