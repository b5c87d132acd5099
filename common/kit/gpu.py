"""`kit device`: what the GPU is, by the driver's own words, and what it reads a second, measured."""

import ctypes
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from . import labs, toolchain
from .build import Build
from .console import paint, say
from .errors import KitError
from .process import output

# Of the driver's CUdevice_attribute.
ATTRIBUTES = {
    "threads_per_block": 1, "shared_per_block": 8, "clock_khz": 13, "multiprocessors": 16, "compute_mode": 20, "ecc": 32,
    "memory_clock_khz": 36, "bus_bits": 37, "l2_bytes": 38, "threads_per_multiprocessor": 39, "capability_major": 75,
    "capability_minor": 76, "shared_per_multiprocessor": 81, "registers_per_multiprocessor": 82, "shared_per_block_opt_in": 97,
    "blocks_per_multiprocessor": 106,
}  # fmt: skip
BUSY_PERCENT = 5  # of the last second; less is a desktop's
EXCLUSIVE = {1: "one thread", 2: "prohibited", 3: "one process"}


@dataclass
class Gpu:
    name: str
    memory_bytes: int
    driver: str  # the newest CUDA that it runs
    attributes: dict[str, int]

    @property
    def capability(self) -> str:
        return f"{self.attributes['capability_major']}.{self.attributes['capability_minor']}"

    @property
    def grid_for(self) -> str:
        """For WARPFOLD_GRID_FOR: grids that fit this machine, on the emulator too."""
        return f"{self.attributes['multiprocessors']}x{self.attributes['threads_per_multiprocessor']}"

    @property
    def peak_gb_per_s(self) -> float:
        """Two transfers a clock over the whole bus; 0 where the driver keeps the clock to itself."""
        return 2e-6 * self.attributes["memory_clock_khz"] * self.attributes["bus_bits"] / 8


class NoGpu(Exception):
    """Why there is none."""


def find() -> Gpu:
    """The first GPU. Only the driver is asked: neither a toolkit nor a build is needed."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise NoGpu("NVIDIA's driver is not installed here (no libcuda.so.1)") from None
    require(driver, driver.cuInit(0), "the driver does not start")
    count, device, version = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    require(driver, driver.cuDeviceGetCount(ctypes.byref(count)), "the driver counts no devices")
    if count.value == 0:
        raise NoGpu("the driver sees no GPU; CUDA_VISIBLE_DEVICES may hide it")
    require(driver, driver.cuDeviceGet(ctypes.byref(device), 0), "the first GPU cannot be opened")
    name, memory = ctypes.create_string_buffer(256), ctypes.c_size_t()
    driver.cuDeviceGetName(name, len(name), device)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    driver.cuDriverGetVersion(ctypes.byref(version))
    attributes = {}
    for key, number in ATTRIBUTES.items():
        value = ctypes.c_int()
        attributes[key] = value.value if driver.cuDeviceGetAttribute(ctypes.byref(value), number, device) == 0 else 0
    newest = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    return Gpu(name.value.decode(errors="replace"), memory.value, newest, attributes)


def others_at_work() -> str:
    """Who else uses the first GPU, in words, by nvidia-smi; "" where nobody does, or it cannot be asked."""
    smi = ["nvidia-smi", "--id=0", "--format=csv,noheader,nounits"]
    load = output([*smi, "--query-gpu=utilization.gpu"])
    programs = output([*smi, "--query-compute-apps=pid,process_name,used_memory"])
    if load.returncode or programs.returncode:
        return ""
    found = [[field.strip() for field in line.split(",")] for line in programs.stdout.splitlines() if line.count(",") >= 2]
    told = [f"{Path(name).name} (process {pid}, {memory} MiB)" for pid, name, memory, *_ in found]
    percent = load.stdout.strip()
    if percent.isdigit() and int(percent) >= BUSY_PERCENT:
        told.insert(0, f"it is {percent} % busy")
    return ", ".join(told)


def warn_if_busy() -> None:
    if who := others_at_work():
        say(f"the GPU is in use by others ({who}): times are of what they leave over, and vary")


def require(driver, status: int, what: str) -> None:
    if status == 0:
        return
    text = ctypes.c_char_p()
    driver.cuGetErrorString(status, ctypes.byref(text))
    raise NoGpu(f"{what}: {text.value.decode() if text.value else f'error {status}'}")


def arguments(parser) -> None:
    parser.add_argument("--json", action="store_true", help="the same for a program")
    parser.add_argument("--quick", action="store_true", help="only what the driver says: build and measure nothing")


def run(options) -> int:
    try:
        gpu = find()
    except NoGpu as reason:
        if options.json:
            print(json.dumps({"gpu": None, "reason": str(reason)}))
        else:
            print(f"No GPU: {reason}.\nEverything but times runs all the same, on the emulator.")
        return 0
    warn_if_busy()
    measured = None if options.quick else read_bandwidth()
    if options.json:
        known = asdict(gpu) | {"capability": gpu.capability, "peak_gb_per_s": gpu.peak_gb_per_s, "measured_gb_per_s": measured}
        print(json.dumps({"gpu": known}, indent=2))
    else:
        show(gpu, measured)
    return 0


def read_bandwidth() -> float:
    """GB/s of the reading kernel that every timed run of a lab measures beside its rungs."""
    build = Build(toolchain.prepare())
    lab = labs.find(build, solved=True)[0]
    labs.compile(build, [lab])
    say("measuring the read bandwidth")
    answer = labs.ask(lab, "--solutions", "--time", "--device", "gpu", "--n", "1024")
    rung = answer["rungs"][0]
    if "time" not in rung:
        raise KitError(f"the GPU could not be measured: {rung.get('reason') or rung['state']}",
                       "Is another program using it? nvidia-smi shows which.")  # fmt: skip
    return rung["time"]["measured_gb_per_s"]


def show(gpu: Gpu, measured: float | None) -> None:
    known = gpu.attributes
    peak = gpu.peak_gb_per_s
    part = f", {100 * measured / peak:.1f} % of that" if measured and peak else ""
    rows = [
        ("compute capability", gpu.capability),
        ("driver runs", f"up to {gpu.driver}"),
        ("multiprocessors", f"{known['multiprocessors']} at up to {known['clock_khz'] / 1e6:.2f} GHz"),
        ("memory", f"{gpu.memory_bytes / 2**30:.1f} GiB, ECC {'on' if known['ecc'] else 'off'}"),
        ("bus", f"{known['bus_bits']} bits at {known['memory_clock_khz'] / 1e6:.2f} GHz, two transfers a clock"),
        ("read bandwidth, by that", f"{peak:,.0f} GB/s" if peak else "the driver does not say"),
        ("read bandwidth, measured", f"{measured:,.0f} GB/s{part}" if measured else "not measured (--quick)"),
        ("L2 cache", f"{known['l2_bytes'] / 2**20:.0f} MiB"),
        ("a multiprocessor holds", f"{known['threads_per_multiprocessor']} threads, {known['blocks_per_multiprocessor']} blocks, "
         f"{known['registers_per_multiprocessor']} registers, {known['shared_per_multiprocessor'] // 1024} KiB of shared memory"),
        ("a block has at most", f"{known['threads_per_block']} threads, {known['shared_per_block'] // 1024} KiB of shared memory "
         f"({known['shared_per_block_opt_in'] // 1024} on request)"),
    ]  # fmt: skip
    print(paint(gpu.name, "bold"))
    for heading, text in rows:
        print(f"  {heading:<26}{text}")
    if known["compute_mode"] in EXCLUSIVE:
        print(f"  It is set to be used by {EXCLUSIVE[known['compute_mode']]}: a second program gets an error.")
