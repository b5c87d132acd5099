// What the weights and the roundings of filtered fetches are, by the bits of an H100. Whole textures, of
// every kind, are in tests/emulator/programs/textures.cu.
#include "machine/textures.hpp"

#include <bit>
#include <gtest/gtest.h>

using namespace warpfold::machine;

namespace {

using Kind = TexelFormat::Kind;

template <typename Texel>
Texture texture(const std::vector<Texel>& texels, const TexelFormat& format, std::uint32_t width,
                std::uint32_t height = 1, std::uint32_t depth = 1) {
  Texture made;
  const std::uint64_t row = std::uint64_t{width} * format.bytes();
  made.resource = {.shape = depth > 1    ? Shape::volume
                            : height > 1 ? Shape::plane
                                         : Shape::row,
                   .format = format,
                   .levels = {{.begin = reinterpret_cast<std::uint64_t>(texels.data()),
                               .width = width,
                               .height = height,
                               .depth = depth,
                               .row_bytes = row,
                               .slice_bytes = row * height}},
                   .label = ""};
  made.sampler.linear = true;
  made.sampler.address.fill(AddressMode::clamp);
  return made;
}

constexpr TexelFormat floats{.kind = Kind::floating, .channels = 1, .channel_bytes = 4};

float place(int texel, int fraction) {
  return static_cast<float>(texel) + 0.5f + static_cast<float>(fraction) / 256;
}

std::vector<std::uint32_t> weights(const Footprint& of) {
  std::vector<std::uint32_t> all;
  for (unsigned i = 0; i < of.count; ++i) all.push_back(of.texels[i].weight);
  return all;
}

float fetched(const Texture& from, const Coordinates& at) {
  return std::bit_cast<float>(filtered(from, footprint(from, at))[0]);
}

using Weights = std::vector<std::uint32_t>;

TEST(Textures, FractionsAreRoundedHalfUp) {
  const std::vector<float> texels(8);
  const Texture row = texture(texels, floats, 8);
  EXPECT_EQ(weights(footprint(row, {.x = 2.5f + 0.49f / 256})), (Weights{256}));
  EXPECT_EQ(weights(footprint(row, {.x = 2.5f + 0.5f / 256})), (Weights{255, 1}));
  EXPECT_EQ(weights(footprint(row, {.x = 0.2f})), (Weights{256}));
}

TEST(Textures, NormalizedCoordinatesHave21Bits) {
  const std::vector<float> texels(13);
  Texture row = texture(texels, floats, 13);
  row.sampler.normalized_coordinates = true;
  EXPECT_EQ(weights(footprint(row, {.x = 0.3381917f})), (Weights{26, 230}));
  EXPECT_EQ(weights(footprint(row, {.x = 0.6215445f})), (Weights{108, 148}));
}

TEST(Textures, WeightsAreSharedOutByColumns) {
  const std::vector<float> texels(8 * 8 * 8);
  const Texture plane = texture(texels, floats, 8, 8);
  EXPECT_EQ(weights(footprint(plane, {.x = place(2, 154), .y = place(2, 64)})), (Weights{77, 115, 25, 39}));
  EXPECT_EQ(weights(footprint(plane, {.x = place(2, 41), .y = place(2, 18)})), (Weights{200, 38, 15, 3}));
  const Texture volume = texture(texels, floats, 8, 8, 8);
  EXPECT_EQ(weights(footprint(volume, {.x = place(2, 237), .y = place(2, 152), .z = place(2, 209)})),
            (Weights{1, 18, 2, 26, 7, 78, 9, 115}));
  EXPECT_EQ(weights(footprint(volume, {.x = place(2, 184), .y = place(2, 168), .z = place(2, 176)})),
            (Weights{8, 20, 14, 38, 17, 44, 32, 83}));
}

TEST(Textures, SumsOfFloatsAreRoundedOnceAndTiesAwayFromZero) {
  const float next = 1 + 0x1p-23f;
  const std::vector<float> texels{1, next, -next, -1};
  const Texture row = texture(texels, floats, 4);
  EXPECT_EQ(fetched(row, {.x = 1}), next);
  EXPECT_EQ(fetched(row, {.x = 3}), -next);
}

TEST(Textures, IntegersAreSummedIn16Bits) {
  const std::vector<std::uint8_t> texels{79, 239, 222, 3};
  Texture plane = texture(texels, {.kind = Kind::unsigned_integer, .channels = 1, .channel_bytes = 1}, 2, 2);
  plane.sampler.normalized_floats = true;
  EXPECT_EQ(fetched(plane, {.x = 1, .y = 1}), 34888.0f / 65535);
  const std::vector<std::int16_t> shorts{-24028, 4055, 4180, -21521};
  Texture of_shorts =
      texture(shorts, {.kind = Kind::signed_integer, .channels = 1, .channel_bytes = 2}, 2, 2);
  of_shorts.sampler.normalized_floats = true;
  EXPECT_EQ(fetched(of_shorts, {.x = 1, .y = 1}), -9328.0f / 32767);
}

TEST(Textures, HalvesAreCutOffBelowTheGreatest) {
  const std::vector<std::uint16_t> texels{0x3c00, 0xbc00, 0x0200, 0}; // 1, -1, 2^-15, 0
  const Texture plane = texture(texels, {.kind = Kind::floating, .channels = 1, .channel_bytes = 2}, 2, 2);
  EXPECT_EQ(fetched(plane, {.x = 1, .y = 1}), 0);
  EXPECT_EQ(fetched(plane, {.x = 0.5f, .y = 1.5f}), 0x1p-15f);
}

TEST(Textures, SrgbBytesStandForFloatsOf8Bits) {
  const std::vector<std::uint8_t> texels{5, 184, 251, 42};
  Texture row = texture(texels, {.kind = Kind::unsigned_integer, .channels = 1, .channel_bytes = 1}, 4);
  row.sampler.linear = false;
  row.sampler.normalized_floats = row.sampler.srgb = true;
  const std::uint32_t expected[] = {0x3ac80000, 0x3ef60000, 0x3f760000, 0x3cbe0000};
  for (unsigned i = 0; i < 4; ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(fetched(row, {.x = static_cast<float>(i) + 0.5f})), expected[i])
        << i;
}

TEST(Textures, TheBorderHasTheTexelsFormat) {
  const std::vector<std::uint8_t> texels{1, 2, 3, 4};
  Texture plane = texture(texels, {.kind = Kind::unsigned_integer, .channels = 1, .channel_bytes = 1}, 2, 2);
  plane.sampler.address.fill(AddressMode::border);
  plane.sampler.linear = false;
  plane.sampler.border = {0.7f, 1, 1, 1};
  EXPECT_EQ(filtered(plane, footprint(plane, {.x = -1}))[0], 0x33u); // the last byte of the float
  plane.sampler.normalized_floats = true;
  EXPECT_EQ(fetched(plane, {.x = -1}), 178.0f / 255);
}

TEST(Textures, AFilteredRowTakesHalfOfTheBorder) {
  const std::vector<float> texels{4, 8};
  Texture row = texture(texels, floats, 2);
  row.sampler.address = {AddressMode::clamp, AddressMode::border, AddressMode::clamp};
  row.sampler.border = {2, 0, 0, 0};
  EXPECT_EQ(fetched(row, {.x = 1}), 4);
  row.resource.shape = Shape::layered_rows;
  EXPECT_EQ(fetched(row, {.x = 1}), 6);
}

TEST(Textures, LevelsAreCutOffTo8Bits) {
  const std::vector<float> texels{1, 1, 2};
  Texture row = texture(texels, floats, 2);
  Image second = row.resource.levels[0];
  second.begin += 2 * sizeof(float), second.width = 1;
  row.resource.levels.push_back(second);
  row.sampler.normalized_coordinates = row.sampler.blends_levels = true;
  row.sampler.most_level = 1, row.sampler.level_bias = 0.125f;
  EXPECT_EQ(fetched(row, {.x = 0.5f, .level = 0.5f}), 1.625f);
  EXPECT_EQ(fetched(row, {.x = 0.5f, .level = -0.02007413f}), 1 + 27.0f / 256);
  EXPECT_EQ(fetched(row, {.x = 0.5f, .level = 3}), 2);
}

} // namespace
