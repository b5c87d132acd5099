"""`kit demo --gpus K`: lab 12 over several devices. On GPUs it is timed by the program tests/gpu/many_gpus, beside CUB and NCCL; on
the emulator's devices it is counted what goes over the links, and the times are predicted."""

import json
import subprocess
from argparse import ArgumentTypeError
from dataclasses import asdict, dataclass

from .. import gpu
from ..console import say
from ..errors import PROGRAM, SETUP, USAGE, KitError
from ..ladder.predict import Gpu
from ..paths import ROOT
from ..programs import labs
from ..programs.folder import Build
from . import efficiency, scaling
from .efficiency import Line, Scaling, Time

LAB = "12_many_gpus"
MOST = 16  # devices of a rung, and of the emulator
COUNTED_AT = "2^20"  # elements
RUNGS = ["peer_copies", "peer_reads", "nccl_reduce", "one_kernel"]  # of one process; rank_per_gpu takes mpirun
PREDICTED = [*RUNGS, "rank_per_gpu"]

# The lines of the program, by name and method ("rungs": one host thread drives all GPUs; "threads": one per GPU), as they are shown.
SHOWN = {(rung, "rungs"): rung for rung in RUNGS} | {
    ("one_kernel", "threads"): "one_kernel, a thread per GPU",
    ("CUB + ncclReduce", "threads"): "CUB + ncclReduce",
    ("CUB + peer copies", "threads"): "CUB + peer copies",
    ("CUB, parts alone", "threads"): "CUB, parts alone",
    ("champion, parts alone", "threads"): efficiency.CHAMPION,
}


def number(text: str) -> int:
    """Of an argument."""
    try:
        count = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is not a number of GPUs") from None
    if count < 1:
        raise ArgumentTypeError(f"{text}: there must be at least one GPU")
    if count > MOST:
        raise ArgumentTypeError(f"{text}: lab 12 shares its array out over at most {MOST} devices")
    return count


# ---- on GPUs ----


def require_gpus(count: int, there: int) -> None:
    if count > there:
        have = "one GPU" if there == 1 else f"{there} GPUs"
        raise KitError(f"--gpus {count}: this machine has {have} that can be used",
                       "CUDA_VISIBLE_DEVICES may hide some. Nothing was run.", USAGE)  # fmt: skip


def require_program() -> None:
    if not (ROOT / "tests" / "gpu" / "many_gpus.cu").exists():
        raise KitError("--gpus is timed by a program of tests/gpu, which this edition does not have",
                       "It is part of a whole clone of Warpfold.", SETUP)  # fmt: skip


def measure(build: Build, count: int, first: gpu.Gpu) -> Scaling:
    program = build.target("executable", "many_gpus")
    say("building the sums over several GPUs (the first time, CUB takes nvcc half a minute)")
    build.compile([program])
    say(f"timing them on {count} GPUs, which takes a minute or two" if count > 1 else "timing them on one GPU")
    run = subprocess.run([str(program), *words(count, first.memory_bytes)], text=True, capture_output=True)
    try:
        return read(json.loads(run.stdout), count)
    except ValueError:
        raise KitError(f"the sums could not be timed\n{(run.stderr or run.stdout).strip()}", code=PROGRAM) from None


def words(count: int, memory_bytes: int) -> list[str]:
    """The program's options: as many elements as fit into one GPU, twice, since calls in a row read different places."""

    def fits(elements: int) -> bool:
        return 2 * efficiency.BYTES * elements < 0.9 * memory_bytes

    largest = max(e for e in range(efficiency.SMALLEST, efficiency.LARGEST + 1) if fits(1 << e) or e == efficiency.SMALLEST)
    weak = ["--weak"] if fits(efficiency.PER_GPU) else []
    return ["--gpus", str(count), "--smallest", str(efficiency.SMALLEST), "--largest", str(largest), *weak]


def read(found: dict, count: int) -> Scaling:
    """From what the program printed, or several runs of it in one file."""
    lines: dict[tuple[str, str], dict] = {}
    for entry in found["times"]:
        times = lines.setdefault((entry["name"], entry["method"]), {})
        times[entry["gpus"], entry["n"]] = Time(entry["us"], entry.get("low"), entry.get("high"))
    known = [Line(shown, lines[key]) for key, shown in SHOWN.items() if key in lines]
    if not any((count, n) in line.times for line in known for _, n in line.times):
        raise ValueError(f"no times of {count} GPUs")
    return Scaling(found["device"], count, known)


# ---- on the emulator's devices ----


@dataclass(frozen=True)
class Counted:
    """What a rung does, counted on the emulator's devices."""

    rung: str
    state: str
    reason: str
    devices: int
    n: int = 0  # 0 if it was not counted
    launches_per_device: int = 0  # of the device that has most
    links: tuple[dict, ...] = ()  # an entry per ordered pair that something went over
    through_host: int = 0  # bytes copied to the host and from it
    host_waits: int = 0  # of the host between the first launch and the last

    def over_links(self, key: str) -> int:
        return sum(link[key] for link in self.links)


def count(lab: labs.Lab, tree: list[str], devices: int, n: str | None) -> list[Counted]:
    answer = labs.ask(lab, *tree, "--profile", "--device", "emulator", "--devices", str(devices), "--n", n or COUNTED_AT)
    return [counted(rung, devices) for rung in answer["rungs"]]


def counted(rung: dict, devices: int) -> Counted:
    if "profile" not in rung:
        return Counted(rung["name"], rung["state"], rung.get("reason", ""), devices)
    profile = rung["profile"]
    counters, report = profile["counters"], profile["report"]
    launches: dict[int, int] = {}
    for launch in report["launches"]:  # of a rung with several processes, those of rank 0
        launches[launch["device"]] = launches.get(launch["device"], 0) + 1
    return Counted(
        rung["name"],
        rung["state"],
        rung.get("reason", ""),
        devices,
        profile["n"],
        max(launches.values(), default=0),
        tuple(report.get("links", [])),
        counters["bytes_to_host"] + counters["bytes_to_device"],
        counters["host_waits"],
    )


def as_json(rungs: list[Counted], predicted_for: Gpu) -> list[dict]:
    return [asdict(rung) | {"predicted_us": predicted_us(rung.rung, rung.n, rung.devices, predicted_for)} for rung in rungs]


def predict(predicted_for: Gpu, devices: int) -> Scaling:
    return efficiency.predict(f"NVIDIA {predicted_for.name}", devices, PREDICTED, lambda *point: predicted_us(*point, predicted_for))


def not_predicted(devices: int, predicted_for: Gpu) -> str:
    """Why times are missing that one may look for; "" if none are."""
    known = scaling.fitted().device
    if predicted_for.name not in known:
        return f"No times are predicted for the {predicted_for.name}: the model of several GPUs was fitted to the {known} alone."
    missing = [rung for rung in PREDICTED if predicted_us(rung, 1, devices, predicted_for) is None]
    return scaling.only_in_one_node(missing, devices) if missing else ""


def predicted_us(rung: str, n: int, gpus: int, predicted_for: Gpu) -> float | None:
    """None if the model does not say: it knows the H200 alone, and some rungs only as far as GPUs have been measured."""
    if predicted_for.name not in scaling.fitted().device or n == 0:
        return None
    return scaling.predicted(rung, n, gpus)
