// Textures: which texels a fetch reads, how it weighs them, and what it makes of them (CUDA Programming
// Guide, "Texture Fetching"; PTX ISA 5.3, 9.7.10). Only arithmetic: the fetching instruction checks that the
// texels may be read. The widths of the fixed-point numbers and each rounding were found on an H100, bit by
// bit: tests/emulator/machine/textures_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace warpfold::machine {

struct TexelFormat {
  enum class Kind : std::uint8_t { signed_integer, unsigned_integer, floating };
  Kind kind{};
  unsigned channels = 1, channel_bytes = 4; // 1, 2 or 4 of them, of 1, 2 or 4 bytes each
  unsigned bytes() const { return channels * channel_bytes; }
};

// How the texels lie: a row of them in linear memory, or an array of one of CUDA's kinds.
enum class Shape : std::uint8_t {
  linear,
  row,
  plane,
  volume,
  layered_rows,
  layered_planes,
  cube,
  layered_cubes,
};
const char* name_of(Shape shape); // "a 2D array"

// One array, or one level of a mipmapped one. Layers and the faces of cubes are slices.
struct Image {
  std::uint64_t begin = 0; // address of the first texel
  std::uint32_t width = 1, height = 1, depth = 1;
  std::uint64_t row_bytes = 0, slice_bytes = 0; // from row to row, from slice to slice
};

// What the texels of a texture or surface object are in.
struct Resource {
  Shape shape{};
  TexelFormat format;
  std::vector<Image> levels;
  std::string label; // "array 3 (64 x 32 elements of 4 bytes)"
  bool is_surface = false;
};

enum class AddressMode : std::uint8_t { wrap, clamp, mirror, border };

struct Sampler {
  std::array<AddressMode, 3> address{};
  bool linear = false;                 // filters; else the nearest texel
  bool normalized_coordinates = false; // 1 is the width
  bool normalized_floats = false;      // integers are read as floats in [0, 1] or [-1, 1]
  bool srgb = false;
  std::array<float, 4> border{};
  bool blends_levels = false;
  float level_bias = 0, least_level = 0, most_level = 0;
};

struct Texture {
  Resource resource;
  Sampler sampler; // of textures only
};

// All texture and surface objects, by their handles.
using Textures = std::map<std::uint64_t, std::shared_ptr<const Texture>>;

// Where a fetch looks.
struct Coordinates {
  float x = 0, y = 0, z = 0;
  std::int32_t element = 0; // in linear memory
  std::uint32_t layer = 0;
  float level = 0; // of a mipmapped array
};

struct Texel {
  static constexpr std::uint64_t border = 0;
  std::uint64_t address = border;
  std::uint32_t weight = 0; // in 256ths
};

// The texels of a fetch. Those of weight 0 are left out. Of a gather: four, in the order of the results.
struct Footprint {
  static constexpr unsigned most = 16; // of two levels
  std::array<Texel, most> texels;
  unsigned count = 0;

  void add(std::uint64_t address, std::uint32_t weight) {
    if (weight != 0) texels[count++] = {address, weight};
  }
};

Footprint footprint(const Texture& texture, const Coordinates& at);
Footprint gathered(const Texture& texture, const Coordinates& at); // tld4

// What the fetch returns: floats, or 32-bit integers where these are read as they are. Reads the texels.
std::array<std::uint32_t, 4> filtered(const Texture& texture, const Footprint& from);
std::array<std::uint32_t, 4> gathered(const Texture& texture, const Footprint& from, unsigned channel);

// The level of detail that these derivatives of the coordinates give.
float level_of(const Texture& texture, const std::array<float, 3>& dx, const std::array<float, 3>& dy);

} // namespace warpfold::machine
