#include "textures.hpp"

#include "soft_half.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

namespace warpfold::machine {

namespace {

constexpr std::int64_t whole = 256; // a weight of 1
constexpr std::int64_t none = -1;   // the index of a texel in the border

// Coordinates along one axis are fixed-point numbers: normalized ones have 21 bits of fraction before they
// are multiplied by the size.
double position(float coordinate, std::uint32_t size, bool normalized) {
  constexpr double farthest = 1 << 30, unit = 1 << 21;
  if (std::isnan(coordinate) || std::fpclassify(coordinate) == FP_SUBNORMAL) return 0;
  const double at = normalized ? std::floor(coordinate * unit) / unit * size : coordinate;
  return std::clamp(at, -farthest, farthest);
}

std::int64_t addressed(std::int64_t index, std::int64_t size, AddressMode mode) {
  const auto modulo = [index](std::int64_t period) { return (index % period + period) % period; };
  switch (mode) {
  case AddressMode::wrap:
    return modulo(size);
  case AddressMode::mirror:
    return std::min(modulo(2 * size), 2 * size - 1 - modulo(2 * size));
  case AddressMode::border:
    return index >= 0 && index < size ? index : none;
  case AddressMode::clamp:
    break;
  }
  return std::clamp<std::int64_t>(index, 0, size - 1);
}

// The one or two texels along an axis, and the weight of the second.
struct Taps {
  std::array<std::int64_t, 2> index{};
  std::int64_t fraction = 0; // in 256ths
};

// Coordinates that are not normalized are never wrapped or mirrored ("Texture Addressing").
AddressMode mode_of(const Sampler& sampler, unsigned axis) {
  const AddressMode mode = sampler.address[axis];
  const bool periodic = mode == AddressMode::wrap || mode == AddressMode::mirror;
  return periodic && !sampler.normalized_coordinates ? AddressMode::clamp : mode;
}

Taps nearest(double at, std::int64_t size, AddressMode mode) {
  return {{addressed(static_cast<std::int64_t>(std::floor(at)), size, mode), none}, 0};
}

Taps linear(double at, std::int64_t size, AddressMode mode) {
  const auto fixed = static_cast<std::int64_t>(std::floor((at - 0.5) * whole + 0.5));
  const std::int64_t first = fixed >> 8;
  const bool is_clamped = mode == AddressMode::clamp && (first < 0 || first >= size - 1);
  return {{addressed(first, size, mode), addressed(first + 1, size, mode)},
          is_clamped ? 0 : fixed & (whole - 1)};
}

Taps taps(const Sampler& sampler, unsigned axis, float coordinate, std::uint32_t size, bool filters) {
  const double at = position(coordinate, size, sampler.normalized_coordinates);
  const AddressMode mode = mode_of(sampler, axis);
  return filters ? linear(at, size, mode) : nearest(at, size, mode);
}

std::uint64_t address_in(const Image& image, const TexelFormat& format, std::int64_t x, std::int64_t y,
                         std::int64_t z) {
  if (x == none || y == none || z == none) return Texel::border;
  return image.begin + static_cast<std::uint64_t>(z) * image.slice_bytes +
         static_cast<std::uint64_t>(y) * image.row_bytes + static_cast<std::uint64_t>(x) * format.bytes();
}

// Weights have 8 bits. The weight of a level is shared out among its slices, that of a slice among its
// columns, and that of a column among its texels.
void add_weighed(Footprint& to, std::int64_t weight, const Image& image, const TexelFormat& format,
                 const Taps& x, const Taps& y, const Taps& z) {
  constexpr std::int64_t half = whole / 2;
  const auto add = [&](unsigned i, unsigned j, unsigned k, std::int64_t share) {
    to.add(address_in(image, format, x.index[i], y.index[j], z.index[k]), static_cast<std::uint32_t>(share));
  };
  const std::int64_t back = (weight * z.fraction + half) / whole;
  const std::array<std::int64_t, 2> slices{weight - back, back};
  for (unsigned k = 0; k < 2; ++k) {
    const std::int64_t right = (x.fraction * slices[k] + half) / whole, left = slices[k] - right;
    const std::int64_t right_low = (right * y.fraction + half) / whole,
                       left_low = (left * y.fraction + half - 1) / whole;
    add(0, 0, k, left - left_low);
    add(1, 0, k, right - right_low);
    add(0, 1, k, left_low);
    add(1, 1, k, right_low);
  }
}

std::int64_t slice_of(const Image& image, std::uint32_t layer) {
  return std::min(layer, image.depth - 1);
}

// A row is a plane of height 1 in which y is 0. So where rows beyond that lie in the border, a filtered
// fetch from a row takes half of the border's colour. Not so in a layer.
Taps rows(const Texture& texture, const Image& image, float y) {
  if (texture.resource.shape == Shape::layered_rows) return {};
  const bool is_row = texture.resource.shape == Shape::row;
  return taps(texture.sampler, 1, is_row ? 0 : y, image.height, texture.sampler.linear);
}

// The face that a direction points to, and where ("Cubemap Textures").
struct FacePlace {
  int face = 0;
  float s = 0, t = 0;
};

FacePlace face_of(const Coordinates& at) {
  const float x = std::abs(at.x), y = std::abs(at.y), z = std::abs(at.z);
  FacePlace place;
  float major = 0, s = 0, t = 0;
  if (z >= x && z >= y)
    place.face = std::signbit(at.z) ? 5 : 4, major = z, s = place.face == 5 ? -at.x : at.x, t = -at.y;
  else if (y >= x)
    place.face = std::signbit(at.y) ? 3 : 2, major = y, s = at.x, t = place.face == 3 ? -at.z : at.z;
  else
    place.face = std::signbit(at.x) ? 1 : 0, major = x, s = place.face == 1 ? at.z : -at.z, t = -at.y;
  place.s = (s / major + 1) / 2;
  place.t = (t / major + 1) / 2;
  return place;
}

void add_level(Footprint& to, const Texture& texture, std::size_t level, std::int64_t weight,
               const Coordinates& at) {
  const Resource& resource = texture.resource;
  const Sampler& sampler = texture.sampler;
  const Image& image = resource.levels[level];
  const TexelFormat& format = resource.format;
  Taps z;
  switch (resource.shape) {
  case Shape::linear: {
    const bool inside = at.element >= 0 && static_cast<std::uint32_t>(at.element) < image.width;
    return to.add(inside ? address_in(image, format, at.element, 0, 0) : Texel::border, whole);
  }
  case Shape::cube:
  case Shape::layered_cubes: {
    const FacePlace place = face_of(at);
    const std::int64_t cubes = std::int64_t{image.depth} / 6;
    const std::int64_t cube = std::min<std::int64_t>(at.layer, cubes - 1);
    z.index = {cube * 6 + place.face, none};
    return add_weighed(to, weight, image, format, taps(sampler, 0, place.s, image.width, sampler.linear),
                       taps(sampler, 1, place.t, image.height, sampler.linear), z);
  }
  case Shape::volume:
    z = taps(sampler, 2, at.z, image.depth, sampler.linear);
    break;
  default:
    z.index = {slice_of(image, at.layer), none};
  }
  add_weighed(to, weight, image, format, taps(sampler, 0, at.x, image.width, sampler.linear),
              rows(texture, image, at.y), z);
}

// A texel's channels, as floats or as integers of 32 bits.
using Channels = std::array<std::uint32_t, 4>;

std::uint32_t raw_channel(const std::byte* from, unsigned bytes) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, from, bytes);
  return bits;
}

std::int32_t sign_extended(std::uint32_t bits, unsigned bytes) {
  const unsigned unused = 32 - 8 * bytes;
  return static_cast<std::int32_t>(bits << unused) >> unused;
}

float half_to_float(std::uint32_t bits) {
  return static_cast<float>(std::bit_cast<SoftHalf>(static_cast<std::uint16_t>(bits)));
}

std::uint32_t half_towards_zero(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & 0xffffe000; // what a half has room for
  return std::bit_cast<std::uint16_t>(SoftHalf(double{std::bit_cast<float>(bits)}));
}

bool reads_floats(const Texture& texture) {
  return texture.resource.format.kind == TexelFormat::Kind::floating || texture.sampler.normalized_floats;
}

// Rounded to 8 bits, with the few exceptions that an H100's table has.
float linear_from_srgb(std::uint32_t code) {
  constexpr std::uint8_t one_more[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 19, 20, 33, 66, 184, 186, 252, 253},
                         one_less[] = {12, 15, 32, 65, 68, 70, 97, 249, 250, 251};
  const double encoded = code / 255.0;
  const double exact = encoded <= 0.04045 ? encoded / 12.92 : std::pow((encoded + 0.055) / 1.055, 2.4);
  std::uint32_t upper = (std::bit_cast<std::uint32_t>(static_cast<float>(exact)) + 0x8000) >> 16;
  if (std::ranges::find(one_more, code) != std::end(one_more)) ++upper;
  if (std::ranges::find(one_less, code) != std::end(one_less)) --upper;
  return std::bit_cast<float>(upper << 16);
}

bool is_signed(const TexelFormat& format) {
  return format.kind == TexelFormat::Kind::signed_integer;
}

// What stands for 1 in integers that are read as floats.
float greatest(const TexelFormat& format) {
  return static_cast<float>((1u << (8 * format.channel_bytes - is_signed(format))) - 1);
}

float channel_as_float(const Texture& texture, std::uint32_t bits, unsigned channel) {
  const TexelFormat& format = texture.resource.format;
  if (format.kind == TexelFormat::Kind::floating)
    return format.channel_bytes == 2 ? half_to_float(bits) : std::bit_cast<float>(bits);
  if (is_signed(format))
    return std::max(-1.0f, static_cast<float>(sign_extended(bits, format.channel_bytes)) / greatest(format));
  if (texture.sampler.srgb && channel < 3) return linear_from_srgb(bits);
  return static_cast<float>(bits) / greatest(format);
}

// The border's colour is kept in the texels' own format: rounded where integers stand for floats, cut off
// where they do not, and in half precision.
std::uint32_t border_channel(const Texture& texture, float value) {
  const TexelFormat& format = texture.resource.format;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t mask = ~0u >> (32 - 8 * format.channel_bytes);
  if (format.kind == TexelFormat::Kind::floating)
    return format.channel_bytes == 2 ? half_towards_zero(value) : bits;
  if (!texture.sampler.normalized_floats) return bits & mask;
  const double scaled = double{std::clamp(value, is_signed(format) ? -1.0f : 0.0f, 1.0f)} * greatest(format);
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::floor(scaled + 0.5))) & mask;
}

std::uint32_t bits_of(const Texture& texture, const Texel& texel, unsigned channel) {
  const TexelFormat& format = texture.resource.format;
  if (channel >= format.channels) return 0;
  if (texel.address == Texel::border)
    return texture.resource.shape == Shape::linear ? 0
                                                   : border_channel(texture, texture.sampler.border[channel]);
  const auto* const at = reinterpret_cast<const std::byte*>(texel.address);
  return raw_channel(at + channel * format.channel_bytes, format.channel_bytes);
}

std::uint32_t channel_of(const Texture& texture, const Texel& texel, unsigned channel) {
  const TexelFormat& format = texture.resource.format;
  const std::uint32_t bits = bits_of(texture, texel, channel);
  if (channel >= format.channels) return 0;
  if (reads_floats(texture)) return std::bit_cast<std::uint32_t>(channel_as_float(texture, bits, channel));
  return is_signed(format) ? static_cast<std::uint32_t>(sign_extended(bits, format.channel_bytes)) : bits;
}

// To the nearest float; of two that are as near, to the one farther from 0.
float rounded_away(double value) {
  const float near = static_cast<float>(value);
  if (near == value || !std::isfinite(near)) return near;
  const float other = std::nextafter(near, near < value ? HUGE_VALF : -HUGE_VALF);
  const bool tie = std::abs(value - near) == std::abs(other - value);
  return tie && std::abs(other) > std::abs(near) ? other : near;
}

using Texels = std::span<const Texel>;

// The sum of floats is rounded once.
float sum_of_floats(const Texture& texture, Texels texels, unsigned channel) {
  double sum = 0;
  for (const Texel& each : texels)
    sum += double{std::bit_cast<float>(channel_of(texture, each, channel))} * each.weight;
  return rounded_away(sum / static_cast<double>(whole));
}

// Halves are cut off 15 bits below the greatest of them, and what sRGB stands for 8 bits. The sum is a half.
float sum_of_halves(const Texture& texture, Texels texels, unsigned channel) {
  constexpr int half_bits = 11, least_exponent = -13;
  const int kept = texture.sampler.srgb ? 8 : 15;
  int exponent = least_exponent;
  const auto value = [&](const Texel& each) {
    return double{std::bit_cast<float>(channel_of(texture, each, channel))};
  };
  for (const Texel& each : texels)
    if (value(each) != 0) exponent = std::max(exponent, std::ilogb(value(each)) + 1);
  double sum = 0;
  for (const Texel& each : texels) sum += std::trunc(std::ldexp(value(each), kept - exponent)) * each.weight;
  sum = std::ldexp(sum / static_cast<double>(whole), exponent - kept);
  if (sum == 0 || !std::isfinite(sum)) return static_cast<float>(sum);
  const int last_place = std::max(std::ilogb(sum) + 1, least_exponent) - half_bits;
  return static_cast<float>(std::ldexp(std::round(std::ldexp(sum, -last_place)), last_place));
}

// Integers that stand for floats are summed as integers of 16 bits.
float sum_of_integers(const Texture& texture, Texels texels, unsigned channel) {
  const TexelFormat& format = texture.resource.format;
  constexpr TexelFormat::Kind is_signed_kind = TexelFormat::Kind::signed_integer;
  const float one = greatest({.kind = format.kind, .channels = 1, .channel_bytes = 2});
  std::int64_t sum = 0;
  for (const Texel& each : texels) {
    const std::uint32_t bits = bits_of(texture, each, channel);
    sum += (format.kind == is_signed_kind ? sign_extended(bits, format.channel_bytes) : std::int64_t{bits}) *
           each.weight;
  }
  const double scaled = static_cast<double>(sum) * one / greatest(format) / static_cast<double>(whole);
  return std::max(-1.0f, static_cast<float>(std::floor(scaled + 0.5)) / one);
}

Channels sum(const Texture& texture, Texels texels) {
  const TexelFormat& format = texture.resource.format;
  const bool is_float = format.kind == TexelFormat::Kind::floating;
  Channels result{};
  for (unsigned channel = 0; channel < format.channels; ++channel) {
    if (texels.size() == 1) {
      result[channel] = channel_of(texture, texels[0], channel);
      continue;
    }
    const bool half = is_float ? format.channel_bytes == 2 : texture.sampler.srgb && channel < 3;
    result[channel] = std::bit_cast<std::uint32_t>(half       ? sum_of_halves(texture, texels, channel)
                                                   : is_float ? sum_of_floats(texture, texels, channel)
                                                              : sum_of_integers(texture, texels, channel));
  }
  return result;
}

} // namespace

const char* name_of(Shape shape) {
  switch (shape) {
  case Shape::linear:
    return "linear memory";
  case Shape::row:
    return "a 1D array";
  case Shape::plane:
    return "a 2D array";
  case Shape::volume:
    return "a 3D array";
  case Shape::layered_rows:
    return "a layered 1D array";
  case Shape::layered_planes:
    return "a layered 2D array";
  case Shape::cube:
    return "a cubemap";
  case Shape::layered_cubes:
    return "a layered cubemap";
  }
  return "";
}

Footprint footprint(const Texture& texture, const Coordinates& at) {
  Footprint result;
  const Sampler& sampler = texture.sampler;
  const std::size_t levels = texture.resource.levels.size();
  if (levels == 1) {
    add_level(result, texture, 0, whole, at);
    return result;
  }
  // Levels are fixed-point numbers, too.
  const auto fixed = [](float level) {
    return static_cast<std::int64_t>(std::clamp(level, -64.0f, 64.0f) * whole);
  };
  const std::int64_t last = static_cast<std::int64_t>(levels - 1) * whole,
                     most = std::min(fixed(sampler.most_level), last);
  std::int64_t level = fixed(at.level) + fixed(sampler.level_bias);
  level = std::clamp<std::int64_t>(std::max(level, fixed(sampler.least_level)), 0, most);
  if (!sampler.blends_levels) level = std::min((level + whole / 2) / whole * whole, last);
  const auto first = static_cast<std::size_t>(level / whole);
  const std::int64_t second_weight = level % whole;
  add_level(result, texture, first, whole - second_weight, at);
  if (second_weight != 0) add_level(result, texture, first + 1, second_weight, at);
  return result;
}

Footprint gathered(const Texture& texture, const Coordinates& at) {
  const Resource& resource = texture.resource;
  const Image& image = resource.levels[0];
  const Taps x = taps(texture.sampler, 0, at.x, image.width, true),
             y = taps(texture.sampler, 1, at.y, image.height, true);
  constexpr std::array<std::array<unsigned, 2>, 4> order{{{0, 1}, {1, 1}, {1, 0}, {0, 0}}};
  Footprint result;
  for (const auto& [i, j] : order)
    result.add(address_in(image, resource.format, x.index[i], y.index[j], slice_of(image, at.layer)), whole);
  return result;
}

std::array<std::uint32_t, 4> filtered(const Texture& texture, const Footprint& from) {
  return sum(texture, {from.texels.data(), from.count});
}

std::array<std::uint32_t, 4> gathered(const Texture& texture, const Footprint& from, unsigned channel) {
  Channels result;
  for (unsigned i = 0; i < 4; ++i) result[i] = channel_of(texture, from.texels[i], channel);
  return result;
}

float level_of(const Texture& texture, const std::array<float, 3>& dx, const std::array<float, 3>& dy) {
  const Image& image = texture.resource.levels[0];
  const auto length = [&](const std::array<float, 3>& d) {
    const float x = d[0] * static_cast<float>(image.width), y = d[1] * static_cast<float>(image.height),
                z = d[2] * static_cast<float>(image.depth);
    return std::sqrt(x * x + y * y + z * z);
  };
  return std::floor(std::log2(std::max(length(dx), length(dy))) * whole + 0.5f) / whole;
}

} // namespace warpfold::machine
