"""`kit demo --peers`: the libraries' sums and a copy, timed on the GPU in one run of the program tests/gpu/peers."""

import json
import subprocess

from .. import gpu
from ..console import say
from ..errors import PROGRAM, SETUP, KitError
from ..programs.folder import Build

EXPONENT = 26  # as the labs' times
SHOWN = {
    "empty launch": "an empty launch",
    "copy (reads and writes)": "copy, device to device",
    "cub::DeviceReduce::Sum": "CUB DeviceReduce::Sum",
    "cub::DeviceReduce::Sum again": "CUB, measured again",
    "thrust::reduce": "thrust::reduce",
    "cublasSasum": "cuBLAS asum",
    "champion": "champion, in this run",
    "champion again": "champion, measured again",
}


def require_gpu() -> None:
    try:
        gpu.find()
    except gpu.NoGpu as reason:
        raise KitError(f"--peers needs a GPU to time them on; {reason}", "Without --peers the demo runs on the emulator.", SETUP) from None


def ask(build: Build) -> dict:
    """In the form of a lab's answer, so that it is shown like one: each peer is a rung."""
    program = build.target("executable", "peers")
    say("building the peers (the first time, CUB and Thrust take nvcc half a minute)")
    build.compile([program])
    say("timing the peers")
    run = subprocess.run([str(program), "--json", "--smallest", str(EXPONENT), "--largest", str(EXPONENT)], text=True, capture_output=True)
    try:
        found = json.loads(run.stdout)
    except ValueError:
        raise KitError(f"the peers could not be timed\n{(run.stderr or run.stdout).strip()}", code=PROGRAM) from None
    return answer(found)


def answer(found: list[dict]) -> dict:
    rungs = [rung(entry) for entry in found if entry["method"] == "idle" and entry["name"] in SHOWN]
    return {"lab": "peers", "rungs": rungs}


def rung(entry: dict) -> dict:
    time = {"n": entry["n"], "median_us": entry["us"], "low_us": entry["low"], "high_us": entry["high"]}
    if entry["name"] != "empty launch":
        time["gb_per_s"] = 4e-3 * entry["n"] / entry["us"]  # of the input, as for the rungs
    return {"name": SHOWN[entry["name"]], "state": "pass", "time": time}
