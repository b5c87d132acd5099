"""`kit profile LAB`: the source with the counts beside each line."""

import json
from pathlib import Path

from .. import options as shared
from ..console import fill, paint, say
from ..process import relative, require_writable
from ..profile import annotate, beside_gpu, listing, page
from ..programs import rungs

PURPOSE = "show a lab's source with counts beside each line"
MORE = "Hazards stand beside their lines too."
GROUP = "look closer"
ORDER = 50
NOTHING_COUNTED = (
    "There are no counts to show per line: this program launched no kernel itself. (Of a rung that runs in several processes, "
    "the counts are shown once it is right.)"
)


def arguments(parser) -> None:
    rungs.arguments(parser)
    shared.rungs(parser)
    shared.json(parser)
    parser.add_argument("--device", choices=["emulator", "gpu"], default="emulator",
                        help="gpu: also count with Nsight Compute, and show the two side by side")  # fmt: skip
    parser.add_argument("--columns", metavar="NAME,...", default="",
                        help="the columns to keep in a terminal that is too narrow for all, such as barriers,atomics")  # fmt: skip
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a self-contained HTML page")


def run(options) -> int:
    if options.device == "gpu":
        return beside_gpu.run(options)
    if options.html:
        require_writable(options.html, "--html")
    asked = annotate.named(options.columns)
    lab = rungs.find(options)
    runs = rungs.of_each(lab, options.rung, lambda rung: rungs.run(lab, rung, options))
    profiled = [(each, annotate.kernels(each.report, each.folder)) for each in runs]
    if options.html:
        options.html.write_text(page.page(lab.name, profiled))
        say(f"wrote {relative(options.html)}")
    if options.json:
        print(json.dumps([to_json(each, kernels) for each, kernels in profiled], indent=1))
    elif not options.html:
        show(profiled, asked)
    return 0


def show(profiled: list, asked: list[annotate.Column]) -> None:
    shown = []
    for each, kernels in profiled:
        print("\n" + fill(f"{paint(each.rung, 'bold')}: {paint(*each.verdict)}{each.size}"))
        for kernel in kernels:
            shown += listing.show(kernel, asked)
        if not kernels:
            print(paint(fill(NOTHING_COUNTED), "grey"))
        for hazard in each.placeless_hazards:
            print(paint(fill(f"{hazard['kind']}: {hazard['message']}"), "red"))
    if any(kernels for _, kernels in profiled):
        listing.legend(shown)


def to_json(each: rungs.Run, kernels: list) -> dict:
    return {
        "lab": each.lab.name, "rung": each.rung, "state": each.result["state"], "reason": each.result.get("reason", ""),
        "n": each.n, "kernels": annotate.to_json(kernels), "hazards": each.report["hazards"],
    }  # fmt: skip
