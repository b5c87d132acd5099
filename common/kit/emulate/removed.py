"""What CUDA's headers no longer have: which version removed it, and what it became.

The one list: `nvcc` names what a program that does not compile needs, warpfold_legacy.hpp supplies what is marked so (`--legacy`), and
docs/reference/old_sources.md shows all of it. Checked against the headers of CUDA 11.8, 12.0, 12.9 and 13.0."""

import re
from dataclasses import dataclass
from pathlib import Path

HEADER = Path(__file__).with_name("warpfold_legacy.hpp")
OPTION = "--legacy"


@dataclass(frozen=True)
class Removed:
    name: str
    since: str
    became: str
    supplied: bool = True  # by warpfold_legacy.hpp
    how: str = "is gone"

    def __str__(self) -> str:
        return f"{self.name} {self.how} since {self.since}: {self.became}"

    @property
    def word(self) -> str:
        """What a source calls it."""
        return self.name.rsplit("::", 1)[-1]

    def occurs(self, complaints: str) -> bool:
        """Whether the compiler complains of it: a name that is gone stands in quotation marks, and of a call with other arguments,
        the line below the error shows the source."""
        if self.how == "has other arguments":
            return re.search(rf"error: .*\n.*\b{self.word}\s*\(", complaints) is not None
        if self.word == "texture":
            return re.search(r"error: .?texture.? (is not a template|does not name)", complaints) is not None
        quoted = rf"[\"'‘]{self.word}(\(\w*\))?[\"'’]"
        return re.search(rf"(error|warning)[ :].*{quoted}|fatal error: {re.escape(self.word)}:", complaints) is not None


def gone(since: str, names: dict[str, str], supplied: bool = True) -> list[Removed]:
    return [Removed(name, since, became, supplied) for name, became in names.items()]


def changed(names: dict[str, str]) -> list[Removed]:
    return [Removed(name, "CUDA 13", became, how="has other arguments") for name, became in names.items()]


def member(names: dict[str, str]) -> list[Removed]:
    return [Removed(f"cudaDeviceProp::{name}", "CUDA 13", became) for name, became in names.items()]


SHUFFLES = "compute capability 7.0"
REFERENCES = "a cudaTextureObject_t (or surface object) that the kernel takes as an argument"
EDGES = "with an array of cudaGraphEdgeData, or nullptr, before the count"

TABLE = [
    *gone(SHUFFLES, {name: f"{name}_sync, with the mask of the lanes that take part"
                     for name in ["__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__any", "__all", "__ballot"]}),
    *gone("CUDA 13", {
        "cudaThreadSynchronize": "cudaDeviceSynchronize",
        "cudaThreadExit": "cudaDeviceReset",
        "cudaThreadGetLimit": "cudaDeviceGetLimit",
        "cudaThreadSetLimit": "cudaDeviceSetLimit",
        "cudaThreadGetCacheConfig": "cudaDeviceGetCacheConfig",
        "cudaThreadSetCacheConfig": "cudaDeviceSetCacheConfig",
        "cudaSetDoubleForDevice": "nothing, since it did nothing",
        "cudaSetDoubleForHost": "nothing, since it did nothing",
    }),
    *member({
        "clockRate": "cudaDeviceGetAttribute with cudaDevAttrClockRate",
        "memoryClockRate": "cudaDeviceGetAttribute with cudaDevAttrMemoryClockRate",
        "deviceOverlap": "asyncEngineCount",
        "kernelExecTimeoutEnabled": "cudaDeviceGetAttribute with cudaDevAttrKernelExecTimeout",
        "computeMode": "cudaDeviceGetAttribute with cudaDevAttrComputeMode",
        "singleToDoublePrecisionPerfRatio": "cudaDeviceGetAttribute with cudaDevAttrSingleToDoublePrecisionPerfRatio",
        "cooperativeMultiDeviceLaunch": "nothing, since no device has it any more (0)",
        "maxTexture1DLinear": "cudaDeviceGetTexture1DLinearMaxWidth",
    }),
    *gone("CUDA 11", {
        "cudaPointerAttributes::memoryType": "type",
        "cudaPointerAttributes::isManaged": "type == cudaMemoryTypeManaged",
    }),
    *changed({
        "cudaMemAdvise": "with a cudaMemLocation instead of the number of a device",
        "cudaMemPrefetchAsync": "with a cudaMemLocation instead of the number of a device, and with flags before the stream",
        "cudaGraphAddDependencies": EDGES,
        "cudaGraphRemoveDependencies": EDGES,
        "cudaGraphGetEdges": EDGES,
        "cudaGraphNodeGetDependencies": EDGES,
        "cudaGraphNodeGetDependentNodes": EDGES,
        "cudaGraphAddNode": EDGES,
        "cudaStreamUpdateCaptureDependencies": EDGES,
        "cudaStreamGetCaptureInfo": EDGES,
    }),
    *gone("CUDA 13", {f"{name}_{version}": f"{name}, which has the same arguments" for name, version in [
        ("cudaGetDeviceProperties", "v2"), ("cudaMemAdvise", "v2"), ("cudaMemPrefetchAsync", "v2"), ("cudaGraphAddDependencies", "v2"),
        ("cudaGraphRemoveDependencies", "v2"), ("cudaGraphGetEdges", "v2"), ("cudaGraphNodeGetDependencies", "v2"),
        ("cudaGraphNodeGetDependentNodes", "v2"), ("cudaGraphAddNode", "v2"), ("cudaStreamUpdateCaptureDependencies", "v2"),
        ("cudaStreamGetCaptureInfo", "v3"), ("cudaEventElapsedTime", "v2"),
    ]}),
    *gone("CUDA 13", {"cudaStreamGetCaptureInfo_v2": f"cudaStreamGetCaptureInfo {EDGES}"}),
    *gone("CUDA 13", {
        "cudaLaunchCooperativeKernelMultiDevice": "cudaLaunchCooperativeKernel on each device; a barrier across them is yours to write",
        "nvToolsExt.h": "nvtx3/nvToolsExt.h",
    }, supplied=False),
    *gone("CUDA 12", {
        "texture": REFERENCES,
        "textureReference": REFERENCES,
        "cudaBindTexture": "cudaCreateTextureObject",
        "cudaBindTexture2D": "cudaCreateTextureObject",
        "cudaBindTextureToArray": "cudaCreateTextureObject",
        "cudaBindTextureToMipmappedArray": "cudaCreateTextureObject",
        "cudaUnbindTexture": "cudaDestroyTextureObject",
        "cudaGetTextureAlignmentOffset": "nothing: a texture object's memory must be aligned",
        "cudaGetTextureReference": REFERENCES,
        "cudaBindSurfaceToArray": "cudaCreateSurfaceObject",
        "cudaGetSurfaceReference": REFERENCES,
        "cudaProfilerInitialize": "the command line of Nsight",
    }, supplied=False),
    *gone("CUDA 11", {
        "cudaConfigureCall": "cudaLaunchKernel",
        "cudaSetupArgument": "cudaLaunchKernel",
        "cudaLaunch": "cudaLaunchKernel",
    }, supplied=False),
]  # fmt: skip


def named_in(complaints: str) -> list[Removed]:
    """What the compiler's errors are about."""
    return [row for row in TABLE if row.occurs(complaints)]


def advice(found: list[Removed], command: str) -> str:
    """What --legacy would do about it; "" if nothing."""
    left = [row.name for row in found if not row.supplied]
    if len(left) == len(found):
        return ""
    rest = f", all but {', '.join(left)}" if left else ""
    return f"{command} {OPTION} ... supplies {'them' if len(found) > 1 else 'it'}{rest}"
