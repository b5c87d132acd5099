"""`kit device`: what the GPU is, according to the driver, and how much it reads per second, measured; of several GPUs, what links them."""

import json
import subprocess
from dataclasses import asdict

from .. import gpu as gpus
from .. import options as shared
from .. import topology
from ..console import fill, paint, say
from ..errors import PROGRAM, KitError
from ..programs import folder, labs
from ..table import Table
from ..topology import Pair

PURPOSE = "describe the GPU and measure how fast it reads"
MORE = "Of several GPUs, the links between each pair are measured as well."
GROUP = "look closer"
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
            print(fill(f"No GPU: {reason}.\nEverything except timing still works, on the emulator."))
        return 0
    gpus.warn_if_busy()
    measured = None if options.quick else read_bandwidth()
    pairs = topology.pairs()
    links = link_times() if pairs and not options.quick else []
    if options.json:
        known = asdict(gpu) | {"capability": gpu.capability, "peak_gb_per_s": gpu.peak_gb_per_s, "measured_gb_per_s": measured}
        print(json.dumps({"gpu": known} | ({"links": as_json(pairs, links)} if pairs else {}), indent=2))
    else:
        show(gpu, measured)
        if pairs:
            show_links(pairs, links)
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


def link_times() -> list[dict]:
    """Of each ordered pair of GPUs, what common/lab/run/timing/links.cu measures."""
    build = folder.prepare()
    program = build.target("executable", "links")
    build.compile([program])
    say("measuring the links between the GPUs")
    run = subprocess.run([str(program)], text=True, capture_output=True)
    try:
        return json.loads(run.stdout)["links"]
    except (ValueError, KeyError):
        raise KitError(f"the links between the GPUs could not be measured\n{(run.stderr or run.stdout).strip()}",
                       "./kit device --quick shows what the driver says about them.", PROGRAM) from None  # fmt: skip


def as_json(pairs: list[Pair], links: list[dict]) -> list[dict]:
    """An entry per ordered pair; without measured figures if there are none."""
    measured = {(link["from"], link["to"]): link for link in links}
    ordered = [(way, pair) for pair in pairs for way in ((pair.first, pair.second), (pair.second, pair.first))]
    return [
        {"from": way[0], "to": way[1], "linked_by": pair.linked_by, "nvlinks": pair.nvlinks, "peer_access": pair.peer_access}
        | measured.get(way, {})
        for way, pair in sorted(ordered, key=lambda item: item[0])
    ]


def show_links(pairs: list[Pair], links: list[dict]) -> None:
    measured = {(link["from"], link["to"]): link for link in links}
    headings = ["GPUs", "linked by", "peer access"]
    if measured:
        headings += ["GB/s there", "back", "both at once", "copy us", "read us"]
    made = Table(headings, left=3, drop_first=["read us", "copy us", "peer access"])
    for pair in pairs:
        cells = [f"{pair.first}, {pair.second}", pair.linked_by, "yes" if pair.peer_access else "no"]
        if measured:
            there, back = measured[pair.first, pair.second], measured[pair.second, pair.first]
            cells += [f"{there['gb_per_s']:,.1f}", f"{back['gb_per_s']:,.1f}", f"{there['both_ways_gb_per_s']:,.1f}",
                      longer(there, back, "copy_us"), longer(there, back, "read_us")]  # fmt: skip
        made.add(cells)
    print("\n" + paint("Links between the GPUs", "bold"))
    print(made.text())
    if measured:
        print(paint("\n" + fill(LEGEND, most=80), "grey"))


LEGEND = (
    "there: copies of 256 MiB from the first GPU to the second; back: the other way; "
    "both at once: the bytes of both; copy: each of many 4-byte copies, one after the "
    "other; read: each of many 4-byte loads, one after the other, by a kernel on one "
    "GPU from the other's memory. Of the two directions, the one that takes longer."
)


def longer(there: dict, back: dict, key: str) -> str:
    values = [link[key] for link in (there, back) if link[key] is not None]
    return f"{max(values):,.2f}" if values else ""


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
        print(fill(text, f"  {heading:<26}", "    "))
    if known["compute_mode"] in EXCLUSIVE:
        print(f"  Its compute mode lets it be used by {EXCLUSIVE[known['compute_mode']]}; others get an error.")
