// Memory pools.
#pragma once

#include "runtime/cuda_api.hpp"

#include <cstddef>

namespace warpfold::runtime {

// cudaMallocAsync and its variants: memory.cpp.
cudaError_t allocate_in_order(const char* caller, void** pointer, std::size_t size, cudaStream_t stream);

} // namespace warpfold::runtime
