"""How long the sum of n floats takes on p GPUs, by a model. A prediction, never a measurement.

    time = launch + max(reading, issue) + bringing p sums together                                     (all in us)

  launch     starting the first kernel and seeing the end, and more for each further device of a node: a launch if a single
             host thread drives all of them; and host threads of their own, too, were seen to hold each other up
  reading    4 n / p bytes, over what one GPU reads
  issue      the host's work for the exchange, done while the GPUs read: it only shows if they finish sooner
  exchange   latency of each step, times the steps that follow each other; 4 bytes take no time beyond that

What NCCL does with more bytes is in `all_reduce_us`: the better of its three protocols, each with

    time = base + steps * latency of a step + bytes through the busiest GPU / (share * bandwidth of the slowest level)

Two kinds of levels lie between GPUs: inside a node (a `link` joins two, NVSwitch up to 8) and the network. The steps are those that
NCCL's own cost model counts (https://github.com/NVIDIA/nccl/blob/master/src/graph/tuning.cc): a ring goes round twice, a tree is a
chain inside each node and a binary tree over the nodes, and ncclReduce, for which NCCL has the ring alone, goes once along it. The
bytes of a ring are those of bus bandwidth in https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md.

The constants are in docs/results/scaling_h200.json: fitted by tests/gpu/fit_scaling.py to 1, 2 and 4 H200, except the network's,
which were published by others. docs/results/many_gpus.md says how far off the model is.
"""

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..paths import ROOT

FILE = ROOT / "docs" / "results" / "scaling_h200.json"
NODE = 8  # GPUs of one node: as many as NVSwitch joins in an HGX or DGX H200
MOST = 16384  # GPUs; beyond that nobody has published anything to hold the model against
FLOAT = 4  # bytes

# How each way of bringing the sums together goes about it, and what its line is called in the measurements.
CHAIN, RING, TREE = "chain", "ring", "tree"
IN_ONE_NODE = ["one_kernel", "one_kernel_threads", "peer_reads", "peer_copies", "nccl_reduce"]  # one process that reaches all devices
OVER_NCCL = {"nccl_reduce": CHAIN, "rank_per_gpu": CHAIN, "all_reduce_ring": RING, "all_reduce_tree": TREE}
WAYS = [*IN_ONE_NODE, "rank_per_gpu", "all_reduce_ring", "all_reduce_tree"]


@dataclass(frozen=True)
class Way:
    """Fitted to one way of summing over several GPUs."""

    start_us: float  # one launch on an idle GPU, until the host knows that it is over
    next_us: float  # for each further device of the node
    gb_per_s: float  # that a GPU reads
    issue_us: float  # the host's part of the exchange, which overlaps with reading
    tail_us: float  # the devices' part of it, whatever p is; NCCL's steps are added


@dataclass(frozen=True)
class Level:
    gpus: int  # at most
    gb_per_s: float  # through a GPU, in each direction; of the network, through a node
    ring_step_us: dict[str, float]  # by protocol
    tree_step_us: dict[str, float]
    measured: bool


@dataclass(frozen=True)
class Protocol:
    base_us: float  # of a call, until its end is known to the host
    share: float  # of a level's bandwidth
    tree_share: float


@dataclass(frozen=True)
class Constants:
    device: str
    ways: dict[str, Way]
    levels: dict[str, Level]  # link, node, network
    protocols: dict[str, Protocol]  # LL, LL128, Simple
    queued_us: float  # of a call's base, what calls that queue up behind each other do not wait for
    most_gpus_measured: int


@dataclass(frozen=True)
class Parts:
    launch: float
    reading: float
    exchange: float  # what it adds to the two

    @property
    def us(self) -> float:
        return self.launch + self.reading + self.exchange


def constants_in(known: dict) -> Constants:
    """From what fit_scaling.py wrote; it also holds where each constant is from, which is not needed here."""

    def made(kind, values: dict):
        return kind(**{name: values[name] for name in kind.__dataclass_fields__})

    return Constants(
        known["device"],
        {name: made(Way, values) for name, values in known["ways"].items()},
        {name: made(Level, values) for name, values in known["levels"].items()},
        {name: made(Protocol, values) for name, values in known["protocols"].items()},
        known["queued_us"],
        known["most_gpus_measured"],
    )


@cache
def fitted(file: Path = FILE) -> Constants:
    return constants_in(json.loads(file.read_text()))


def nodes_of(gpus: int, node: int = NODE) -> int:
    return -(-gpus // node)


def steps(algorithm: str, gpus: int, node: int = NODE) -> tuple[int, int]:
    """Those that follow each other, inside a node and between nodes."""
    nodes = nodes_of(gpus, node)
    if algorithm == TREE:
        return 2 * (min(gpus, node) - 1), 2 * math.ceil(math.log2(nodes))
    rounds = 2 if algorithm == RING else 1
    return rounds * (gpus - nodes), rounds * (nodes - 1)


def step_us(algorithm: str, gpus: int, protocol: str, k: Constants, node: int = NODE) -> float:
    """The latency of all steps."""
    inside, between = steps(algorithm, gpus, node)

    def of(level: str) -> float:
        found = k.levels[level]
        return (found.tree_step_us if algorithm == TREE else found.ring_step_us)[protocol]

    return inside * of("link" if gpus <= 2 else "node") + between * of("network")


def busiest_bytes(algorithm: str, size: int, gpus: int) -> float:
    """Bytes that leave the busiest GPU; each link takes as many in the other direction at the same time."""
    if gpus == 1:
        return 0.0
    if algorithm == RING:
        return 2 * (gpus - 1) / gpus * size
    # In a tree, a GPU in the middle sends everything up once and down once; of two GPUs, neither is.
    return float(size) if algorithm == CHAIN or gpus == 2 else 2.0 * size


def slowest_gb_per_s(gpus: int, k: Constants) -> float:
    if gpus <= 2:
        return k.levels["link"].gb_per_s
    inside = k.levels["node"].gb_per_s
    return inside if gpus <= NODE else min(inside, k.levels["network"].gb_per_s)


def all_reduce_us(size: int, gpus: int, algorithm: str, k: Constants | None = None, queued: bool = False) -> float:
    """NCCL's all-reduce of `size` bytes, from the call until the host knows that it is over; with `queued`, as nccl-tests times
    it: calls follow each other without waiting for the host."""
    k = k or fitted()
    if gpus == 1:
        return 0.0
    moved, bandwidth = busiest_bytes(algorithm, size, gpus), slowest_gb_per_s(gpus, k)

    def by(name: str) -> float:
        protocol = k.protocols[name]
        share = protocol.tree_share if algorithm == TREE else protocol.share
        return protocol.base_us + step_us(algorithm, gpus, name, k) + moved / (1e3 * share * bandwidth)

    return min(by(name) for name in k.protocols) - (k.queued_us if queued else 0.0)


def bus_bandwidth(size: int, gpus: int, us: float) -> float:
    """GB/s, as nccl-tests reports an all-reduce."""
    return 2 * (gpus - 1) / gpus * size / (1e3 * us)


def parts(way: str, n: int, gpus: int, k: Constants | None = None) -> Parts | None:
    """None if the model does not know this way, or not for so many GPUs."""
    k = k or fitted()
    algorithm = OVER_NCCL.get(way)
    fit = k.ways.get("rank_per_gpu" if way.startswith("all_reduce") else way)
    if fit is None or gpus < 1 or gpus > MOST or (way in IN_ONE_NODE and gpus > NODE):
        return None
    reading = FLOAT * math.ceil(n / gpus) / (1e3 * fit.gb_per_s)
    launch = fit.start_us + (min(gpus, NODE) - 1) * fit.next_us  # nodes launch at the same time
    if gpus == 1:
        return Parts(launch, reading, 0.0)
    exchange = max(0.0, fit.issue_us - reading) + fit.tail_us
    if algorithm:
        exchange += step_us(algorithm, gpus, "LL", k)  # 4 bytes: always its protocol for few
    return Parts(launch, reading, exchange)


def only_in_one_node(ways: list[str], gpus: int) -> str:
    """Why the model says nothing of these ways."""
    return f"Not predicted for {gpus:,} GPUs, since they need all GPUs in one node, which has at most {NODE}: {', '.join(ways)}."


def predicted(rung: str, n: int, gpus: int) -> float | None:
    """Microseconds of a rung of lab 12, or None where the model does not know it."""
    found = parts(rung, n, gpus)
    return found.us if found else None
