"""`kit device`: what the GPU is, according to the driver, and how much it reads per second, measured."""

import json
from dataclasses import asdict

from .. import gpu as gpus
from .. import options as shared
from ..building import folder, labs
from ..console import paint, say
from ..errors import KitError

PURPOSE = "describe the GPU and measure how fast it reads"
ORDER = 80

EXCLUSIVE = {1: "one thread at a time", 2: "nobody", 3: "one process at a time"}  # CUcomputemode


def arguments(parser) -> None:
    shared.json(parser)
    parser.add_argument("--quick", action="store_true", help="print only what the driver says; build and measure nothing")


def run(options) -> int:
    try:
        gpu = gpus.find()
    except gpus.NoGpu as reason:
        if options.json:
            print(json.dumps({"gpu": None, "reason": str(reason)}))
        else:
            print(f"No GPU: {reason}.\nEverything except timing still works, on the emulator.")
        return 0
    gpus.warn_if_busy()
    measured = None if options.quick else read_bandwidth()
    if options.json:
        known = asdict(gpu) | {"capability": gpu.capability, "peak_gb_per_s": gpu.peak_gb_per_s, "measured_gb_per_s": measured}
        print(json.dumps({"gpu": known}, indent=2))
    else:
        show(gpu, measured)
    return 0


def read_bandwidth() -> float:
    """GB/s of the reading kernel that every timed run of a lab measures along with its rungs."""
    build = folder.prepare()
    lab = labs.find(build, solved=True)[0]
    labs.compile(build, [lab])
    say("measuring the read bandwidth")
    answer = labs.ask(lab, "--solutions", "--time", "--device", "gpu", "--n", "1024")
    rung = answer["rungs"][0]
    if "time" not in rung:
        raise KitError(f"the GPU's bandwidth could not be measured: {rung.get('reason') or rung['state']}",
                       "Is another program using it? nvidia-smi shows which.")  # fmt: skip
    return rung["time"]["measured_gb_per_s"]


def show(gpu: gpus.Gpu, measured: float | None) -> None:
    known = gpu.attributes
    peak = gpu.peak_gb_per_s
    part = f", {100 * measured / peak:.1f} % of that" if measured and peak else ""
    rows = [
        ("compute capability", gpu.capability),
        ("driver runs", f"up to {gpu.driver}"),
        ("multiprocessors", f"{known['multiprocessors']} at up to {known['clock_khz'] / 1e6:.2f} GHz"),
        ("memory", f"{gpu.memory_bytes / 2**30:.1f} GiB, ECC {'on' if known['ecc'] else 'off'}"),
        ("bus", f"{known['bus_bits']} bits at {known['memory_clock_khz'] / 1e6:.2f} GHz, two transfers per clock"),
        ("read bandwidth, by that", f"{peak:,.0f} GB/s" if peak else "the driver does not say"),
        ("read bandwidth, measured", f"{measured:,.0f} GB/s{part}" if measured else "not measured (--quick)"),
        ("L2 cache", f"{known['l2_bytes'] / 2**20:.0f} MiB"),
        ("a multiprocessor holds", f"{known['threads_per_multiprocessor']} threads, {known['blocks_per_multiprocessor']} blocks, "
         f"{known['registers_per_multiprocessor']} registers, {known['shared_per_multiprocessor'] // 1024} KiB of shared memory"),
        ("a block has at most", f"{known['threads_per_block']} threads, {known['shared_per_block'] // 1024} KiB of shared memory "
         f"({known['shared_per_block_opt_in'] // 1024} on request)"),
    ]  # fmt: skip
    print(paint(gpu.name, "bold"))
    for heading, text in rows:
        print(f"  {heading:<26}{text}")
    if known["compute_mode"] in EXCLUSIVE:
        print(f"  Its compute mode lets it be used by {EXCLUSIVE[known['compute_mode']]}; others get an error.")
