// Allocating, freeing and querying CUDA arrays.
#include "runtime/memory/arrays.hpp"

#include "runtime/devices/device_limits.hpp"
#include "runtime/memory/memory.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/streams/streams.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <mutex>

namespace warpfold::runtime {
namespace {

using machine::Shape;
using machine::TexelFormat;

struct ArrayTable {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Array>> arrays;
  std::map<const void*, std::unique_ptr<MipmappedArray>> mipmapped;

  static ArrayTable& get() {
    static ArrayTable& table = *new ArrayTable;
    return table;
  }
};

[[noreturn]] void refuse_array(const std::string& why) {
  throw Refusal(cudaErrorInvalidValue, why);
}

Shape shape_of(const cudaExtent& extent, unsigned flags) {
  const bool layered = flags & cudaArrayLayered;
  if (extent.width == 0) refuse_array("an array needs a width");
  if (flags & cudaArrayCubemap) {
    const bool fits = layered ? extent.depth % 6 == 0 : extent.depth == 6;
    if (extent.width != extent.height || !fits || extent.depth == 0)
      refuse_array(
          fmt::format("a cubemap of {} x {} x {}: its faces must be square, and its depth 6 or, with "
                      "layers, a multiple of 6",
                      extent.width, extent.height, extent.depth));
    return layered ? Shape::layered_cubes : Shape::cube;
  }
  if (layered) {
    if (extent.depth == 0) refuse_array("a layered array needs a depth, the number of its layers");
    return extent.height == 0 ? Shape::layered_rows : Shape::layered_planes;
  }
  if (extent.height == 0 && extent.depth != 0) refuse_array("an array with a depth needs a height");
  return extent.depth != 0 ? Shape::volume : extent.height != 0 ? Shape::plane : Shape::row;
}

// The greatest width, height and depth of a shape.
std::array<int, 3> limits_of(Shape shape) {
  switch (shape) {
  case Shape::row:
    return {cudaDevAttrMaxTexture1DWidth, 0, 0};
  case Shape::plane:
    return {cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight, 0};
  case Shape::layered_rows:
    return {cudaDevAttrMaxTexture1DLayeredWidth, 0, cudaDevAttrMaxTexture1DLayeredLayers};
  case Shape::layered_planes:
    return {cudaDevAttrMaxTexture2DLayeredWidth, cudaDevAttrMaxTexture2DLayeredHeight,
            cudaDevAttrMaxTexture2DLayeredLayers};
  case Shape::cube:
    return {cudaDevAttrMaxTextureCubemapWidth, cudaDevAttrMaxTextureCubemapWidth, 0};
  case Shape::layered_cubes:
    return {cudaDevAttrMaxTextureCubemapLayeredWidth, cudaDevAttrMaxTextureCubemapLayeredWidth,
            cudaDevAttrMaxTextureCubemapLayeredLayers};
  default:
    return {cudaDevAttrMaxTexture3DWidth, cudaDevAttrMaxTexture3DHeight, cudaDevAttrMaxTexture3DDepth};
  }
}

void check_size(Shape shape, const cudaExtent& extent) {
  const std::array<int, 3> limits = limits_of(shape);
  const std::size_t sizes[] = {extent.width, extent.height, extent.depth};
  for (unsigned i = 0; i < 3; ++i)
    if (limits[i] != 0 && sizes[i] > static_cast<std::size_t>(*device_attribute(limits[i])))
      refuse_array(
          fmt::format("an array of {} x {} x {}: the device's limit for this kind is {} in dimension {}",
                      extent.width, extent.height, extent.depth, *device_attribute(limits[i]), i + 1));
}

std::string size_in_words(const cudaExtent& extent, unsigned element) {
  std::string size = fmt::format("{}", extent.width);
  if (extent.height != 0) size += fmt::format(" x {}", extent.height);
  if (extent.depth != 0) size += fmt::format(" x {}", extent.depth);
  return fmt::format("{} elements of {} bytes", size, element);
}

Array described(const cudaChannelFormatDesc& channels, const cudaExtent& extent, unsigned flags) {
  constexpr unsigned known =
      cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather;
  if (flags & ~known)
    throw Refusal(cudaErrorNotSupported, "sparse arrays and those of graphics are not supported");
  Array array;
  array.channels = channels, array.extent = extent, array.flags = flags;
  array.format = format_of(channels), array.shape = shape_of(extent, flags);
  check_size(array.shape, extent);
  const auto size = [](std::size_t one) { return static_cast<std::uint32_t>(std::max<std::size_t>(one, 1)); };
  machine::Image& image = array.image;
  image.width = size(extent.width), image.height = size(extent.height), image.depth = size(extent.depth);
  image.row_bytes = array.row_bytes();
  image.slice_bytes = image.row_bytes * image.height;
  return array;
}

std::size_t bytes_of(const Array& array) {
  return array.image.slice_bytes * array.image.depth;
}

void allocate(Array& array) {
  static std::atomic<unsigned> count{0};
  array.label = fmt::format("array {} ({})", ++count, size_in_words(array.extent, array.format.bytes()));
  array.image.begin = reinterpret_cast<std::uint64_t>(allocate_device(bytes_of(array), array.label));
}

cudaError_t allocate(const char* caller, cudaArray_t* handle, const cudaChannelFormatDesc* channels,
                     const cudaExtent& extent, unsigned flags) {
  return entry(caller, [&] {
    if (!handle || !channels) return cudaErrorInvalidValue;
    refuse_while_capturing(caller);
    auto array = std::make_unique<Array>(described(*channels, extent, flags));
    allocate(*array);
    *handle = reinterpret_cast<cudaArray_t>(array.get());
    ArrayTable& table = ArrayTable::get();
    std::lock_guard lock(table.mutex);
    table.arrays.emplace(*handle, std::move(array));
    return cudaSuccess;
  });
}

// Half of the size above, but not less than 1; what is 0 stays so.
cudaExtent size_of_level(const cudaExtent& extent, unsigned level, bool layered) {
  const auto smaller = [&](std::size_t size) {
    return size == 0 ? 0 : std::max<std::size_t>(size >> level, 1);
  };
  return {smaller(extent.width), smaller(extent.height), layered ? extent.depth : smaller(extent.depth)};
}

cudaError_t allocate_levels(cudaMipmappedArray_t* handle, const cudaChannelFormatDesc* channels,
                            const cudaExtent& extent, unsigned levels, unsigned flags) {
  return entry("cudaMallocMipmappedArray", [&] {
    if (!handle || !channels) return cudaErrorInvalidValue;
    refuse_while_capturing("cudaMallocMipmappedArray");
    const bool layered = flags & (cudaArrayLayered | cudaArrayCubemap);
    const std::size_t longest = std::max({extent.width, extent.height, layered ? 0 : extent.depth});
    const auto most = static_cast<unsigned>(std::bit_width(longest));
    auto mipmapped = std::make_unique<MipmappedArray>();
    for (unsigned level = 0; level < std::clamp(levels, 1u, std::max(most, 1u)); ++level) {
      mipmapped->levels.push_back(
          std::make_unique<Array>(described(*channels, size_of_level(extent, level, layered), flags)));
      mipmapped->levels.back()->is_level = true;
    }
    for (const auto& level : mipmapped->levels) allocate(*level);
    *handle = reinterpret_cast<cudaMipmappedArray_t>(mipmapped.get());
    ArrayTable& table = ArrayTable::get();
    std::lock_guard lock(table.mutex);
    table.mipmapped.emplace(*handle, std::move(mipmapped));
    return cudaSuccess;
  });
}

[[noreturn]] void refuse_handle(const char* what) {
  throw Refusal(cudaErrorInvalidResourceHandle,
                fmt::format("the {} was never created or has already been freed", what));
}

} // namespace

TexelFormat format_of(const cudaChannelFormatDesc& channels) {
  const int sizes[] = {channels.x, channels.y, channels.z, channels.w};
  TexelFormat format;
  if (channels.f == cudaChannelFormatKindFloat)
    format.kind = TexelFormat::Kind::floating;
  else if (channels.f == cudaChannelFormatKindUnsigned)
    format.kind = TexelFormat::Kind::unsigned_integer;
  else if (channels.f == cudaChannelFormatKindSigned)
    format.kind = TexelFormat::Kind::signed_integer;
  else
    throw Refusal(cudaErrorNotSupported,
                  fmt::format("channels of kind {} are not supported", static_cast<int>(channels.f)));
  format.channels = static_cast<unsigned>(std::find(sizes, sizes + 4, 0) - sizes);
  const int bits = sizes[0];
  const bool equal = std::all_of(sizes, sizes + 4, [&](int size) { return size == bits || size == 0; }) &&
                     std::count(sizes, sizes + 4, 0) == 4 - static_cast<int>(format.channels);
  const bool sized = bits == 16 || bits == 32 || (bits == 8 && format.kind != TexelFormat::Kind::floating);
  if (!equal || !sized || !std::has_single_bit(format.channels))
    throw Refusal(cudaErrorInvalidChannelDescriptor,
                  fmt::format("channels of {}, {}, {} and {} bits: there must be 1, 2 or 4, of 8, 16 or 32 "
                              "bits each",
                              channels.x, channels.y, channels.z, channels.w));
  format.channel_bytes = static_cast<unsigned>(bits) / 8;
  return format;
}

Array& array_of(cudaArray_const_t handle) {
  ArrayTable& table = ArrayTable::get();
  std::lock_guard lock(table.mutex);
  if (const auto found = table.arrays.find(handle); found != table.arrays.end()) return *found->second;
  for (const auto& [known, mipmapped] : table.mipmapped)
    for (const auto& level : mipmapped->levels)
      if (level.get() == reinterpret_cast<const Array*>(handle)) return *level;
  refuse_handle("array");
}

MipmappedArray& mipmapped_array_of(cudaMipmappedArray_const_t handle) {
  ArrayTable& table = ArrayTable::get();
  std::lock_guard lock(table.mutex);
  if (const auto found = table.mipmapped.find(handle); found != table.mipmapped.end()) return *found->second;
  refuse_handle("mipmapped array");
}

std::size_t bytes_of_element(cudaArray_const_t handle) {
  return array_of(handle).format.bytes();
}

Box box_in(cudaArray_const_t handle, const cudaPos& at, const cudaExtent& extent) {
  const Array& array = array_of(handle);
  const machine::Image& image = array.image;
  const auto fits = [](std::size_t first, std::size_t count, std::size_t size) {
    return first <= size && count <= size - first;
  };
  if (!fits(at.x, extent.width, image.width) || !fits(at.y, extent.height, image.height) ||
      !fits(at.z, extent.depth, image.depth))
    refuse_array(fmt::format("{} x {} x {} elements at ({}, {}, {}) do not fit in {}", extent.width,
                             extent.height, extent.depth, at.x, at.y, at.z, array.label));
  auto* const begin = reinterpret_cast<std::byte*>(image.begin);
  return {begin + at.z * image.slice_bytes + at.y * image.row_bytes + at.x * array.format.bytes(),
          image.row_bytes, image.slice_bytes};
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, size_t width,
                            size_t height, unsigned flags) {
  return allocate("cudaMallocArray", array, channels, {width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, cudaExtent extent,
                              unsigned flags) {
  return allocate("cudaMalloc3DArray", array, channels, extent, flags);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array, const cudaChannelFormatDesc* channels,
                                     cudaExtent extent, unsigned levels, unsigned flags) {
  return allocate_levels(array, channels, extent, levels, flags);
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* array, cudaMipmappedArray_const_t mipmapped,
                                       unsigned level) {
  return entry("cudaGetMipmappedArrayLevel", [&] {
    const auto& levels = mipmapped_array_of(mipmapped).levels;
    if (!array || level >= levels.size()) return cudaErrorInvalidValue;
    *array = reinterpret_cast<cudaArray_t>(levels[level].get());
    return cudaSuccess;
  });
}

cudaError_t cudaFreeArray(cudaArray_t handle) {
  return entry("cudaFreeArray", [&] {
    if (!handle) return cudaSuccess;
    refuse_while_capturing("cudaFreeArray");
    const Array& array = array_of(handle);
    if (array.is_level) throw Refusal(cudaErrorInvalidValue, "a level is freed with its mipmapped array");
    release_device("cudaFreeArray", reinterpret_cast<void*>(array.image.begin));
    ArrayTable& table = ArrayTable::get();
    std::lock_guard lock(table.mutex);
    table.arrays.erase(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t handle) {
  return entry("cudaFreeMipmappedArray", [&] {
    if (!handle) return cudaSuccess;
    refuse_while_capturing("cudaFreeMipmappedArray");
    for (const auto& level : mipmapped_array_of(handle).levels)
      release_device("cudaFreeMipmappedArray", reinterpret_cast<void*>(level->image.begin));
    ArrayTable& table = ArrayTable::get();
    std::lock_guard lock(table.mutex);
    table.mipmapped.erase(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* channels, cudaExtent* extent, unsigned* flags,
                             cudaArray_t handle) {
  return entry("cudaArrayGetInfo", [&] {
    const Array& array = array_of(handle);
    if (channels) *channels = array.channels;
    if (extent) *extent = array.extent;
    if (flags) *flags = array.flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* channels, cudaArray_const_t handle) {
  return entry("cudaGetChannelDesc", [&] {
    if (!channels) return cudaErrorInvalidValue;
    *channels = array_of(handle).channels;
    return cudaSuccess;
  });
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
}
