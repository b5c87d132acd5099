#include "runtime/devices/device_limits.hpp"

#include "runtime/launches/clusters.hpp"
#include "runtime/runtime.hpp"

#include <algorithm>
#include <iterator>

namespace warpfold::runtime {
namespace {

using machine::Limits;

struct Attribute {
  int number; // cudaDevAttr...
  int value;
};

constexpr int as_int(std::uint32_t value) {
  return static_cast<int>(value);
}

// Whatever is not listed is 0: the device has no clocks of its own or peers, and cannot access memory that
// the program got from malloc.
constexpr Attribute attributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, as_int(Limits::threads_per_block)},
    {cudaDevAttrMaxBlockDimX, as_int(Limits::block.x)},
    {cudaDevAttrMaxBlockDimY, as_int(Limits::block.y)},
    {cudaDevAttrMaxBlockDimZ, as_int(Limits::block.z)},
    {cudaDevAttrMaxGridDimX, as_int(Limits::grid.x)},
    {cudaDevAttrMaxGridDimY, as_int(Limits::grid.y)},
    {cudaDevAttrMaxGridDimZ, as_int(Limits::grid.z)},
    {cudaDevAttrMaxSharedMemoryPerBlock, as_int(Limits::shared_per_block)},
    {cudaDevAttrTotalConstantMemory, as_int(Limits::constant_bytes)},
    {cudaDevAttrWarpSize, as_int(Limits::warp_size)},
    {cudaDevAttrMaxPitch, 0x7fffffff},
    {cudaDevAttrMaxRegistersPerBlock, as_int(Limits::registers_per_block)},
    {cudaDevAttrClockRate, 1'000'000}, // kHz: for a program, clock64() counts nanoseconds
    // CUDA Programming Guide, "Compute Capabilities", of 7.5 and above.
    {cudaDevAttrMaxTexture1DWidth, 131072},
    {cudaDevAttrMaxTexture2DWidth, 131072},
    {cudaDevAttrMaxTexture2DHeight, 65536},
    {cudaDevAttrMaxTexture3DWidth, 16384},
    {cudaDevAttrMaxTexture3DHeight, 16384},
    {cudaDevAttrMaxTexture3DDepth, 16384},
    {cudaDevAttrMaxTexture1DLayeredWidth, 32768},
    {cudaDevAttrMaxTexture1DLayeredLayers, 2048},
    {cudaDevAttrMaxTexture2DLayeredWidth, 32768},
    {cudaDevAttrMaxTexture2DLayeredHeight, 32768},
    {cudaDevAttrMaxTexture2DLayeredLayers, 2048},
    {cudaDevAttrMaxTextureCubemapWidth, 32768},
    {cudaDevAttrMaxTextureCubemapLayeredWidth, 32768},
    {cudaDevAttrMaxTextureCubemapLayeredLayers, 2046},
    {cudaDevAttrMaxTexture1DLinearWidth, 1 << 28},
    {cudaDevAttrTextureAlignment, 512},
    {cudaDevAttrTexturePitchAlignment, 32},
    {cudaDevAttrSurfaceAlignment, 512},
    {cudaDevAttrL2CacheSize, PersistingL2::cache},
    {cudaDevAttrMaxPersistingL2CacheSize, PersistingL2::most},
    {cudaDevAttrMaxAccessPolicyWindowSize, PersistingL2::largest_window},
    {cudaDevAttrMultiProcessorCount, as_int(Limits::multiprocessors)},
    {cudaDevAttrIntegrated, 1}, // it shares the host's memory
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrComputeMode, cudaComputeModeDefault},
    {cudaDevAttrMaxThreadsPerMultiProcessor, as_int(Limits::threads_per_multiprocessor)},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrMaxRegistersPerMultiprocessor, as_int(Limits::registers_per_block)},
    {cudaDevAttrManagedMemory, 1},
    {cudaDevAttrHostNativeAtomicSupported, 1},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, 1},
    {cudaDevAttrConcurrentManagedAccess, 1},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrDirectManagedMemAccessFromHost, 1},
    {cudaDevAttrMaxBlocksPerMultiprocessor, as_int(Limits::blocks_per_multiprocessor)},
    {cudaDevAttrMemoryPoolsSupported, 1},
};

constexpr int highest_attribute = 160; // beyond the attributes of every toolkit so far

} // namespace

std::optional<int> device_attribute(int attribute) {
  if (attribute == cudaDevAttrComputeCapabilityMajor) return Runtime::get().registry.capability() / 10;
  if (attribute == cudaDevAttrComputeCapabilityMinor) return Runtime::get().registry.capability() % 10;
  if (attribute == cudaDevAttrClusterLaunch) return has_clusters();
  if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin) return as_int(shared_limits().per_block_optin);
  if (attribute == cudaDevAttrMaxSharedMemoryPerMultiprocessor)
    return as_int(shared_limits().per_multiprocessor);
  if (attribute == cudaDevAttrReservedSharedMemoryPerBlock) return as_int(shared_limits().reserved_per_block);
  auto found = std::find_if(std::begin(attributes), std::end(attributes),
                            [&](const Attribute& known) { return known.number == attribute; });
  if (found != std::end(attributes)) return found->value;
  return attribute > 0 && attribute < highest_attribute ? std::optional(0) : std::nullopt;
}

} // namespace warpfold::runtime
