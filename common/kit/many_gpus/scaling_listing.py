"""`kit predict --gpus P`: the predicted time of a sum over P GPUs, one line for each way of bringing their sums together."""

import math

from ..console import fill, paint
from ..errors import USAGE, KitError
from ..table import Table
from . import scaling

MEMORY_GB = 141  # of an H200, by NVIDIA's data sheet
HOW = {
    "one_kernel": "kernels write into each other's memory, one host thread",
    "one_kernel_threads": "kernels write into each other's memory, a host thread per GPU",
    "peer_reads": "one GPU reads the others' sums, one host thread",
    "peer_copies": "the sums are copied to one GPU, one host thread",
    "nccl_reduce": "ncclReduce, one host thread",
    "rank_per_gpu": "ncclReduce, a process or thread per GPU",
    "all_reduce_ring": "ncclAllReduce by a ring, a process or thread per GPU",
    "all_reduce_tree": "ncclAllReduce by a tree, a process or thread per GPU",
}


def entries(n: int, gpus: int, way: str | None = None) -> list[dict]:
    """For JSON; a way that the model does not know for so many GPUs is left out."""
    check(n, gpus, way)
    k = scaling.fitted()
    found = [(name, scaling.parts(name, n, gpus, k)) for name in ([way] if way else scaling.WAYS)]
    made = [entry(name, n, gpus, parts) for name, parts in found if parts]
    if not made:
        raise KitError(
            f"{way} is not predicted for {gpus:,} GPUs: it needs them in one node, which has at most {scaling.NODE}",
            "Across nodes there are rank_per_gpu, all_reduce_ring and all_reduce_tree.",
            USAGE,
        )
    return sorted(made, key=lambda each: each["us"])


def entry(way: str, n: int, gpus: int, parts: scaling.Parts) -> dict:
    return {
        "way": way, "gpus": gpus, "n": n, "us": round(parts.us, 2), "launch_us": round(parts.launch, 2),
        "reading_us": round(parts.reading, 2), "exchange_us": round(parts.exchange, 2),
        "gb_per_s": round(scaling.FLOAT * n / (1e3 * parts.us), 1), "predicted_for": scaling.fitted().device,
    }  # fmt: skip


def check(n: int, gpus: int, way: str | None) -> None:
    if not 1 <= gpus <= scaling.MOST:
        raise KitError(f"--gpus {gpus:,}: the model goes from 1 to {scaling.MOST:,} GPUs", code=USAGE)
    if n < 1:
        raise KitError(f"--n {n:,}: there is nothing to add up", code=USAGE)
    if way is not None and way not in scaling.WAYS:
        raise KitError(f"the model does not know the method {way}", "It knows: " + ", ".join(scaling.WAYS), USAGE)
    each = scaling.FLOAT * -(-n // gpus) / 1e9
    if each > MEMORY_GB:
        raise KitError(
            f"--n {n:,}: {each:,.0f} GB for each of {gpus:,} GPUs, and an H200 has {MEMORY_GB}",
            "Give more GPUs or fewer elements.",
            USAGE,
        )


def text(found: list[dict]) -> str:
    table = Table(
        ["way", "how", "predicted us", "GB/s in all", "launch", "reading", "exchange"],
        left=2,
        drop_first=["how", "GB/s in all", "launch", "reading", "exchange"],
    )

    def share(entry: dict, part: str) -> str:
        return f"{100 * entry[part] / entry['us']:.0f}%"

    for each in found:
        table.add(
            [each["way"], HOW[each["way"]], f"{each['us']:,.1f}", rate(each["gb_per_s"])]
            + [share(each, part) for part in ("launch_us", "reading_us", "exchange_us")]
        )
    first = found[0]
    gpus = f"{first['gpus']:,} GPUs" if first["gpus"] > 1 else "one GPU"
    heading = f"The sum of {count(first['n'])} floats on {gpus} ({first['predicted_for']}): predicted, not measured"
    return "\n".join(
        [
            paint(fill(heading), "bold"),
            "",
            table.text(),
            paint("\n" + legend(first["gpus"], {each["way"]: each["us"] for each in found}), "grey"),
        ]
    )


def rate(gb_per_s: float) -> str:
    return f"{gb_per_s:,.1f}" if gb_per_s < 100 else f"{gb_per_s:,.0f}"


def count(n: int) -> str:
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else f"{n:,}"


def legend(gpus: int, us: dict[str, float]) -> str:
    lines = ["Computed by a model (docs/results/many_gpus.md says how, and how far off it is)."]
    if gpus > scaling.NODE:
        lines.append(f"Beyond {scaling.NODE} GPUs it rests on published figures for the network: nothing was measured here.")
    elif gpus > (most := scaling.fitted().most_gpus_measured):
        lines.append(f"It was fitted to at most {most} GPUs.")
    if len(us) > 1 and gpus > scaling.NODE:
        lines.append(scaling.only_in_one_node(scaling.IN_ONE_NODE, gpus))
    if us.get("rank_per_gpu", 0) > us.get("all_reduce_tree", math.inf):
        chain, tree = (sum(scaling.steps(algorithm, gpus)) for algorithm in (scaling.CHAIN, scaling.TREE))
        lines.append(
            f"ncclReduce (rank_per_gpu) passes along a chain of all GPUs: {chain:,} steps one after the other; the tree has {tree:,}."
        )
    return fill("\n".join(lines))
