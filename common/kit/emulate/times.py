"""`emulate --time`: where the emulator's time went."""

import json
from pathlib import Path

from .. import console, report
from ..errors import PROGRAM, KitError
from ..table import Table


def show(path: Path) -> None:
    """Prints a table of what the emulator wrote to WARPFOLD_PROGRESS."""
    try:
        spent = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise KitError("the program left no times: it ended before its first CUDA call", code=PROGRAM) from error
    whole = spent["emulator_seconds"]
    table = Table(["", "times", "seconds", "share"])
    kernels = sorted(spent["kernels"], key=lambda kernel: -kernel["emulator_seconds"])
    names = report.readable([kernel["kernel"] for kernel in kernels])
    rows = [(names[kernel["kernel"]], kernel["times"], kernel["emulator_seconds"]) for kernel in kernels]
    for key, name in [("copies", "copies and fills"), ("loading", "reading the program's PTX")]:
        if key in spent:
            rows.append((name, spent[key]["times"], spent[key]["emulator_seconds"]))
    rows.append(("outside: the program's own code", None, whole - spent["busy_seconds"]))
    for name, times, seconds in rows:
        share = f"{100 * seconds / whole:.0f}%" if whole else ""
        table.add([name, "" if times is None else f"{times:,}", f"{seconds:.3f}", share])
    table.add(["in all", "", f"{whole:.3f}", ""])
    print("\nWall time of the emulator on this machine. It does not say what a GPU would take.\n")
    print(table.text())
    if sum(seconds for _, _, seconds in rows) > 1.01 * whole:
        print(console.fill("(devices worked at the same time: the shares add up to more than 100%)"))
