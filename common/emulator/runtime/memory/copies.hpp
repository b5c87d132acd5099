// What the functions that copy have in common.
#pragma once

#include "runtime/cuda_api.hpp"

#include <cstddef>

namespace warpfold::runtime {

// A block of bytes with two pitches: `depth` slices of `height` rows of `width` bytes.
struct Box {
  std::byte* begin = nullptr;
  std::size_t pitch = 0, slice = 0; // bytes from row to row, from slice to slice
};

// Copies `extent`, whose width is in bytes. The body of an entry point: `caller` is its name, and says
// whether the copy is asynchronous.
cudaError_t copy(const char* caller, const Box& destination, const Box& source, const cudaExtent& extent,
                 cudaMemcpyKind kind, cudaStream_t stream);

} // namespace warpfold::runtime
