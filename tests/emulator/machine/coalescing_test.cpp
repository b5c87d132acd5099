// Sectors and wavefronts of one request.
#include "machine/coalescing.hpp"

#include <gtest/gtest.h>

#include <array>

namespace warpfold::machine {
namespace {

using Addresses = std::array<std::uint64_t, warp_lanes>;

// Lane i is at first + i * stride.
Addresses strided(std::uint64_t first, std::uint64_t stride) {
  Addresses addresses;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) addresses[lane] = first + lane * stride;
  return addresses;
}

TEST(Sectors, NeighboursShareThem) {
  EXPECT_EQ(sectors(strided(0, 4).data(), all_lanes, 4), 4u);
  EXPECT_EQ(sectors(strided(4, 4).data(), all_lanes, 4), 5u) << "one element past a sector's begin";
  EXPECT_EQ(sectors(strided(0, 16).data(), all_lanes, 16), 16u);
  EXPECT_EQ(sectors(strided(0, 1).data(), all_lanes, 1), 1u);
}

TEST(Sectors, FarLanesHaveTheirOwn) {
  EXPECT_EQ(sectors(strided(0, 32).data(), all_lanes, 4), 32u);
  EXPECT_EQ(sectors(strided(0, 4096).data(), all_lanes, 4), 32u);
  EXPECT_EQ(sectors(strided(64, 0).data(), all_lanes, 4), 1u) << "all lanes at one place";
}

TEST(Sectors, OnlyActiveLanesCount) {
  EXPECT_EQ(sectors(strided(0, 32).data(), 0x0000ffff, 4), 16u);
  EXPECT_EQ(sectors(strided(0, 32).data(), 0, 4), 0u);
}

TEST(Sectors, ContiguousIsTheSameFaster) {
  for (std::uint64_t first : {0, 4, 28, 32, 100})
    for (unsigned width : {1, 2, 4, 8, 16})
      EXPECT_EQ(contiguous_sectors(first, warp_lanes * width),
                sectors(strided(first, width).data(), all_lanes, width))
          << first << ", " << width;
}

unsigned conflicts(const Wavefronts& found) {
  return found.count - found.ideal;
}

TEST(Wavefronts, EachBankServesOneWordAPass) {
  EXPECT_EQ(wavefronts(strided(0, 4).data(), all_lanes, 4).count, 1u);
  EXPECT_EQ(wavefronts(strided(0, 8).data(), all_lanes, 4).count, 2u);
  EXPECT_EQ(wavefronts(strided(0, 128).data(), all_lanes, 4).count, 32u);
  EXPECT_EQ(wavefronts(strided(0, 132).data(), all_lanes, 4).count, 1u)
      << "a row of 33 words: no two lanes in a bank";
}

TEST(Wavefronts, LanesThatWantOneWordShareIt) {
  EXPECT_EQ(wavefronts(strided(64, 0).data(), all_lanes, 4).count, 1u);
}

TEST(Wavefronts, WideAccessesAreServedInParts) {
  const Wavefronts of_8 = wavefronts(strided(0, 8).data(), all_lanes, 8),
                   of_16 = wavefronts(strided(0, 16).data(), all_lanes, 16);
  EXPECT_EQ(of_8.count, 2u);
  EXPECT_EQ(of_16.count, 4u);
  EXPECT_EQ(conflicts(of_8), 0u);
  EXPECT_EQ(conflicts(of_16), 0u);
}

TEST(Wavefronts, OnlyActiveLanesCount) {
  EXPECT_EQ(wavefronts(strided(0, 128).data(), 0b101, 4).count, 2u);
  EXPECT_EQ(wavefronts(strided(0, 128).data(), 0, 4).count, 0u);
}

} // namespace
} // namespace warpfold::machine
