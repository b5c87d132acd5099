"""How long a launch would take on a named GPU, computed from the emulator's counts. A prediction, never a measurement.

A launch is bound by whichever of these takes longest; the others overlap with it almost completely (`SHARPNESS`):

  memory    the sectors read and written, over the memory's bandwidth
  latency   a warp waits for its loads, one wait for those that it has under way together (as far as the PTX shows); as
            many warps as fit into the machine wait at the same time, and the next ones take their places
  issue     warp instructions, over what the schedulers issue
  shared    wavefronts, of which a multiprocessor's shared memory serves one per clock
  atomics   operations on one address follow each other

The cost of starting is added. `docs/results/model.md` shows the fit, how accurate it is, and where it is poor.

The table of GPUs is from NVIDIA's data sheets and whitepapers. The constants below it were fitted to one H200 and are meant to
hold for the others: in nanoseconds if wires and memory chips set the pace, in clocks if the processor does.
"""

from dataclasses import dataclass

from ..errors import USAGE, KitError

LANES = 32
SECTOR = 32  # bytes


@dataclass(frozen=True)
class Gpu:
    name: str
    multiprocessors: int
    clock: float  # GHz, boost
    bandwidth: float  # GB/s
    threads: int  # resident on a multiprocessor
    blocks: int  # likewise
    schedulers: int = 4  # per multiprocessor; each issues one warp instruction per clock

    @property
    def grid_for(self) -> str:
        """The value for WARPFOLD_GRID_FOR that gives grids that fit this GPU."""
        return f"{self.multiprocessors}x{self.threads}"


GPUS = [
    Gpu("H200", 132, 1.980, 4800, 2048, 32),
    Gpu("H100", 132, 1.980, 3350, 2048, 32),  # SXM5
    Gpu("A100", 108, 1.410, 1555, 2048, 32),  # SXM4, 40 GB
    Gpu("RTX 4090", 128, 2.520, 1008, 1536, 24),
    Gpu("T4", 40, 1.590, 320, 1024, 16),
]
KNOWN = ", ".join(gpu.name for gpu in GPUS)


# The counters from which a prediction is computed.
USED = ["warp_instructions", "global_load_waits", "global_load_sectors", "global_store_sectors", "shared_load_wavefronts",
        "shared_store_wavefronts", "atomic_operations", "blocks"]  # fmt: skip


@dataclass(frozen=True)
class Constants:
    """Fitted by tests/gpu/fit_model.py."""

    bandwidth_reached: float  # part of the data sheet's
    load_ns: float  # how long a warp waits for its loads
    issue_reached: float  # part of the schedulers' slots
    atomic_clocks: float  # between two operations on one address
    start_us: float  # an empty launch and the clearing of the result, by CUDA events on an idle GPU
    next_us: float  # each further launch
    sharpness: float  # of the maximum: the power of the sum


FITTED = Constants(0.944, 385, 0.572, 3.37, 7.17, 1.47, 3.04)


def named(name: str) -> Gpu:
    wanted = name.lower().replace(" ", "")
    found = [gpu for gpu in GPUS if wanted in gpu.name.lower().replace(" ", "")]
    if len(found) != 1:
        raise KitError(f"no prediction for '{name}'", f"It knows: {KNOWN}", USAGE)
    return found[0]


def parts(launch: dict, gpu: Gpu, k: Constants = FITTED) -> dict[str, float]:
    """The microseconds that each of the five would take alone."""
    counters = launch["counters"]
    x, y, z = launch["block"]
    warps_each = -(-x * y * z // LANES)
    warps = counters["blocks"] * warps_each
    at_once = gpu.multiprocessors * max(1, min(gpu.threads // (warps_each * LANES), gpu.blocks))  # blocks
    rounds = max(1.0, counters["blocks"] / at_once)
    clocks = 1e3 * gpu.clock * gpu.multiprocessors  # of all multiprocessors together, in a microsecond
    wavefronts = counters["shared_load_wavefronts"] + counters["shared_store_wavefronts"]
    sectors = counters["global_load_sectors"] + counters["global_store_sectors"]
    return {
        "memory": SECTOR * sectors / (1e3 * gpu.bandwidth * k.bandwidth_reached),
        "latency": rounds * counters["global_load_waits"] / warps * k.load_ns / 1e3,
        "issue": counters["warp_instructions"] / (clocks * gpu.schedulers * k.issue_reached),
        "shared": wavefronts / clocks,
        "atomics": counters["atomic_operations"] * k.atomic_clocks / (1e3 * gpu.clock),
    }


def launch_us(launch: dict, gpu: Gpu, k: Constants = FITTED) -> float:
    return sum(part**k.sharpness for part in parts(launch, gpu, k).values()) ** (1 / k.sharpness)


def bound_by(launch: dict, gpu: Gpu) -> str:
    each = parts(launch, gpu)
    return max(each, key=each.get)


def run_us(launches: list[dict], gpu: Gpu, k: Constants = FITTED) -> float:
    """What CUDA events around all launches of a rung would show."""
    return k.start_us + k.next_us * (len(launches) - 1) + sum(launch_us(launch, gpu, k) for launch in launches)


def add_to(answers: list[dict], gpu: Gpu) -> None:
    """Gives each rung that the emulator profiled its prediction."""
    for lab in answers:
        for rung in lab["rungs"]:
            launches = rung.get("profile", {}).get("report", {}).get("launches")
            if launches:
                longest = max(launches, key=lambda launch: launch_us(launch, gpu))
                rung["predicted"] = {"gpu": gpu.name, "us": round(run_us(launches, gpu), 2), "bound_by": bound_by(longest, gpu)}
