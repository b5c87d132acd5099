"""`kit profile LAB --device gpu`: what Nsight Compute counted on the GPU beside what the emulator counted, for the same launches."""

import json
import os
from dataclasses import dataclass

from .. import counters
from .. import gpu as gpus
from ..console import paint, say
from ..errors import SETUP, USAGE, KitError
from ..process import relative
from ..programs import rungs
from ..table import Table
from . import annotate, listing, nsight

TOTALS = [key for key in counters.CATALOGUE if key in (*nsight.METRICS, *nsight.OF_SOURCE, "blocks")]
BESIDE = ["simt_efficiency", "sectors_per_request", "bank_conflicts", "shuffles", "atomic_operations", "barriers"]


@dataclass
class Pair:
    run: rungs.Run
    emulator: list[annotate.Kernel]
    gpu: list[annotate.Kernel]


def run(options) -> int:
    if options.html:
        raise KitError("--html shows the emulator's counts; with --device gpu there is a table, or --json", code=USAGE)
    try:
        gpu = gpus.find()
    except gpus.NoGpu as reason:
        raise KitError(f"no GPU to count on: {reason}", "Without --device gpu the emulator counts.", SETUP) from None
    nsight.find()  # better now than after a build
    os.environ["WARPFOLD_GRID_FOR"] = gpu.grid_for
    lab = rungs.find(options)
    pairs = rungs.of_each(lab, options.rung, lambda rung: count(lab, rung, options))
    if options.json:
        print(json.dumps([to_json(pair) for pair in pairs], indent=1))
    else:
        for pair in pairs:
            show(pair, gpu.name)
        legend()
    return 0


def count(lab, rung: str, options) -> Pair:
    emulated = rungs.run(lab, rung, options)
    if emulated.n is None:
        raise KitError(f"{rung} is {emulated.result['state']}: {emulated.result.get('reason', '')}",
                       "Counts of a wrong kernel say little, so repair it first. `kit profile` without --device gpu shows where it is wrong.")  # fmt: skip
    say(f"counting {rung} on the GPU")
    command = [str(lab.program), "--rung", rung, "--device", "gpu", "--n", str(emulated.n)]
    for name in ("rows", "block"):
        if (value := getattr(options, name)) is not None:
            command += [f"--{name}", str(value)]
    report = nsight.of_rung(command, rung, len(emulated.report["launches"]))
    return Pair(emulated, annotate.kernels(emulated.report, emulated.folder), annotate.kernels(report, emulated.folder))


def show(pair: Pair, gpu: str) -> None:
    print(f"\n{paint(pair.run.rung, 'bold')}{pair.run.size}")
    # Kernels are matched by position, as the two give them different names.
    for ours, theirs in zip(pair.emulator, pair.gpu, strict=False):
        print(f"\n{paint(ours.name, 'bold')}  {ours.shape}")
        totals = Table(["", "emulator", gpu])
        for key in TOTALS:
            if ours.counters.get(key) or theirs.counters.get(key):
                totals.add([counters.CATALOGUE[key].label, *(f"{each.counters.get(key, 0):,}" for each in (ours, theirs))])
        print(totals.text())
        show_source(ours, theirs)


def show_source(ours: annotate.Kernel, theirs: annotate.Kernel) -> None:
    on_gpu = {(part.file, line.number): line for part in theirs.excerpts for line in part.lines if line}
    columns = [
        column
        for column in annotate.COLUMNS
        if column.key in BESIDE and column in [*annotate.used_columns(ours), *annotate.used_columns(theirs)]
    ]
    for part in ours.excerpts:
        print(paint(f"\n{relative(part.file)}   (emulator | GPU)", "blue"))
        table = Table([annotate.SHARE.title, *(column.title for column in columns), "line"], left=0)
        source = []
        for line in part.lines:
            if line is None:
                table.add([""] * (len(columns) + 2))
                source.append("...")
                continue
            other = on_gpu.get((part.file, line.number))
            table.add(
                [
                    beside(share(line), share(other)),
                    *(beside(text(line, column), text(other, column)) for column in columns),
                    str(line.number),
                ]
            )
            source.append(line.source)
        lines = table.text().splitlines()
        wide = max(map(len, lines))
        print(lines[0])
        for counts, code in zip(lines[1:], source, strict=False):
            print(f"{counts:<{wide}}  {code}".rstrip())


def share(line) -> str:
    return f"{100 * line.share:.0f}%" if line and line.counters else ""


def text(line, column) -> str:
    return listing.cell(line, column) if line else ""


def beside(ours: str, theirs: str) -> str:
    return f"{ours or '-'} | {theirs or '-'}" if ours or theirs else ""


def legend() -> None:
    print(paint(
        "\ninstruction share: share of the warp instructions, which are PTX on the emulator and machine code on the GPU.\n"
        "The compiler moves machine code between lines, predicates short branches (the lanes of both sides then count as\n"
        "active), and charges code from NVIDIA's headers, such as shuffles and atomics, to those headers.", "grey"))  # fmt: skip


def to_json(pair: Pair) -> dict:
    return {"lab": pair.run.lab.name, "rung": pair.run.rung, "n": pair.run.n,
            "emulator": annotate.to_json(pair.emulator), "gpu": annotate.to_json(pair.gpu)}  # fmt: skip
