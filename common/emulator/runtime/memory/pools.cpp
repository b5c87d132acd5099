// Memory pools exist only for programs that set them up: freed memory goes back at once here, so that a use
// after free is detected, and a pool has nothing to keep.
#include "runtime/memory/pools.hpp"

#include "runtime/devices/devices.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"

#include <cstring>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <mutex>

namespace warpfold::runtime {
namespace {

struct Pool {
  PoolPlace place;
  int reuse[4] = {0, 1, 1, 1}; // by cudaMemPoolReuse...; kept but not used
  unsigned long long release_threshold = 0;
};

struct PoolTable {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Pool>> pools;
  Pool standard[machine::most_devices]; // by device
  cudaMemPool_t current[machine::most_devices];

  PoolTable() {
    for (int device = 0; device < machine::most_devices; ++device) {
      standard[device].place = {device, new machine::PoolAccess(device)};
      current[device] = reinterpret_cast<cudaMemPool_t>(&standard[device]);
    }
  }

  static PoolTable& get() {
    static PoolTable& table = *new PoolTable;
    return table;
  }
  Pool& pool(cudaMemPool_t handle) {
    for (Pool& each : standard)
      if (reinterpret_cast<Pool*>(handle) == &each) return each;
    auto found = pools.find(handle);
    if (found == pools.end())
      throw Refusal(cudaErrorInvalidValue, "the memory pool was never created or has already been destroyed");
    return *found->second;
  }
};

template <typename Body>
cudaError_t with_pool(const char* caller, cudaMemPool_t handle, Body body) {
  return entry(caller, [&] {
    PoolTable& table = PoolTable::get();
    std::lock_guard lock(table.mutex);
    return body(table, table.pool(handle));
  });
}

cudaError_t pool_of(const char* caller, cudaMemPool_t* pool, int device, bool standard) {
  return entry(caller, [&] {
    check_device(device);
    if (!pool) return cudaErrorInvalidValue;
    PoolTable& table = PoolTable::get();
    std::lock_guard lock(table.mutex);
    *pool = standard ? reinterpret_cast<cudaMemPool_t>(&table.standard[device]) : table.current[device];
    return cudaSuccess;
  });
}

bool is_reuse(cudaMemPoolAttr attribute) {
  return attribute >= cudaMemPoolReuseFollowEventDependencies &&
         attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

bool is_high_water(cudaMemPoolAttr attribute) {
  return attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh;
}

} // namespace

PoolPlace current_pool(int device) {
  PoolTable& table = PoolTable::get();
  std::lock_guard lock(table.mutex);
  return table.pool(table.current[device]).place;
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return pool_of("cudaDeviceGetDefaultMemPool", pool, device, true);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return pool_of("cudaDeviceGetMemPool", pool, device, false);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return with_pool("cudaDeviceSetMemPool", pool, [&](PoolTable& table, Pool& chosen) {
    check_device(device);
    if (chosen.place.device != device)
      throw Refusal(cudaErrorInvalidValue,
                    fmt::format("the pool's memory is on device {}, not {}", chosen.place.device, device));
    table.current[device] = pool;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return entry("cudaMemPoolCreate", [&] {
    if (!pool || !properties) return cudaErrorInvalidValue;
    if (properties->location.type != cudaMemLocationTypeDevice) return cudaErrorInvalidDevice;
    check_device(properties->location.id);
    PoolTable& table = PoolTable::get();
    std::lock_guard lock(table.mutex);
    auto made = std::make_unique<Pool>();
    made->place = {properties->location.id, new warpfold::machine::PoolAccess(properties->location.id)};
    *pool = reinterpret_cast<cudaMemPool_t>(made.get());
    table.pools[made.get()] = std::move(made);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return with_pool("cudaMemPoolDestroy", handle, [&](PoolTable& table, Pool& pool) {
    for (std::size_t device = 0; device < warpfold::machine::most_devices; ++device) {
      if (&pool == &table.standard[device]) return cudaErrorInvalidValue;
      if (table.current[device] == handle)
        table.current[device] = reinterpret_cast<cudaMemPool_t>(&table.standard[device]);
    }
    table.pools.erase(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  return with_pool("cudaMemPoolTrimTo", handle, [](PoolTable&, Pool&) { return cudaSuccess; });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return with_pool("cudaMemPoolSetAttribute", handle, [&](PoolTable&, Pool& pool) {
    if (!value) return cudaErrorInvalidValue;
    if (is_reuse(attribute))
      std::memcpy(&pool.reuse[attribute], value, sizeof(int));
    else if (attribute == cudaMemPoolAttrReleaseThreshold)
      std::memcpy(&pool.release_threshold, value, sizeof pool.release_threshold);
    else if (!is_high_water(attribute) || *static_cast<unsigned long long*>(value) != 0)
      return cudaErrorInvalidValue;
    else
      pool.place.access->reset_most_used();
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return with_pool("cudaMemPoolGetAttribute", handle, [&](PoolTable&, Pool& pool) {
    if (!value) return cudaErrorInvalidValue;
    if (is_reuse(attribute)) {
      std::memcpy(value, &pool.reuse[attribute], sizeof(int));
      return cudaSuccess;
    }
    if (attribute < cudaMemPoolAttrReleaseThreshold || attribute > cudaMemPoolAttrUsedMemHigh)
      return cudaErrorInvalidValue;
    // A pool keeps no memory: what is in use is all that it has reserved.
    const unsigned long long number = attribute == cudaMemPoolAttrReleaseThreshold ? pool.release_threshold
                                      : is_high_water(attribute) ? pool.place.access->most_used()
                                                                 : pool.place.access->used();
    std::memcpy(value, &number, sizeof number);
    return cudaSuccess;
  });
}

// The errors are those of an H100.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* descriptions, size_t count) {
  return with_pool("cudaMemPoolSetAccess", handle, [&](PoolTable&, Pool& pool) {
    if (count && !descriptions) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      const auto& [location, flags] = descriptions[i];
      if (location.type != cudaMemLocationTypeDevice) return cudaErrorNotSupported;
      check_device(location.id);
      if (flags != cudaMemAccessFlagsProtNone && flags != cudaMemAccessFlagsProtReadWrite)
        throw Refusal(cudaErrorNotSupported, "a device may both read and write a pool's memory, or neither");
      if (location.id == pool.place.device && flags == cudaMemAccessFlagsProtNone)
        throw Refusal(cudaErrorInvalidDevice, "a pool's own device keeps its access");
    }
    for (size_t i = 0; i < count; ++i)
      pool.place.access->allow(descriptions[i].location.id,
                               descriptions[i].flags == cudaMemAccessFlagsProtReadWrite);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle, cudaMemLocation* location) {
  return with_pool("cudaMemPoolGetAccess", handle, [&](PoolTable&, Pool& pool) {
    if (!flags || !location) return cudaErrorInvalidValue;
    check_device(location->id);
    *flags = pool.place.access->allows(location->id) ? cudaMemAccessFlagsProtReadWrite
                                                     : cudaMemAccessFlagsProtNone;
    return cudaSuccess;
  });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t handle, cudaStream_t stream) {
  PoolPlace place;
  const cudaError_t error = with_pool("cudaMallocFromPoolAsync", handle, [&](PoolTable&, Pool& pool) {
    place = pool.place;
    return cudaSuccess;
  });
  return error != cudaSuccess ? error
                              : allocate_in_order("cudaMallocFromPoolAsync", pointer, size, stream, place);
}
}
