// CUDA arrays. Their texels lie row after row in device memory, whose addresses the program never sees; so
// that what holds for memory (races, use after free, leaks) holds for them.
#pragma once

#include "runtime/cuda_api.hpp"
#include "runtime/memory/copies.hpp"

#include "machine/textures.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace warpfold::runtime {

struct Array {
  cudaChannelFormatDesc channels{};
  cudaExtent extent{}; // as it was asked for: 0 for a dimension that the array does not have
  unsigned flags = 0;
  machine::Shape shape{};
  machine::TexelFormat format;
  machine::Image image;
  std::string label;     // "array 3 (64 x 32 elements of 4 bytes)"
  bool is_level = false; // of a mipmapped array, which owns the memory
  std::size_t row_bytes() const { return std::size_t{image.width} * format.bytes(); }
};

struct MipmappedArray {
  std::vector<std::unique_ptr<Array>> levels;
};

// The arrays of a handle. Throw Refusal if there is none.
Array& array_of(cudaArray_const_t handle);
MipmappedArray& mipmapped_array_of(cudaMipmappedArray_const_t handle);

// Throws Refusal for channels that no array and no texture can have.
machine::TexelFormat format_of(const cudaChannelFormatDesc& channels);

std::size_t bytes_of_element(cudaArray_const_t handle);
// The elements of an array from `at` on. Throws Refusal if `extent` elements do not fit there.
Box box_in(cudaArray_const_t handle, const cudaPos& at, const cudaExtent& extent);

} // namespace warpfold::runtime
