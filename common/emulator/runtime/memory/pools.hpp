// Memory pools.
#pragma once

#include "machine/peers.hpp"
#include "runtime/cuda_api.hpp"

#include <cstddef>
#include <optional>

namespace warpfold::runtime {

// Where a pool's memory lies, and who may access it.
struct PoolPlace {
  int device = 0;
  machine::PoolAccess* access = nullptr; // for ever, since memory outlives its pool
};
// Of the pool that cudaMallocAsync takes memory from on this device.
PoolPlace current_pool(int device);

// Memory there.
void* allocate_device(std::size_t size, const PoolPlace& place);
// As fresh memory: nothing in it is written.
void forget_contents(void* begin, std::size_t size);

// cudaMallocAsync and its variants: memory.cpp. Without a pool, from the current one of the stream's device.
cudaError_t allocate_in_order(const char* caller, void** pointer, std::size_t size, cudaStream_t stream,
                              std::optional<PoolPlace> pool = std::nullopt);

} // namespace warpfold::runtime
