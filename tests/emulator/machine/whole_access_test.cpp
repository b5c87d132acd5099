// Sixteen bytes are accessed as a whole: no thread sees half of another's store.
#include "machine/whole_access.hpp"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

using namespace warpfold::machine;

namespace {

// For a while, each of two writers puts pairs of equal numbers into the same place; a reader must always find
// a pair.
template <typename Load, typename Store>
void expect_pairs(Load load, Store store) {
  alignas(16) std::array<std::byte, 16> place{};
  std::atomic<bool> stop = false;
  auto write = [&](std::uint64_t number) {
    for (; !stop; number += 2) store(place.data(), detail::Bits128{number, number});
  };
  std::thread odd(write, 1), even(write, 2);
  std::uint64_t torn = 0, changes = 0, last = 0;
  for (int i = 0; i < 500'000 || (changes < 10 && i < 50'000'000); ++i) {
    const detail::Bits128 seen = load(place.data());
    torn += seen.low != seen.high;
    changes += seen.low != last;
    last = seen.low;
  }
  stop = true;
  odd.join();
  even.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_GE(changes, 10u) << "the writers were not seen at all";
}

TEST(WholeAccess, SixteenBytesAreNeverTorn) {
  expect_pairs(detail::load_bits128, detail::store_bits128);
}

#if defined(__aarch64__)
TEST(WholeAccess, ExchangingIsNeverTorn) {
  expect_pairs(detail::load_exchanging, detail::store_exchanging);
}
TEST(WholeAccess, PairsAreNeverTorn) {
  if (!detail::moves_pairs_whole) GTEST_SKIP() << "no FEAT_LSE2: this processor may tear a pair";
  expect_pairs(detail::load_pair, detail::store_pair);
}
TEST(WholeAccess, PairsHoldTheirOrder) {
  alignas(16) std::array<std::byte, 16> place{};
  detail::store_pair(place.data(), {1, 2});
  const detail::Bits128 seen = detail::load_exchanging(place.data());
  EXPECT_EQ(seen.low, 1u);
  EXPECT_EQ(seen.high, 2u);
  detail::store_exchanging(place.data(), {3, 4});
  EXPECT_EQ(detail::load_pair(place.data()).low, 3u);
  EXPECT_EQ(detail::load_pair(place.data()).high, 4u);
}
#endif

TEST(WholeAccess, CopiesEveryWidth) {
  for (std::size_t bytes : {1, 2, 4, 8, 16, 32}) {
    for (std::size_t shift : {0, 1, 8}) { // aligned, not aligned at all, aligned to 8 bytes
      alignas(32) std::array<std::byte, 64> from{}, memory{}, back{};
      for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i + 1);
      store_whole(memory.data() + shift, from.data(), bytes);
      load_whole(back.data(), memory.data() + shift, bytes);
      EXPECT_EQ(back, from) << bytes << " bytes at " << shift;
      EXPECT_EQ(memory[shift + bytes], std::byte{0});
    }
  }
}

} // namespace
