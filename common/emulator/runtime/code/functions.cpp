// Kernels as objects: attributes, occupancy, handles.
#include "runtime/launches/clusters.hpp"
#include "runtime/launches/launch.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::runtime {

using machine::Limits;

namespace {

std::uint32_t round_up(std::uint32_t value, std::uint32_t step) {
  return (value + step - 1) / step * step;
}

// Shared memory is allocated in units of this size (compute capability 7.x; 128 bytes from 8.0 on).
constexpr std::uint32_t shared_granularity = 256;

int capability_of(const KernelEntry& entry) {
  return entry.module->program().module().target;
}

void fill(cudaFuncAttributes& attributes, const KernelEntry& entry) {
  const machine::KernelAttributes& known = entry.kernel->attributes();
  attributes = {};
  attributes.sharedSizeBytes = known.static_shared;
  attributes.constSizeBytes = known.constant;
  attributes.localSizeBytes = known.local_per_thread;
  attributes.maxThreadsPerBlock = static_cast<int>(known.max_threads_per_block);
  attributes.numRegs = static_cast<int>(known.registers);
  attributes.ptxVersion = attributes.binaryVersion = capability_of(entry);
  attributes.maxDynamicSharedSizeBytes = static_cast<int>(dynamic_shared_limit(entry));
  attributes.preferredShmemCarveout = entry.carveout;
#if CUDART_VERSION >= 12000
  const std::uint32_t(&cluster)[3] = entry.function->cluster;
  attributes.requiredClusterWidth = static_cast<int>(cluster[0]);
  attributes.requiredClusterHeight = static_cast<int>(cluster[1]);
  attributes.requiredClusterDepth = static_cast<int>(cluster[2]);
  attributes.clusterDimMustBeSet = entry.function->explicit_cluster;
  attributes.nonPortableClusterSizeAllowed = entry.allows_large_clusters;
#endif
}

cudaError_t set_dynamic_shared(KernelEntry& entry, int value) {
  const std::uint32_t fixed = entry.kernel->attributes().static_shared;
  if (value < 0 || static_cast<std::uint64_t>(value) + fixed > shared_limits().per_block_optin)
    throw Refusal(
        cudaErrorInvalidValue,
        fmt::format("{}: {} bytes of dynamic shared memory beside {} static ones: a block may have {} in all",
                    readable_name(entry), value, fixed, shared_limits().per_block_optin));
  entry.dynamic_shared_limit = static_cast<std::uint32_t>(value);
  return cudaSuccess;
}

cudaError_t set_attribute(KernelEntry& entry, cudaFuncAttribute attribute, int value) {
  switch (attribute) {
  case cudaFuncAttributeMaxDynamicSharedMemorySize:
    return set_dynamic_shared(entry, value);
  case cudaFuncAttributePreferredSharedMemoryCarveout:
    if (value < -1 || value > 100) return cudaErrorInvalidValue;
    entry.carveout = value;
    return cudaSuccess;
  case cudaFuncAttributeNonPortableClusterSizeAllowed:
    if (value != 0 && value != 1) return cudaErrorInvalidValue;
    entry.allows_large_clusters = value != 0;
    return cudaSuccess;
  default:
    throw Refusal(cudaErrorNotSupported,
                  fmt::format("attribute {} is not supported by the emulator", static_cast<int>(attribute)));
  }
}

// Calls `body` with the loaded kernel.
template <typename Body>
cudaError_t with_kernel(const char* caller, const void* function, Body body) {
  return entry(caller, [&] { return body(Runtime::get().registry.kernel(function)); });
}

cudaError_t handle_of(const char* caller, void** handle, const void* function) {
  return entry(caller, [&] {
    if (!handle) return cudaErrorInvalidValue;
    KernelEntry* found = Runtime::get().registry.find_kernel(function);
    *handle = found;
    return found ? cudaSuccess : cudaErrorInvalidDeviceFunction;
  });
}

} // namespace

int resident_blocks(const KernelEntry& entry, int threads, std::size_t dynamic_shared) {
  const machine::KernelAttributes& known = entry.kernel->attributes();
  if (threads <= 0 || static_cast<std::uint32_t>(threads) > known.max_threads_per_block) return 0;
  if (dynamic_shared > dynamic_shared_limit(entry)) return 0;
  const std::uint32_t lanes = round_up(static_cast<std::uint32_t>(threads), Limits::warp_size);
  std::uint32_t blocks =
      std::min(Limits::blocks_per_multiprocessor + 0, Limits::threads_per_multiprocessor / lanes);
  const SharedLimits limits = shared_limits();
  const std::uint32_t shared =
      round_up(known.static_shared + static_cast<std::uint32_t>(dynamic_shared), shared_granularity) +
      limits.reserved_per_block;
  if (shared) blocks = std::min(blocks, limits.per_multiprocessor / shared);
  return static_cast<int>(blocks);
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return with_kernel("cudaFuncGetAttributes", function, [&](KernelEntry& entry) {
    if (!attributes) return cudaErrorInvalidValue;
    fill(*attributes, entry);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with_kernel("cudaFuncSetAttribute", function,
                     [&](KernelEntry& entry) { return set_attribute(entry, attribute, value); });
}

#if CUDART_VERSION >= 12000
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value,
                                            int device) {
  if (device != 0) return remember(cudaErrorInvalidDevice);
  return cudaFuncSetAttribute(kernel, attribute, value);
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return with_kernel("cudaFuncGetName", function, [&](KernelEntry& entry) {
    if (!name) return cudaErrorInvalidValue;
    *name = entry.name.c_str();
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size) {
  return with_kernel("cudaFuncGetParamInfo", function, [&](KernelEntry& entry) {
    const auto& parameters = entry.kernel->parameters();
    if (!offset || index >= parameters.size()) return cudaErrorInvalidValue;
    *offset = parameters[index].offset;
    if (size) *size = parameters[index].size;
    return cudaSuccess;
  });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return handle_of("cudaGetKernel", reinterpret_cast<void**>(kernel), function);
}
#endif

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* handle, const void* function) {
  return handle_of("cudaGetFuncBySymbol", reinterpret_cast<void**>(handle), function);
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return with_kernel("cudaFuncSetCacheConfig", function, [](KernelEntry&) { return cudaSuccess; });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig) {
  return with_kernel("cudaFuncSetSharedMemConfig", function, [](KernelEntry&) { return cudaSuccess; });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t dynamic_shared) {
  return with_kernel("cudaOccupancyMaxActiveBlocksPerMultiprocessor", function, [&](KernelEntry& entry) {
    if (!blocks || threads <= 0) return cudaErrorInvalidValue;
    *blocks = resident_blocks(entry, threads, dynamic_shared);
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                   int threads, size_t dynamic_shared,
                                                                   unsigned flags) {
  if (flags & ~unsigned{cudaOccupancyDisableCachingOverride}) return remember(cudaErrorInvalidValue);
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic_shared);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks,
                                                      int threads) {
  return with_kernel("cudaOccupancyAvailableDynamicSMemPerBlock", function, [&](KernelEntry& entry) {
    if (!bytes || blocks <= 0 || threads <= 0) return cudaErrorInvalidValue;
    const SharedLimits limits = shared_limits();
    const std::uint32_t a_block =
        std::min(limits.per_block_optin,
                 limits.per_multiprocessor / static_cast<std::uint32_t>(blocks) - limits.reserved_per_block) /
        shared_granularity * shared_granularity;
    const std::uint32_t fixed = entry.kernel->attributes().static_shared;
    if (resident_blocks(entry, threads, 0) < blocks) return cudaErrorInvalidValue;
    *bytes = std::min(dynamic_shared_limit(entry), a_block > fixed ? a_block - fixed : 0);
    return cudaSuccess;
  });
}
}
