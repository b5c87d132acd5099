#!/usr/bin/env python3
"""Counts of the emulator beside those of a GPU, launch by launch, for every solved rung.

    counters.py measure BUILD OUT.json     on a machine with a GPU and Nsight Compute: counts both, keeps both
    counters.py compare BUILD FILE.json    without a GPU: holds this build's emulator to the hardware's counts in FILE
    counters.py table FILE.json            the comparison as Markdown

Both run the same binary with the same arguments; WARPFOLD_GRID_FOR makes grids that fit the machine the same.
"""
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

N = 1 << 20
LABS = ["01_naive_atomic", "02_tree", "03_warp_unroll", "04_shuffle", "05_grid_stride", "09_speed_of_light", "11_row_sums"]
GRID_FOR = "16x1024"
# Our counter -> Nsight Compute's metrics, summed.
METRICS = {
    "global_load_requests": ["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"],
    "global_load_sectors": ["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"],
    "global_store_requests": ["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"],
    "global_store_sectors": ["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"],
    "shared_load_requests": ["smsp__inst_executed_op_shared_ld.sum"],
    "shared_load_wavefronts": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"],
    "shared_store_requests": ["smsp__inst_executed_op_shared_st.sum"],
    "shared_store_wavefronts": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"],
    "bank_conflicts": [
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    ],
    "atomic_requests": [
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    ],
    "atomic_bytes": ["smsp__sass_data_bytes_mem_global_op_red.sum", "smsp__sass_data_bytes_mem_global_op_atom.sum"],
    # The same wavefronts as the executed addresses alone need them, whatever else used the pipe meanwhile.
    "needed_load_wavefronts": ["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"],
    "needed_store_wavefronts": ["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"],
    "warp_instructions": ["smsp__inst_executed.sum"],
}
OPCODES = "sass__inst_executed_per_opcode"  # for barriers: BAR, once a warp


def programs(build):
    """The solved labs of the build: (lab, path, rungs)."""
    for path in sorted(pathlib.Path(build, "labs").glob("*_solution")):
        listed = subprocess.run([path, "--list", "--json"], capture_output=True, text=True)
        if listed.returncode == 0:
            rungs = [rung["name"] for rung in json.loads(listed.stdout)["rungs"]]
            lab = path.name.removesuffix("_solution")
            if lab in LABS:
                yield lab, path, rungs


def arguments(program, rung, device, n=N):
    return [str(program), "--rung", rung, "--n", str(n), "--device", device, "--json"]


def environment(**more):
    return {**os.environ, "WARPFOLD_GRID_FOR": GRID_FOR, **more}


def size_for(program, rung):
    """2^20, or as many elements as a rung of one block takes."""
    probe = subprocess.run(arguments(program, rung, "emulator"), capture_output=True, text=True, env=environment())
    return N if probe.returncode == 0 else 512


def emulated(program, rung, n):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        subprocess.run(arguments(program, rung, "emulator", n), capture_output=True, check=True,
                       env=environment(WARPFOLD_REPORT=str(report), WARPFOLD_CHECKS="none"))
        launches = json.loads(report.read_text())["launches"]
    return [{"kernel": launch["kernel"], "grid": launch["grid"], "block": launch["block"],
             **{name: value for name, value in launch["counters"].items()}}
            for launch in launches]


def number(text):
    digits = re.match(r"[\d.,]+", text)
    return float(digits[0].replace(",", "")) if digits else 0.0  # "no data" where nothing of the kind happened


def barriers(text):
    """Of `sum (NAME: count; ...)`: warps that arrived at a barrier of the block."""
    return sum(number(count) for name, count in re.findall(r"(\w+(?:\.\w+)*): ([\d,]+)", text) if name.split(".")[0] == "BAR")


def from_hardware(program, rung, n, launches_each):
    """Counters of the first launches, which sum an exact input at an aligned address. Lab 11 checks other shapes than the
    one that is counted, so there the launches wanted are those that are timed, after the checks."""
    rows = "row" in rung
    which = ["--launch-skip", "200" if rows else "0", "--launch-count", str(launches_each)]
    names = sorted({metric for group in METRICS.values() for metric in group} | {OPCODES})
    command = ["ncu", "--clock-control", "none", "--csv", "--print-units", "base", "--print-metric-instances", "values",
               "--metrics", ",".join(names)]
    run = subprocess.run(command + which + arguments(program, rung, "gpu", n) + (["--time"] if rows else []),
                         capture_output=True, text=True, env=environment())
    start = run.stdout.find('"ID"')
    if start < 0:
        raise SystemExit(f"ncu gave no counters for {rung}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    launches = {}
    for row in csv.DictReader(io.StringIO(run.stdout[start:])):
        launch = launches.setdefault(int(row["ID"]), {"kernel": row["Kernel Name"], "grid": row["Grid Size"],
                                                      "block": row["Block Size"], "metrics": {}})
        launch["metrics"][row["Metric Name"]] = row["Metric Value"]
    return [{"kernel": launch["kernel"], "grid": shape(launch["grid"]), "block": shape(launch["block"]),
             **{name: sum(number(launch["metrics"].get(metric) or "0") for metric in group) for name, group in METRICS.items()},
             "barriers_by_warps": barriers(launch["metrics"].get(OPCODES, "")), "opcodes": launch["metrics"].get(OPCODES, "")}
            for _, launch in sorted(launches.items())]


def shape(text):
    return [int(each) for each in re.findall(r"\d+", text)]


def measure(build, out):
    results = []
    for lab, program, rungs in programs(build):
        for rung in rungs:
            n = size_for(program, rung)
            found = emulated(program, rung, n)
            results.append({"lab": lab, "rung": rung, "n": n, "emulator": found,
                            "gpu": from_hardware(program, rung, n, len(found))})
            print(lab, rung, n, len(results[-1]["emulator"]), len(results[-1]["gpu"]), flush=True)
    pathlib.Path(out).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", build, out]:
            measure(build, out)
        case _:
            raise SystemExit(__doc__)
