// Creating, destroying and querying texture and surface objects.
#include "runtime/memory/textures.hpp"

#include "runtime/devices/device_limits.hpp"
#include "runtime/memory/arrays.hpp"
#include "runtime/memory/memory_check.hpp"
#include "runtime/reporting/errors.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>

namespace warpfold::runtime {
namespace {

using machine::AddressMode;
using machine::Resource;
using machine::Sampler;
using machine::Shape;
using machine::TexelFormat;

// What an object was created from.
struct Description {
  cudaResourceDesc resource{};
  cudaTextureDesc texture{};
};

struct ObjectTable {
  std::mutex mutex;
  std::map<unsigned long long, Description> descriptions;
  std::shared_ptr<const machine::Textures>
      objects; // replaced, never changed: kernels keep what they began with
  unsigned long long last = 0;

  static ObjectTable& get() {
    static ObjectTable& table = *new ObjectTable;
    return table;
  }

  unsigned long long add(machine::Texture texture, const Description& description) {
    std::lock_guard lock(mutex);
    auto changed =
        objects ? std::make_shared<machine::Textures>(*objects) : std::make_shared<machine::Textures>();
    changed->emplace(++last, std::make_shared<const machine::Texture>(std::move(texture)));
    descriptions.emplace(last, description);
    objects = std::move(changed);
    return last;
  }

  bool remove(unsigned long long handle, bool is_surface) {
    std::lock_guard lock(mutex);
    if (!objects) return false;
    const auto found = objects->find(handle);
    if (found == objects->end() || found->second->resource.is_surface != is_surface) return false;
    auto changed = std::make_shared<machine::Textures>(*objects);
    changed->erase(handle);
    descriptions.erase(handle);
    objects = std::move(changed);
    return true;
  }

  Description description(unsigned long long handle) {
    std::lock_guard lock(mutex);
    const auto found = descriptions.find(handle);
    if (found == descriptions.end())
      throw Refusal(cudaErrorInvalidValue, fmt::format("{} is no texture or surface object", handle));
    return found->second;
  }
};

[[noreturn]] void refuse_texture(const std::string& why) {
  throw Refusal(cudaErrorInvalidValue, why);
}

Resource resource_in(const Array& array) {
  return {.shape = array.shape, .format = array.format, .levels = {array.image}, .label = array.label};
}

Resource resource_in(const MipmappedArray& mipmapped) {
  Resource resource = resource_in(*mipmapped.levels[0]);
  for (std::size_t i = 1; i < mipmapped.levels.size(); ++i)
    resource.levels.push_back(mipmapped.levels[i]->image);
  return resource;
}

std::string label_of(const void* memory) {
  const auto allocation = allocation_of(memory);
  return allocation ? allocation->label : std::string("host memory");
}

void check_aligned(const char* what, std::uint64_t value, cudaDeviceAttr attribute) {
  const int alignment = *device_attribute(attribute);
  if (value % static_cast<unsigned>(alignment) != 0)
    refuse_texture(fmt::format("{} is {}, which is not a multiple of {}", what, value, alignment));
}

void check_memory(const void* memory, std::size_t bytes) {
  check_device_range("the texture's memory", memory, bytes);
  if (!memory || bytes == 0) refuse_texture("the texture has no memory");
  check_aligned("the texture's address", reinterpret_cast<std::uint64_t>(memory),
                cudaDevAttrTextureAlignment);
}

Resource in_linear_memory(void* memory, const cudaChannelFormatDesc& channels, std::size_t bytes) {
  Resource resource{
      .shape = Shape::linear, .format = format_of(channels), .levels = {}, .label = label_of(memory)};
  check_memory(memory, bytes);
  const std::size_t elements = bytes / resource.format.bytes();
  const auto most = static_cast<std::size_t>(*device_attribute(cudaDevAttrMaxTexture1DLinearWidth));
  if (elements > most)
    refuse_texture(fmt::format("{} elements in linear memory; {} is the most", elements, most));
  resource.levels = {
      {.begin = reinterpret_cast<std::uint64_t>(memory), .width = static_cast<std::uint32_t>(elements)}};
  return resource;
}

Resource in_pitched_memory(const cudaResourceDesc& description) {
  const auto& pitched = description.res.pitch2D;
  Resource resource{.shape = Shape::plane,
                    .format = format_of(pitched.desc),
                    .levels = {},
                    .label = label_of(pitched.devPtr)};
  const std::size_t row = pitched.width * resource.format.bytes();
  if (pitched.width == 0 || pitched.height == 0)
    refuse_texture("a texture in pitched memory needs a width and a height");
  if (pitched.pitchInBytes < row)
    refuse_texture(fmt::format("a pitch of {} bytes is less than a row's {}", pitched.pitchInBytes, row));
  check_aligned("the pitch", pitched.pitchInBytes, cudaDevAttrTexturePitchAlignment);
  check_memory(pitched.devPtr, pitched.pitchInBytes * (pitched.height - 1) + row);
  resource.levels = {{.begin = reinterpret_cast<std::uint64_t>(pitched.devPtr),
                      .width = static_cast<std::uint32_t>(pitched.width),
                      .height = static_cast<std::uint32_t>(pitched.height),
                      .row_bytes = pitched.pitchInBytes}};
  return resource;
}

Resource resource_of(const cudaResourceDesc& description) {
  switch (description.resType) {
  case cudaResourceTypeArray:
    return resource_in(array_of(description.res.array.array));
  case cudaResourceTypeMipmappedArray:
    return resource_in(mipmapped_array_of(description.res.mipmap.mipmap));
  case cudaResourceTypeLinear:
    return in_linear_memory(description.res.linear.devPtr, description.res.linear.desc,
                            description.res.linear.sizeInBytes);
  case cudaResourceTypePitch2D:
    return in_pitched_memory(description);
  }
  refuse_texture(fmt::format("{} is no kind of resource", static_cast<int>(description.resType)));
}

AddressMode address_mode(cudaTextureAddressMode mode) {
  switch (mode) {
  case cudaAddressModeWrap:
    return AddressMode::wrap;
  case cudaAddressModeClamp:
    return AddressMode::clamp;
  case cudaAddressModeMirror:
    return AddressMode::mirror;
  case cudaAddressModeBorder:
    return AddressMode::border;
  }
  refuse_texture(fmt::format("{} is no address mode", static_cast<int>(mode)));
}

Sampler sampler_of(const cudaTextureDesc& description) {
  Sampler sampler{.linear = description.filterMode == cudaFilterModeLinear,
                  .normalized_coordinates = description.normalizedCoords != 0,
                  .normalized_floats = description.readMode == cudaReadModeNormalizedFloat,
                  .srgb = description.sRGB != 0,
                  .blends_levels = description.mipmapFilterMode == cudaFilterModeLinear,
                  .level_bias = description.mipmapLevelBias,
                  .least_level = description.minMipmapLevelClamp,
                  .most_level = description.maxMipmapLevelClamp};
  for (unsigned i = 0; i < 3; ++i) sampler.address[i] = address_mode(description.addressMode[i]);
  std::copy_n(description.borderColor, 4, sampler.border.begin());
  return sampler;
}

// What CUDA refuses, and with which error.
void check_sampler(const Resource& resource, const Sampler& sampler) {
  const bool integers = resource.format.kind != TexelFormat::Kind::floating;
  if (sampler.linear && integers && (!sampler.normalized_floats || resource.format.channel_bytes == 4) &&
      resource.shape != Shape::linear)
    throw Refusal(
        cudaErrorInvalidFilterSetting,
        "integers can be filtered only if they are read as floats (cudaReadModeNormalizedFloat), and "
        "have 8 or 16 bits");
  if (sampler.normalized_floats && integers && resource.format.channel_bytes == 4)
    throw Refusal(cudaErrorInvalidNormSetting, "integers of 32 bits cannot be read as floats");
  const bool needs_normalized =
      resource.levels.size() > 1 || resource.shape == Shape::cube || resource.shape == Shape::layered_cubes;
  if (needs_normalized && !sampler.normalized_coordinates)
    refuse_texture("mipmapped arrays and cubemaps need normalized coordinates");
}

// What the emulator does not have.
void check_supported(const Resource& resource, const Sampler& sampler, const cudaTextureDesc& description,
                     const cudaResourceViewDesc* view) {
  const auto unsupported = [](const char* what) {
    throw Refusal(cudaErrorNotSupported, fmt::format("{} are not supported", what));
  };
  const bool cube = resource.shape == Shape::cube || resource.shape == Shape::layered_cubes;
  if (view) unsupported("resource views");
  if (cube && sampler.linear && description.seamlessCubemap) unsupported("seamless cubemaps");
  if (resource.levels.size() > 1 && description.maxAnisotropy > 1) unsupported("anisotropic filters");
  if (sampler.srgb && (resource.format.kind != TexelFormat::Kind::unsigned_integer ||
                       resource.format.channel_bytes != 1 || !sampler.normalized_floats))
    unsupported("sRGB textures of anything but bytes that are read as floats");
}

} // namespace

std::shared_ptr<const machine::Textures> current_textures() {
  ObjectTable& table = ObjectTable::get();
  std::lock_guard lock(table.mutex);
  return table.objects;
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture, const cudaResourceViewDesc* view) {
  return entry("cudaCreateTextureObject", [&] {
    if (!object || !resource || !texture) return cudaErrorInvalidValue;
    warpfold::machine::Texture made{resource_of(*resource), sampler_of(*texture)};
    check_sampler(made.resource, made.sampler);
    check_supported(made.resource, made.sampler, *texture, view);
    *object = ObjectTable::get().add(std::move(made), {*resource, *texture});
    return cudaSuccess;
  });
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  return entry("cudaDestroyTextureObject", [&] {
    return object == 0 || ObjectTable::get().remove(object, false) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t object) {
  return entry("cudaGetTextureObjectResourceDesc", [&] {
    if (!resource) return cudaErrorInvalidValue;
    *resource = ObjectTable::get().description(object).resource;
    return cudaSuccess;
  });
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, cudaTextureObject_t object) {
  return entry("cudaGetTextureObjectTextureDesc", [&] {
    if (!texture) return cudaErrorInvalidValue;
    *texture = ObjectTable::get().description(object).texture;
    return cudaSuccess;
  });
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  return entry("cudaCreateSurfaceObject", [&] {
    if (!object || !resource || resource->resType != cudaResourceTypeArray) return cudaErrorInvalidValue;
    const Array& array = array_of(resource->res.array.array);
    if (!(array.flags & cudaArraySurfaceLoadStore))
      throw Refusal(cudaErrorInvalidValue,
                    fmt::format("{} was not allocated with cudaArraySurfaceLoadStore", array.label));
    warpfold::machine::Texture made{resource_in(array), {}};
    made.resource.is_surface = true;
    *object = ObjectTable::get().add(std::move(made), {*resource, {}});
    return cudaSuccess;
  });
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
  return entry("cudaDestroySurfaceObject", [&] {
    return object == 0 || ObjectTable::get().remove(object, true) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, cudaSurfaceObject_t object) {
  return entry("cudaGetSurfaceObjectResourceDesc", [&] {
    if (!resource) return cudaErrorInvalidValue;
    *resource = ObjectTable::get().description(object).resource;
    return cudaSuccess;
  });
}
}
