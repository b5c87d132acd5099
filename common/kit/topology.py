"""What links the GPUs of this machine, pair by pair: NVLink or PCIe according to NVML, the driver's library for managing GPUs, and
whether one GPU may use the other's memory according to CUDA. Nothing is measured here.

Constants and structures are those of nvml.h and cuda.h. Without NVML it is not known what links two GPUs, and that is said.
"""

import ctypes
from dataclasses import dataclass

from . import gpu

MOST_NVLINKS = 36  # NVML_NVLINK_MAX_LINKS; a GPU with fewer says of the others that there are none
SWITCH, ANOTHER_GPU = 2, 0  # nvmlIntNvLinkDeviceType_t: what is at the other end of a link
NVLINK = 2  # nvmlGpuP2PCapsIndex_t
GOOD = 0  # NVML_SUCCESS, NVML_P2P_STATUS_OK
# nvmlGpuTopologyLevel_t: the closest thing that both GPUs are below.
LEVELS = {
    0: "one board",
    10: "one PCIe switch",
    20: "several PCIe switches",
    30: "a PCIe host bridge",
    40: "PCIe within a NUMA node",
    50: "PCIe across sockets",
}
UNKNOWN = "not known (no NVML)"


class PciInfo(ctypes.Structure):
    """nvmlPciInfo_t"""

    _fields_ = [
        ("legacy_id", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("pci_device_id", ctypes.c_uint),
        ("pci_subsystem_id", ctypes.c_uint),
        ("id", ctypes.c_char * 32),
    ]


@dataclass(frozen=True)
class Pair:
    first: int  # as CUDA counts them
    second: int
    linked_by: str  # in words
    nvlinks: int  # of them; 0 if it is not NVLink
    peer_access: bool  # both ways


def pairs() -> list[Pair]:
    """All pairs of the GPUs that can be used; none if there is one GPU."""
    driver, count = gpu.started()
    places = [pci_id(driver, device) for device in range(count)]
    found = []
    with_nvml = Nvml.open()
    for first in range(count):
        for second in range(first + 1, count):
            both = reaches(driver, first, second) and reaches(driver, second, first)
            nvlinks, words = with_nvml.link(places[first], places[second]) if with_nvml else (0, UNKNOWN)
            found.append(Pair(first, second, words, nvlinks, both))
    return found


def pci_id(driver, ordinal: int) -> bytes:
    device, text = ctypes.c_int(), ctypes.create_string_buffer(32)
    gpu.require(driver, driver.cuDeviceGet(ctypes.byref(device), ordinal), f"GPU {ordinal} cannot be opened")
    gpu.require(driver, driver.cuDeviceGetPCIBusId(text, len(text), device), f"GPU {ordinal} does not say where it is")
    return text.value


def reaches(driver, first: int, second: int) -> bool:
    possible, devices = ctypes.c_int(), (ctypes.c_int(), ctypes.c_int())
    for device, ordinal in zip(devices, (first, second), strict=True):
        gpu.require(driver, driver.cuDeviceGet(ctypes.byref(device), ordinal), f"GPU {ordinal} cannot be opened")
    return driver.cuDeviceCanAccessPeer(ctypes.byref(possible), *devices) == 0 and possible.value == 1


class Nvml:
    def __init__(self, library: ctypes.CDLL):
        self.library = library

    @staticmethod
    def open() -> "Nvml | None":
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
            return Nvml(library) if library.nvmlInit_v2() == GOOD else None
        except (OSError, AttributeError):
            return None

    def link(self, first: bytes, second: bytes) -> tuple[int, str]:
        """How many NVLinks, and in words what links the two GPUs at these places."""
        one, other = self.handle(first), self.handle(second)
        if one is None or other is None:
            return 0, UNKNOWN
        here, there = self.other_ends(one), self.other_ends(other)
        if direct := here.count(place(second)):
            return direct, f"{direct} NVLink{'' if direct == 1 else 's'}"
        # Those that end at no GPU end at a switch, which joins all GPUs that have a link to it.
        switched = min(here.count(None), there.count(None))
        if switched and self.nvlink_works(one, other):
            return switched, f"{switched} NVLink{'' if switched == 1 else 's'}, switched"
        level = ctypes.c_int()
        if self.library.nvmlDeviceGetTopologyCommonAncestor(one, other, ctypes.byref(level)) != GOOD:
            return 0, "not known"
        return 0, LEVELS.get(level.value, "not known")

    def handle(self, place: bytes) -> ctypes.c_void_p | None:
        found = ctypes.c_void_p()
        good = self.library.nvmlDeviceGetHandleByPciBusId_v2(ctypes.c_char_p(place), ctypes.byref(found)) == GOOD
        return found if good else None

    def other_ends(self, handle: ctypes.c_void_p) -> list[tuple[int, int, int] | None]:
        """Of each NVLink that works: the place of the GPU at the other end, or None if that is no GPU."""
        ends = []
        for link in map(ctypes.c_uint, range(MOST_NVLINKS)):
            active, kind, info = ctypes.c_uint(), ctypes.c_uint(SWITCH), PciInfo()
            if self.library.nvmlDeviceGetNvLinkState(handle, link, ctypes.byref(active)) != GOOD or not active.value:
                continue
            self.library.nvmlDeviceGetNvLinkRemoteDeviceType(handle, link, ctypes.byref(kind))
            known = self.library.nvmlDeviceGetNvLinkRemotePciInfo_v2(handle, link, ctypes.byref(info)) == GOOD
            ends.append((info.domain, info.bus, info.device) if known and kind.value == ANOTHER_GPU else None)
        return ends

    def nvlink_works(self, one: ctypes.c_void_p, other: ctypes.c_void_p) -> bool:
        status = ctypes.c_uint()
        asked = self.library.nvmlDeviceGetP2PStatus(one, other, ctypes.c_uint(NVLINK), ctypes.byref(status))
        return asked == GOOD and status.value == GOOD


def place(pci: bytes) -> tuple[int, int, int]:
    """0000:18:00.0 in numbers: domain, bus, device."""
    domain, bus, device = pci.decode().split(":")
    return int(domain, 16), int(bus, 16), int(device.split(".")[0], 16)
