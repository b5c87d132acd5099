#!/usr/bin/env python3
"""Draws the figures of the handout on softmax from what the emulator records of the solved kernels: it writes them beside itself.

It builds the lab, and needs no GPU. tests/kit/test_softmax_figures.py draws them anew and compares."""

import math
import struct
import sys
from argparse import Namespace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "common")]

from draw import BLUE, GREY, ORANGE, WIDE, Drawing  # noqa: E402
from kit.programs import folder, labs, rungs  # noqa: E402

LAB = "13_softmax"


def launch_of(lab, rung: str, **sizes: int) -> dict:
    """What block 0 does."""
    options = Namespace(**{name: str(value) for name, value in sizes.items()})
    return rungs.observed(lab, rung, ["--profile"], options, 0)[2]["launches"][0]


# -- what is known of elements: their maximum, and the sum of exp(x - maximum)


def pairs(event: dict) -> list[tuple[float, float]]:
    floats = struct.unpack(f"<{len(event['bits'])}f", struct.pack(f"<{len(event['bits'])}I", *event["bits"]))
    return list(zip(floats[::2], floats[1::2], strict=True))


def stored(launch: dict, array: str) -> dict[int, tuple[float, float]]:
    """By index."""
    found = {}
    for event in launch["events"]:
        if event["at"] == "store" and launch["arrays"][event["array"]]["name"] == array:
            found |= zip((offset // event["width"] for offset in event["offsets"]), pairs(event), strict=True)
    return dict(sorted(found.items()))


def read_from_ranks(launch: dict, array: str) -> dict[int, tuple[float, float]]:
    found = {}
    for event in launch["events"]:
        name, _, rank = launch["arrays"][event["array"]]["name"].partition(" of rank ") if "array" in event else ("", "", "")
        if event["at"] == "load" and name == array and rank:
            found[int(rank)] = pairs(event)[0]
    return found


def joined(known: list[tuple[float, float]]) -> tuple[float, float]:
    largest = max(maximum for maximum, _ in known)
    return largest, sum(total * math.exp(maximum - largest) for maximum, total in known)


def require_same(one: tuple[float, float], other: tuple[float, float]) -> None:
    if not all(math.isclose(a, b, rel_tol=1e-5) for a, b in zip(one, other, strict=True)):
        raise SystemExit(f"the kernel has joined to {other}, and not to {one}")


def known_box(d: Drawing, x: float, y: float, width: float, whose: str, known: tuple[float, float], fill: str = BLUE) -> None:
    d.box(x, y, width, 52, fill)
    d.text(x + width / 2, y + 14, whose, 11, "middle", bold=True)
    d.text(x + width / 2, y + 30, f"m = {known[0]:.3f}", 11, "middle")
    d.text(x + width / 2, y + 45, f"s = {known[1]:.5g}", 11, "middle")


def join(lab) -> Drawing:
    launch = launch_of(lab, "cluster", n=1024, rows=1, block=64)
    warps, block = list(stored(launch, "of_warps").values()), stored(launch, "of_block")[0]
    require_same(joined(warps), block)
    (m0, s0), (m1, s1) = warps
    d = Drawing(WIDE, 190, "Two warps join what they know",
                f"Warp 0 knows the maximum {m0:.2f} and the sum {s0:.2f}, warp 1 the maximum {m1:.2f} and the sum {s1:.2f}. Together they "
                f"know the larger maximum, {block[0]:.2f}, and the sum of both sums, each scaled to that maximum: {block[1]:.2f}.")  # fmt: skip
    known_box(d, 0, 2, 130, "warp 0", warps[0])
    known_box(d, WIDE - 130, 2, 130, "warp 1", warps[1])
    d.line(65, 54, 110, 86), d.line(WIDE - 65, 54, WIDE - 110, 86)
    d.box(0, 86, WIDE, 100, ORANGE)
    d.text(WIDE / 2, 104, "the block", 12, "middle", bold=True)
    d.text(WIDE / 2, 128, f"m = max({m0:.3f}, {m1:.3f}) = {block[0]:.3f}", 12, "middle")
    d.text(WIDE / 2, 150, "s = " + " + ".join(f"{s:.5g} exp({m - block[0]:.3f})" for m, s in warps), 12, "middle")
    d.text(WIDE / 2, 172, f"= {s0 * math.exp(m0 - block[0]):.5g} + {s1 * math.exp(m1 - block[0]):.5g} = {block[1]:.5g}", 12, "middle")
    return d


def exchange(lab) -> Drawing:
    launch = launch_of(lab, "cluster", n=2**15, rows=1, block=128)
    known = [stored(launch, "of_block")[0], *read_from_ranks(launch, "of_block").values()]
    row = joined(known)
    d = Drawing(WIDE, 272, "The blocks of a cluster exchange what they know",
                f"{len(known)} blocks share a row. Each stores in its own shared memory what it knows of its part. After a barrier of the "
                "cluster, lane r of each warp reads what the block of rank r has stored, and the lanes join that. Before a block ends, it "
                "waits until all have read.")  # fmt: skip
    d.text(0, 14, "Each block stores what it knows of its part", bold=True)
    each = WIDE / len(known)
    for rank, pair in enumerate(known):
        known_box(d, rank * each + 2, 24, each - 4, f"rank {rank}", pair)
    bar(d, 88, "all have stored: cluster_sync()")
    for rank in range(len(known)):
        d.line(rank * each + each / 2, 110, 95 + rank * 48, 140)
        d.box(75 + rank * 48, 140, 40, 24, BLUE)
        d.text(95 + rank * 48, 156, f"lane {rank}", 10, "middle")
    d.text(0, 150, "each warp", 11)
    d.text(0, 164, "of each block", 11)
    d.line(95, 164, 150, 184), d.line(95 + 48 * (len(known) - 1), 164, 200, 184)
    d.box(75, 184, 48 * len(known) - 8, 30, ORANGE)
    d.text(75 + 24 * len(known) - 4, 203, f"the row: m = {row[0]:.3f}, s = {row[1]:.5g}", 11, "middle")
    bar(d, 236, "all have read: cluster_arrive(), cluster_wait()")
    return d


def bar(d: Drawing, y: float, words: str) -> None:
    d.box(0, y, WIDE, 22, GREY, 0.35)
    d.text(WIDE / 2, y + 15, words, 11, "middle")


# -- a ring of buffers over time


def uses(launch: dict) -> dict[int, list[tuple[str, int, int]]]:
    """By the buffer's offset: what happens to it, from one event to another."""
    found: dict[int, list[tuple[str, int, int]]] = {}
    arriving, leaving, groups, over = [], [], 0, 0
    size = next(event["bytes"] for event in launch["events"] if event["at"] == "bulk_write")
    for moment, event in enumerate(launch["events"]):
        if event["at"] == "bulk_write":
            arriving.append((event, moment))
        elif event["at"] == "phase":
            for copy, begin in [
                each for each in arriving if each[0]["mbarrier"] == event["mbarrier"] and each[0]["phase"] < event["phase"]
            ]:
                found.setdefault(copy["offset"], []).append(("arrives", begin, moment))
                arriving.remove((copy, begin))
        elif event["at"] == "bulk_read":
            leaving.append((event["offset"], moment, groups + 1))
        elif event["at"] == "bulk_commit":
            groups += 1
        elif event["at"] == "bulk_wait":
            over = max(over, groups - event["left"])
            for offset, begin, group in [each for each in leaving if each[2] <= over]:
                found[offset].append(("leaves", begin, moment))
                leaving.remove((offset, begin, group))
        elif event["at"] in ("load", "store") and launch["arrays"][event["array"]]["name"] == "buffers" and event["width"] < size:
            used(found, launch["arrays"][event["array"]]["offset"] + event["offsets"][0], size, moment)
    return found


def used(found: dict, offset: int, size: int, moment: int) -> None:
    """A thread's own access."""
    buffer = next(begin for begin in found if begin <= offset < begin + size)
    kind, begin, _ = found[buffer][-1]
    if kind == "used":
        found[buffer][-1] = (kind, begin, moment)
    else:
        found[buffer].append(("used", moment, moment))


def places(found: dict) -> dict[int, float]:
    """Each moment at which something begins or ends is a step to the right, and a longer one where the threads are at work."""
    moments = sorted({moment for each in found.values() for _, begin, end in each for moment in (begin, end)})
    ends = {end for each in found.values() for kind, _, end in each if kind == "used"}
    x, whole = 0.0, len(moments) - 1 + 1.5 * len(ends)
    at = {moments[0]: 62.0}
    for moment in moments[1:]:
        x += 2.5 if moment in ends else 1
        at[moment] = 62 + (WIDE - 64) * x / whole
    return at


COLOURS = {"arrives": (BLUE, 0.2), "used": (ORANGE, 0.6), "leaves": (GREY, 0.35)}


def ring(lab) -> Drawing:
    found = uses(launch_of(lab, "bulk_copies", n=2**17, rows=2**11, block=32))
    at = places(found)
    d = Drawing(WIDE, 60 + 34 * len(found), "A ring of buffers over time",
                f"Each of {len(found)} buffers takes a row by a bulk copy, is worked on, and is stored from by another bulk copy, in turn. While "
                "one row is worked on, the next ones arrive and the last one leaves.")  # fmt: skip
    for x, (kind, words) in zip(
        (0, 105, 220), {"arrives": "a row arrives", "used": "is worked on", "leaves": "and leaves"}.items(), strict=True
    ):
        d.box(x, 2, 14, 14, *COLOURS[kind])
        d.text(x + 20, 13, words, 11)
    order = sorted((begin, offset) for offset, each in found.items() for kind, begin, _ in each if kind == "used")
    turn = {key: number for number, key in enumerate(order)}
    for line, (offset, each) in enumerate(sorted(found.items())):
        y = 28 + 34 * line
        d.text(0, y + 19, f"buffer {line}", 11)
        for kind, begin, end in sorted(each, key=lambda use: use[1]):
            d.box(at[begin], y, max(at[end] - at[begin], 6), 28, *COLOURS[kind])
            if kind == "used":
                d.text((at[begin] + at[end]) / 2, y + 19, str(turn[begin, offset]), 11, "middle", bold=True)
    d.line(62, 36 + 34 * len(found), WIDE - 2, 36 + 34 * len(found))
    d.text(62, 52 + 34 * len(found), "time; the numbers are turns", 11)
    return d


def figures(lab) -> dict[str, Drawing]:
    return {"softmax_join": join(lab), "softmax_cluster": exchange(lab), "softmax_ring": ring(lab)}


def main() -> None:
    build = folder.prepare()
    lab = labs.named(labs.find(build, solved=True), LAB)
    labs.compile(build, [lab])
    for name, drawing in figures(lab).items():
        (HERE / f"{name}.svg").write_text(drawing.svg())


if __name__ == "__main__":
    main()
