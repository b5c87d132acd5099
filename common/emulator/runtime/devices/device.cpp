// Devices: how many, which one the thread uses, their properties, limits and reset, and who reaches whom.
#include "machine/machine.hpp"
#include "runtime/devices/device_limits.hpp"
#include "runtime/devices/devices.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/stream_table.hpp"

#include <array>
#include <cstring>
#include <fmt/format.h>
#include <vector>

namespace warpfold::runtime {
namespace {

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
  properties.reservedSharedMemPerBlock = value(cudaDevAttrReservedSharedMemoryPerBlock);
#if CUDART_VERSION >= 12000
  properties.clusterLaunch = value(cudaDevAttrClusterLaunch);
#endif
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
  properties.l2CacheSize = value(cudaDevAttrL2CacheSize);
  properties.persistingL2CacheMaxSize = value(cudaDevAttrMaxPersistingL2CacheSize);
  properties.accessPolicyMaxWindowSize = value(cudaDevAttrMaxAccessPolicyWindowSize);
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

// The values set by cudaDeviceSetLimit. That of the stack holds for launches; the others are kept for
// cudaDeviceGetLimit, and the emulator's own limits do not depend on them.
struct DeviceLimits {
  std::array<std::atomic<std::size_t>, 7> values{};
  DeviceLimits() {
    values[cudaLimitStackSize] = 1024;
    values[cudaLimitPrintfFifoSize] = 1 << 20;
    values[cudaLimitMallocHeapSize] = 8 << 20;
    values[cudaLimitPersistingL2CacheSize] = PersistingL2::initial;
  }
};
DeviceLimits& device_limits() {
  static DeviceLimits& limits = *new DeviceLimits;
  return limits;
}
std::atomic<unsigned> device_flags{cudaDeviceMapHost};

// With several devices: what belongs to the current one.
void release_everything() {
  using machine::MemoryKind;
  const int device = current_device();
  wait_for_device(device);
  ordering::host_waits_for_device(device);
  machine::AddressSpace& memory = Runtime::get().memory;
  std::vector<std::uint64_t> begins;
  for (MemoryKind kind :
       {MemoryKind::device, MemoryKind::managed, MemoryKind::pinned, MemoryKind::registered})
    memory.each_live(kind, [&](const machine::Allocation& allocation) {
      const bool is_mine = allocation.device == device || !several_devices();
      if (is_mine) begins.push_back(allocation.begin);
    });
  for (std::uint64_t begin : begins) memory.release(reinterpret_cast<void*>(begin));
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  std::erase_if(table.streams, [&](const auto& item) {
    if (item.second->device != device) return false;
    ordering::stream_destroyed(item.second->order);
    return true;
  });
  std::erase_if(table.events, [&](const auto& item) { return item.second->device == device; });
  table.captures.clear();
  for (int other = 0; other < memory.devices(); ++other) Runtime::get().peers.allow(device, other, false);
}

// A made-up address for each of the machine's devices.
std::string bus_address(int device) {
  return fmt::format("0000:{:02x}:00.0", Runtime::get().visible_device(device));
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

std::uint32_t stack_limit() {
  return static_cast<std::uint32_t>(device_limits().values[cudaLimitStackSize]);
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return entry("cudaGetDeviceCount", [&] {
    if (!count) return cudaErrorInvalidValue;
    *count = device_count();
    return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return answer("cudaGetDevice", device, current_device);
}

cudaError_t cudaSetDevice(int device) {
  return entry("cudaSetDevice", [&] {
    check_device(device);
    set_current_device(device);
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
    const std::string address = bus_address(device);
    if (!text || size <= static_cast<int>(address.size())) return cudaErrorInvalidValue;
    std::memcpy(text, address.c_str(), address.size() + 1);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return entry("cudaDeviceGetByPCIBusId", [&] {
    if (!device || !text) return cudaErrorInvalidValue;
    for (int each = 0; each < device_count(); ++each) {
      if (bus_address(each) != text) continue;
      *device = each;
      return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
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
    Runtime::get().recorder.add_host_wait();
    wait_for_device(current_device());
    ordering::host_waits_for_device(current_device());
    return sticky_error();
  });
}

// Also clears a sticky error, because everything starts anew.
cudaError_t cudaDeviceReset() {
  clear_sticky_error();
  warpfold::machine::forget_stopped_kernels();
  return entry("cudaDeviceReset", [] {
    release_everything();
    Runtime::get().registry.unload_all(current_device());
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
    if (limit == cudaLimitPersistingL2CacheSize) {
      if (value > PersistingL2::most) return cudaErrorInvalidValue;
      value = PersistingL2::in_parts(value);
    }
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
    *can = device != peer; // a device is not its own peer
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return entry("cudaDeviceEnablePeerAccess", [&] {
    check_device(peer);
    if (flags != 0) return cudaErrorInvalidValue;
    if (peer == current_device())
      throw Refusal(
          cudaErrorInvalidDevice,
          fmt::format("device {} is the one that the thread uses, and a device needs no access to its own "
                      "memory. If another one is to have access, call cudaSetDevice for that one before",
                      peer));
    const bool was_allowed = Runtime::get().peers.allow(current_device(), peer, true);
    return was_allowed ? cudaErrorPeerAccessAlreadyEnabled : cudaSuccess;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return entry("cudaDeviceDisablePeerAccess", [&] {
    check_device(peer);
    wait_for_device(current_device());
    const bool was_allowed = Runtime::get().peers.allow(current_device(), peer, false);
    return was_allowed ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
  });
}

// Every device reaches every other one in the same way.
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source, int destination) {
  return entry("cudaDeviceGetP2PAttribute", [&] {
    check_device(source);
    check_device(destination);
    if (!value || source == destination) return cudaErrorInvalidValue;
    switch (attribute) {
    case cudaDevP2PAttrPerformanceRank:
    case cudaDevP2PAttrCudaArrayAccessSupported:
      *value = 0;
      return cudaSuccess;
    case cudaDevP2PAttrAccessSupported:
    case cudaDevP2PAttrNativeAtomicSupported:
      *value = 1;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
    }
  });
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
