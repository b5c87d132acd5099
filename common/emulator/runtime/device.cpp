// The only device: its number, its properties, its limits and its reset.
#include "device_limits.hpp"
#include "errors.hpp"
#include "ordering.hpp"
#include "runtime.hpp"
#include "stream_table.hpp"

#include <array>
#include <cstring>
#include <fmt/format.h>
#include <vector>

namespace warpfold::runtime {
namespace {

void check_device(int device) {
  if (device != 0)
    throw Refusal(cudaErrorInvalidDevice,
                  fmt::format("there is one device, number 0, and no number {}", device));
}

int value(cudaDeviceAttr attribute) {
  return device_attribute(attribute).value_or(0);
}

std::string device_name() {
  const int capability = Runtime::get().registry.capability();
  return fmt::format("Warpfold emulator (compute capability {}.{}, on the CPU)", capability / 10,
                     capability % 10);
}

void fill_limits(cudaDeviceProp& properties) {
  properties.totalGlobalMem = Runtime::get().memory.capacity();
  properties.sharedMemPerBlock = value(cudaDevAttrMaxSharedMemoryPerBlock);
  properties.sharedMemPerBlockOptin = value(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  properties.sharedMemPerMultiprocessor = value(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  properties.regsPerBlock = value(cudaDevAttrMaxRegistersPerBlock);
  properties.regsPerMultiprocessor = value(cudaDevAttrMaxRegistersPerMultiprocessor);
  properties.warpSize = value(cudaDevAttrWarpSize);
  properties.memPitch = value(cudaDevAttrMaxPitch);
  properties.maxThreadsPerBlock = value(cudaDevAttrMaxThreadsPerBlock);
  properties.maxThreadsPerMultiProcessor = value(cudaDevAttrMaxThreadsPerMultiProcessor);
  properties.maxBlocksPerMultiProcessor = value(cudaDevAttrMaxBlocksPerMultiprocessor);
  for (int axis = 0; axis < 3; ++axis) {
    properties.maxThreadsDim[axis] = value(static_cast<cudaDeviceAttr>(cudaDevAttrMaxBlockDimX + axis));
    properties.maxGridSize[axis] = value(static_cast<cudaDeviceAttr>(cudaDevAttrMaxGridDimX + axis));
  }
  properties.totalConstMem = value(cudaDevAttrTotalConstantMemory);
  properties.textureAlignment = value(cudaDevAttrTextureAlignment);
  properties.texturePitchAlignment = value(cudaDevAttrTexturePitchAlignment);
  properties.surfaceAlignment = value(cudaDevAttrSurfaceAlignment);
  properties.multiProcessorCount = value(cudaDevAttrMultiProcessorCount);
}

void fill_features(cudaDeviceProp& properties) {
  properties.major = value(cudaDevAttrComputeCapabilityMajor);
  properties.minor = value(cudaDevAttrComputeCapabilityMinor);
  properties.integrated = value(cudaDevAttrIntegrated);
  properties.canMapHostMemory = value(cudaDevAttrCanMapHostMemory);
  properties.unifiedAddressing = value(cudaDevAttrUnifiedAddressing);
  properties.streamPrioritiesSupported = value(cudaDevAttrStreamPrioritiesSupported);
  properties.managedMemory = value(cudaDevAttrManagedMemory);
  properties.hostNativeAtomicSupported = value(cudaDevAttrHostNativeAtomicSupported);
  properties.concurrentManagedAccess = value(cudaDevAttrConcurrentManagedAccess);
  properties.canUseHostPointerForRegisteredMem = value(cudaDevAttrCanUseHostPointerForRegisteredMem);
  properties.cooperativeLaunch = value(cudaDevAttrCooperativeLaunch);
  properties.directManagedMemAccessFromHost = value(cudaDevAttrDirectManagedMemAccessFromHost);
  properties.hostRegisterSupported = value(cudaDevAttrHostRegisterSupported);
  properties.memoryPoolsSupported = value(cudaDevAttrMemoryPoolsSupported);
#if CUDART_VERSION < 13000
  properties.clockRate = value(cudaDevAttrClockRate);
  properties.singleToDoublePrecisionPerfRatio = value(cudaDevAttrSingleToDoublePrecisionPerfRatio);
#endif
}

// The values set by cudaDeviceSetLimit. They are kept for cudaDeviceGetLimit, and the emulator's own limits
// do not depend on them.
struct DeviceLimits {
  std::array<std::atomic<std::size_t>, 7> values{};
  DeviceLimits() {
    values[cudaLimitStackSize] = 1024;
    values[cudaLimitPrintfFifoSize] = 1 << 20;
    values[cudaLimitMallocHeapSize] = 8 << 20;
  }
};
DeviceLimits& device_limits() {
  static DeviceLimits& limits = *new DeviceLimits;
  return limits;
}
std::atomic<unsigned> device_flags{cudaDeviceMapHost};

void release_everything() {
  using machine::MemoryKind;
  ordering::host_waits_for_all();
  machine::AddressSpace& memory = Runtime::get().memory;
  std::vector<std::uint64_t> begins;
  for (MemoryKind kind :
       {MemoryKind::device, MemoryKind::managed, MemoryKind::pinned, MemoryKind::registered})
    memory.each_live(kind,
                     [&](const machine::Allocation& allocation) { begins.push_back(allocation.begin); });
  for (std::uint64_t begin : begins) memory.release(reinterpret_cast<void*>(begin));
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  for (const auto& [handle, stream] : table.streams) ordering::stream_destroyed(stream->order);
  table.streams.clear();
  table.events.clear();
  table.captures.clear();
}

template <typename Value, typename Body>
cudaError_t answer(const char* caller, Value* where, Body body) {
  return entry(caller, [&] {
    if (!where) return cudaErrorInvalidValue;
    *where = body();
    return cudaSuccess;
  });
}

} // namespace
} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return answer("cudaGetDeviceCount", count, [] { return 1; });
}

cudaError_t cudaGetDevice(int* device) {
  return answer("cudaGetDevice", device, [] { return 0; });
}

cudaError_t cudaSetDevice(int device) {
  return entry("cudaSetDevice", [&] {
    check_device(device);
    return cudaSuccess;
  });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return cudaSetDevice(device);
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return entry("cudaSetValidDevices", [&] {
    if (count < 0 || (count > 0 && !devices)) return cudaErrorInvalidValue;
    for (int i = 0; i < count; ++i) check_device(devices[i]);
    return cudaSuccess;
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  if (!wanted) return remember(cudaErrorInvalidValue);
  return answer("cudaChooseDevice", device, [] { return 0; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return entry("cudaGetDeviceProperties", [&] {
    check_device(device);
    if (!properties) return cudaErrorInvalidValue;
    *properties = {};
    const std::string name = device_name();
    std::memcpy(properties->name, name.data(), std::min(name.size(), sizeof properties->name - 1));
    fill_limits(*properties);
    fill_features(*properties);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return entry("cudaDeviceGetAttribute", [&] {
    check_device(device);
    const auto found = device_attribute(attribute);
    if (!value || !found) return cudaErrorInvalidValue;
    *value = *found;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  return entry("cudaDeviceGetPCIBusId", [&] {
    check_device(device);
    constexpr char none[] = "0000:00:00.0";
    if (!text || size < static_cast<int>(sizeof none)) return cudaErrorInvalidValue;
    std::memcpy(text, none, sizeof none);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  if (!text || std::strcmp(text, "0000:00:00.0") != 0) return remember(cudaErrorInvalidValue);
  return answer("cudaDeviceGetByPCIBusId", device, [] { return 0; });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return answer("cudaRuntimeGetVersion", version, [] { return CUDART_VERSION; });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return answer("cudaDriverGetVersion", version, [] { return CUDART_VERSION; });
}

cudaError_t cudaDeviceSynchronize() {
  return entry("cudaDeviceSynchronize", [] {
    refuse_while_capturing("cudaDeviceSynchronize");
    ordering::host_waits_for_all();
    return cudaSuccess; // streams.hpp explains why there is nothing to wait for
  });
}

// Also clears a sticky error, because everything starts anew.
cudaError_t cudaDeviceReset() {
  clear_sticky_error();
  return entry("cudaDeviceReset", [] {
    release_everything();
    Runtime::get().registry.unload_all();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  if (flags & ~unsigned{cudaDeviceMask}) return remember(cudaErrorInvalidValue);
  device_flags = flags | cudaDeviceMapHost;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return answer("cudaGetDeviceFlags", flags, [] { return device_flags.load(); });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return entry("cudaDeviceSetLimit", [&] {
    if (static_cast<std::size_t>(limit) >= device_limits().values.size()) return cudaErrorUnsupportedLimit;
    if (limit == cudaLimitStackSize && value > warpfold::machine::Limits::local_per_thread)
      throw Refusal(cudaErrorInvalidValue,
                    fmt::format("a stack of {} bytes, more than the {} that a thread may have", value,
                                warpfold::machine::Limits::local_per_thread + 0));
    device_limits().values[limit] = value;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  if (static_cast<std::size_t>(limit) >= device_limits().values.size())
    return remember(cudaErrorUnsupportedLimit);
  return answer("cudaDeviceGetLimit", value, [&] { return device_limits().values[limit].load(); });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -1;
  return remember(sticky_error());
}

// There is only one way to split memory into cache and shared memory here, so preferences are accepted and
// have no effect.
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return remember(sticky_error());
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return answer("cudaDeviceGetCacheConfig", config, [] { return cudaFuncCachePreferNone; });
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return remember(sticky_error());
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return answer("cudaDeviceGetSharedMemConfig", config, [] { return cudaSharedMemBankSizeFourByte; });
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return remember(sticky_error());
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return entry("cudaDeviceCanAccessPeer", [&] {
    check_device(device);
    check_device(peer);
    if (!can) return cudaErrorInvalidValue;
    *can = 0; // a device is not its own peer
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return remember(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceDisablePeerAccess(int) {
  return remember(cudaErrorInvalidDevice);
}

// There is nothing to profile here, but programs that mark regions for profilers should still run.
cudaError_t cudaProfilerStart() {
  return remember(sticky_error());
}
cudaError_t cudaProfilerStop() {
  return remember(sticky_error());
}

// There is no driver underneath, so there are no driver functions to find. Libraries ask, and continue
// without.
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult* result) {
  if (!symbol || !function) return remember(cudaErrorInvalidValue);
  *function = nullptr;
  if (!result) return remember(cudaErrorSymbolNotFound);
  *result = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result) {
  return cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, result);
}
}
