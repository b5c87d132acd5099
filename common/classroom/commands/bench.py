"""`kit class bench`: what it takes to grade a class here."""

import json

from kit.errors import USAGE, KitError
from kit.table import Table

from ..course import version
from ..grading import bench

PURPOSE = "grade a made-up class and say what it took"
ORDER = 260


def arguments(parser) -> None:
    parser.add_argument("students", type=int, metavar="N", help="how many students")
    parser.add_argument("--lab", action="append", default=[], metavar="LAB", help="only this lab; may be repeated")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(options) -> int:
    if options.students < 1:
        raise KitError(f"{options.students} students: at least 1 is needed", code=USAGE)
    figures = bench.measure(options.students, version.prepare(options.lab or None)).as_json()
    if options.json:
        print(json.dumps(figures, indent=2))
        return 0
    table = Table(["lab", "CPU seconds per submission"])
    for lab, seconds in figures["labs"].items():
        table.add([lab, f"{seconds:.2f}"])
    table.add(["all", f"{figures['cpu_seconds_per_submission']:.2f}"])
    print(table.text())
    print(
        f"{figures['submissions']} submissions of {figures['students']} students, all solved, no two the same: {figures['seconds']:.0f} s;"
    )
    print(
        f"a second run, with nothing to do: {figures['second_run_seconds']:.1f} s; the engine's largest process held {figures['engine_peak_mib']} MiB."
    )
    return 0
