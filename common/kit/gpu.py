"""The GPU of this machine: what the driver says about it, and who else uses it."""

import ctypes
from dataclasses import dataclass
from pathlib import Path

from .console import say
from .process import output

# Of the driver's CUdevice_attribute.
ATTRIBUTES = {
    "threads_per_block": 1, "shared_per_block": 8, "clock_khz": 13, "multiprocessors": 16, "compute_mode": 20, "ecc": 32,
    "memory_clock_khz": 36, "bus_bits": 37, "l2_bytes": 38, "threads_per_multiprocessor": 39, "capability_major": 75,
    "capability_minor": 76, "shared_per_multiprocessor": 81, "registers_per_multiprocessor": 82, "shared_per_block_opt_in": 97,
    "blocks_per_multiprocessor": 106,
}  # fmt: skip
BUSY_PERCENT = 5  # of the last second; less than this may be a desktop


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
        """The value for WARPFOLD_GRID_FOR that gives grids that fit this GPU, on the emulator too."""
        return f"{self.attributes['multiprocessors']}x{self.attributes['threads_per_multiprocessor']}"

    @property
    def peak_gb_per_s(self) -> float:
        """Two transfers per clock over the whole bus; 0 if the driver does not report the clock."""
        return 2e-6 * self.attributes["memory_clock_khz"] * self.attributes["bus_bits"] / 8


class NoGpu(Exception):
    """Says why there is no GPU."""


def started() -> tuple[ctypes.CDLL, int]:
    """The driver, and how many GPUs it sees: one at least."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise NoGpu("NVIDIA's driver is not installed here (no libcuda.so.1)") from None
    require(driver, driver.cuInit(0), "the driver does not start")
    seen = ctypes.c_int()
    require(driver, driver.cuDeviceGetCount(ctypes.byref(seen)), "the driver cannot count its devices")
    if seen.value == 0:
        raise NoGpu("the driver sees no GPU; CUDA_VISIBLE_DEVICES may hide it")
    return driver, seen.value


def count() -> int:
    return started()[1]


def find() -> Gpu:
    """The first GPU. Asks only the driver, so neither a toolkit nor a build is needed."""
    driver, _ = started()
    device, version = ctypes.c_int(), ctypes.c_int()
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
    """Who else uses the first GPU, in words, according to nvidia-smi; "" if nobody does or nvidia-smi cannot be run."""
    smi = ["nvidia-smi", "--id=0", "--format=csv,noheader,nounits"]
    load = output([*smi, "--query-gpu=utilization.gpu"])
    programs = output([*smi, "--query-compute-apps=pid,process_name,used_memory"])
    if load.returncode or programs.returncode:
        return ""
    found = [[field.strip() for field in line.split(",")] for line in programs.stdout.splitlines() if line.count(",") >= 2]
    busy = [f"{Path(name).name} (process {pid}, {memory} MiB)" for pid, name, memory, *_ in found]
    percent = load.stdout.strip()
    if percent.isdigit() and int(percent) >= BUSY_PERCENT:
        busy.insert(0, f"it is {percent} % busy")
    return ", ".join(busy)


def warn_if_busy() -> None:
    if who := others_at_work():
        say(f"the GPU is in use by others ({who}): times vary with what it leaves over")


def require(driver, status: int, what: str) -> None:
    if status == 0:
        return
    text = ctypes.c_char_p()
    driver.cuGetErrorString(status, ctypes.byref(text))
    raise NoGpu(f"{what}: {text.value.decode() if text.value else f'error {status}'}")
