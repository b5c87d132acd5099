// Halves computed with integer arithmetic match the host's own type bit by bit.
#include "machine/instructions/half.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace warpfold::machine;

namespace {

std::uint16_t bits_of(auto half) {
  std::uint16_t bits;
  static_assert(sizeof half == sizeof bits);
  std::memcpy(&bits, &half, sizeof bits);
  return bits;
}

TEST(SoftHalf, WidensEveryValueAsTheHostDoes) {
  if (std::is_same_v<HostHalf, SoftHalf>) GTEST_SKIP() << "this compiler has no 16-bit floating-point type";
  for (unsigned raw = 0; raw < 0x10000; ++raw) {
    const auto bits = static_cast<std::uint16_t>(raw);
    const auto soft = static_cast<float>(std::bit_cast<SoftHalf>(bits));
    const auto host = static_cast<float>(std::bit_cast<HostHalf>(bits));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(soft), std::bit_cast<std::uint32_t>(host)) << std::hex << raw;
  }
}

TEST(SoftHalf, RoundsAsTheHostDoes) {
  if (std::is_same_v<HostHalf, SoftHalf>) GTEST_SKIP() << "this compiler has no 16-bit floating-point type";
  std::mt19937_64 random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    std::uint64_t raw = random();
    if (i & 1) raw = (raw & 0x800fffffffffffff) | (993 + random() % 50) << 52; // roughly the range of halves
    if (i & 2) raw &= ~((1ull << 40) - 1);                                     // makes many ties
    const auto x = std::bit_cast<double>(raw);
    ASSERT_EQ(bits_of(static_cast<SoftHalf>(x)), bits_of(static_cast<HostHalf>(x))) << std::hexfloat << x;
  }
}

TEST(SoftHalf, KnownValues) {
  EXPECT_EQ(bits_of(SoftHalf(1.0)), 0x3c00);
  EXPECT_EQ(bits_of(SoftHalf(-2.0)), 0xc000);
  EXPECT_EQ(bits_of(SoftHalf(65504.0)), 0x7bff);   // the largest
  EXPECT_EQ(bits_of(SoftHalf(65519.999)), 0x7bff); // rounds down to it
  EXPECT_EQ(bits_of(SoftHalf(65520.0)), 0x7c00);   // a tie, and its even neighbour is infinity
  EXPECT_EQ(bits_of(SoftHalf(0x1p-24)), 0x0001);   // the smallest
  EXPECT_EQ(bits_of(SoftHalf(0x1p-25)), 0x0000);   // half of it: a tie
  EXPECT_EQ(bits_of(SoftHalf(0x1.000001p-25)), 0x0001);
  EXPECT_EQ(bits_of(SoftHalf(0x1.ff8p-15)), 0x03ff); // the largest subnormal
  EXPECT_EQ(bits_of(SoftHalf(0x1.ffcp-15)), 0x0400); // a tie that carries into the exponent
}

} // namespace
