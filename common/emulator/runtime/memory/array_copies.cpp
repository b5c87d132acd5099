// Copies to and from CUDA arrays by rows. cudaMemcpy3D is in copies.cpp.
#include "runtime/memory/arrays.hpp"
#include "runtime/reporting/errors.hpp"

#include <fmt/format.h>

namespace warpfold::runtime {
namespace {

Box rows(const void* begin, std::size_t pitch, std::size_t height) {
  return {static_cast<std::byte*>(const_cast<void*>(begin)), pitch, pitch * height};
}

// `width` bytes from byte `x` of row `y` on, in `height` rows.
Box rows_of(cudaArray_const_t handle, std::size_t x, std::size_t y, std::size_t width, std::size_t height) {
  const Array& array = array_of(handle);
  const machine::Image& image = array.image;
  if (x > image.row_bytes || width > image.row_bytes - x || y > image.height || height > image.height - y)
    throw Refusal(cudaErrorInvalidValue,
                  fmt::format("{} rows of {} bytes from byte {} of row {} on do not fit in {}", height, width,
                              x, y, array.label));
  return {reinterpret_cast<std::byte*>(image.begin) + y * image.row_bytes + x, image.row_bytes,
          image.slice_bytes};
}

// `count` bytes from byte `x` of row `y` on, over the ends of rows.
Box bytes_of(cudaArray_const_t handle, std::size_t x, std::size_t y, std::size_t count) {
  const Array& array = array_of(handle);
  const std::size_t first = y * array.image.row_bytes + x, size = array.image.slice_bytes;
  if (x >= array.image.row_bytes || y >= array.image.height || count > size - first)
    throw Refusal(cudaErrorInvalidValue, fmt::format("{} bytes from byte {} of row {} on do not fit in {}",
                                                     count, x, y, array.label));
  return {reinterpret_cast<std::byte*>(array.image.begin) + first, count, count};
}

cudaError_t to_rows(const char* caller, cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                    std::size_t pitch, std::size_t width, std::size_t height, cudaMemcpyKind kind,
                    cudaStream_t stream) {
  return entry(caller, [&] {
    return copy(caller, rows_of(to, x, y, width, height), rows(from, pitch, height), {width, height, 1}, kind,
                stream);
  });
}

cudaError_t from_rows(const char* caller, void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x,
                      std::size_t y, std::size_t width, std::size_t height, cudaMemcpyKind kind,
                      cudaStream_t stream) {
  return entry(caller, [&] {
    return copy(caller, rows(to, pitch, height), rows_of(from, x, y, width, height), {width, height, 1}, kind,
                stream);
  });
}

cudaError_t to_bytes(const char* caller, cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                     std::size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  return entry(caller, [&] {
    return copy(caller, bytes_of(to, x, y, count), rows(from, count, 1), {count, 1, 1}, kind, stream);
  });
}

cudaError_t from_bytes(const char* caller, void* to, cudaArray_const_t from, std::size_t x, std::size_t y,
                       std::size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  return entry(caller, [&] {
    return copy(caller, rows(to, count, 1), bytes_of(from, x, y, count), {count, 1, 1}, kind, stream);
  });
}

} // namespace
} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
  return to_rows("cudaMemcpy2DToArray", to, x, y, from, pitch, width, height, kind, nullptr);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                     size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return to_rows("cudaMemcpy2DToArrayAsync", to, x, y, from, pitch, width, height, kind, stream);
}

cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                  size_t width, size_t height, cudaMemcpyKind kind) {
  return from_rows("cudaMemcpy2DFromArray", to, pitch, from, x, y, width, height, kind, nullptr);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                       size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return from_rows("cudaMemcpy2DFromArrayAsync", to, pitch, from, x, y, width, height, kind, stream);
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                     size_t from_x, size_t from_y, size_t width, size_t height,
                                     cudaMemcpyKind kind) {
  return entry("cudaMemcpy2DArrayToArray", [&] {
    return copy("cudaMemcpy2DArrayToArray", rows_of(to, to_x, to_y, width, height),
                rows_of(from, from_x, from_y, width, height), {width, height, 1}, kind, nullptr);
  });
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t count,
                              cudaMemcpyKind kind) {
  return to_bytes("cudaMemcpyToArray", to, x, y, from, count, kind, nullptr);
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t count,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return to_bytes("cudaMemcpyToArrayAsync", to, x, y, from, count, kind, stream);
}

cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                cudaMemcpyKind kind) {
  return from_bytes("cudaMemcpyFromArray", to, from, x, y, count, kind, nullptr);
}

cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
  return from_bytes("cudaMemcpyFromArrayAsync", to, from, x, y, count, kind, stream);
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                   size_t from_x, size_t from_y, size_t count, cudaMemcpyKind kind) {
  return entry("cudaMemcpyArrayToArray", [&] {
    return copy("cudaMemcpyArrayToArray", bytes_of(to, to_x, to_y, count),
                bytes_of(from, from_x, from_y, count), {count, 1, 1}, kind, nullptr);
  });
}
}
