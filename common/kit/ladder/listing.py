"""The ladder as text: every rung, right or wrong, with its counts on the emulator or its times on a GPU."""

from collections.abc import Callable
from dataclasses import dataclass

from .. import counters, states
from ..console import fill, paint
from ..table import Table


@dataclass(frozen=True)
class Column:
    heading: str
    of: Callable[[dict], str]  # of a rung
    meaning: str = ""  # where the heading does not say it


def counted(rung: dict) -> dict:
    return rung.get("profile", {}).get("counters", {})


def count(*keys: str) -> Callable[[dict], str]:
    def text(rung: dict) -> str:
        known = counted(rung)
        return f"{sum(known.get(key, 0) for key in keys):,.0f}" if known else ""

    return text


def simt_efficiency(rung: dict) -> str:
    found = counters.value(counted(rung), "simt_efficiency")
    return f"{100 * found:.0f}%" if found is not None else ""


def size(rung: dict) -> str:
    n = rung.get("profile", rung.get("time", {})).get("n")
    if n is None:
        return ""
    return f"2^{n.bit_length() - 1}" if n > 0 and n & (n - 1) == 0 else f"{n:,}"


def launches(rung: dict) -> str:
    return str(rung["profile"]["launches"]) if "profile" in rung else ""


COUNTS = [
    Column("n", size),
    Column("launches", launches),
    Column("loads", count("global_load_requests"), "load requests to global memory"),
    Column("sectors", count("global_load_sectors"), "32-byte sectors read"),
    Column("shared", count("shared_load_wavefronts", "shared_store_wavefronts"), "wavefronts of shared memory"),
    Column("conflicts", count("bank_conflicts"), "bank conflicts"),
    Column("atomics", count("atomic_operations"), "atomic operations"),
    Column("barriers", count("barriers")),
    Column("SIMT", simt_efficiency, "SIMT efficiency, the share of active lanes"),
    Column("instructions", count("warp_instructions"), "PTX instructions that warps executed"),
]


def predicted(rung: dict) -> str:
    return f"{rung['predicted']['us']:,.1f}" if "predicted" in rung else ""


NO_TIMES = "No times: the emulator is not a GPU."
PREDICTION = "computed from the counts, not measured (docs/results/model.md explains how, and how accurate this is)"


def timed(key: str, pattern: str) -> Callable[[dict], str]:
    def text(rung: dict) -> str:
        value = rung.get("time", {}).get(key)
        return pattern.format(value) if value is not None else ""

    return text


TIMES = [
    Column("n", size),
    Column("us", timed("median_us", "{:,.1f}"), "median, cold cache"),
    Column("GB/s", timed("gb_per_s", "{:,.0f}")),
    Column("of peak", timed("percent_of_peak", "{:.1f}%"), "share of the bandwidth by the device's attributes"),
    Column("of measured", timed("percent_of_measured", "{:.1f}%"), "share of what a plain reading kernel reached"),
    Column("on rung before", timed("speed_up_over_rung_before", "{:.2f}x")),
    Column("on CPU loop", timed("speed_up_over_cpu", "{:,.0f}x"), "speed-up over one CPU thread with one accumulator"),
]

# Left out first if the terminal is narrow.
LEAST_NEEDED = ["instructions", "launches", "sectors", "SIMT", "of measured", "on rung before", "loads", "shared", "atomics",
                "on CPU loop", "conflicts", "barriers"]  # fmt: skip


def verdict(rung: dict) -> str:
    state = states.of(rung)
    return paint(state.label, state.colour)


def show(labs: list[dict]) -> None:
    """`labs`: what each lab's program answered with --json."""
    device = next((lab["device"] for lab in labs if lab.get("device")), None)
    timed_run = any("time" in rung for lab in labs for rung in lab["rungs"])
    gpu = next((rung["predicted"]["gpu"] for lab in labs for rung in lab["rungs"] if "predicted" in rung), None)
    guess = [Column(f"predicted us on {gpu}", predicted, PREDICTION)] if gpu else []
    columns = TIMES if timed_run else COUNTS + guess
    if device:
        print(fill(f"{paint('The ladder', 'bold')} on {device['name']}") + "\n")
    table = Table(["rung", "verdict", *(column.heading for column in columns)], left=2,
                  drop_first=[*LEAST_NEEDED, *(column.heading for column in guess), "n"])  # fmt: skip
    for lab in labs:
        table.section(paint(lab["lab"], "bold"))
        for rung in lab["rungs"]:
            table.add(["  " + rung["name"], verdict(rung), *(column.of(rung) for column in columns)])
    print(table.text())
    dropped = table.dropped()
    explained = "; ".join(f"{each.heading}: {each.meaning}" for each in columns if each.meaning and each.heading not in dropped)
    notes = [*([f"{explained}."] if explained else []), *([] if timed_run else [NO_TIMES])]
    print(paint("\n" + fill(" ".join(notes), most=80), "grey"))
    show_failures(labs)


def show_failures(labs: list[dict]) -> None:
    rungs = [(lab["lab"], rung) for lab in labs for rung in lab["rungs"]]
    for lab, rung in rungs:
        if rung["state"] != "pass":
            print("\n" + fill(f"{lab} {rung['name']}: {verdict(rung)}  {rung.get('reason', '')}".rstrip()))
    skipped = sum(rung["state"] == "skip" for _, rung in rungs)
    right = sum(rung["state"] == "pass" for _, rung in rungs)
    print(f"\n{right} of {len(rungs) - skipped} rungs are right{f', {skipped} skipped' if skipped else ''}.")
