// Which bytes count as written.
#include "analysis/initialisation.hpp"

#include <gtest/gtest.h>

namespace warpfold::analysis {
namespace {

TEST(LazyBits, ReachAcrossWords) {
  LazyBits bits(256);
  bits.set(60, 70);
  EXPECT_TRUE(bits.all(60, 70));
  EXPECT_FALSE(bits.all(59, 2));
  EXPECT_FALSE(bits.all(129, 2));
  bits.clear(64, 64);
  EXPECT_TRUE(bits.all(60, 4));
  EXPECT_FALSE(bits[64]);
  EXPECT_FALSE(bits[127]);
  EXPECT_TRUE(bits[128]);
}

TEST(LazyBits, ALargeRangeIsClearedToTheBitAtBothEnds) {
  constexpr std::uint64_t page = 65536 * 8, first = page - 77, count = 6 * page + 200;
  LazyBits bits(8 * page);
  for (const std::uint64_t at : {first - 1, first, first + 78, 3 * page, first + count - 1, first + count})
    bits.set(at, 1);
  bits.clear(first, count);
  EXPECT_TRUE(bits[first - 1]);
  EXPECT_TRUE(bits[first + count]);
  for (const std::uint64_t at : {first, first + 78, 3 * page, first + count - 1})
    EXPECT_FALSE(bits[at]) << at;
}

class Written : public ::testing::Test {
protected:
  machine::AddressSpace memory{1 << 20};
  WrittenMemory written{memory};
  std::uint64_t begin =
      reinterpret_cast<std::uint64_t>(memory.allocate(1024, machine::MemoryKind::device, "data"));
};

TEST_F(Written, MemoryThatCudaMallocDidNotGiveCountsAsWritten) {
  EXPECT_TRUE(written.is_written(begin, 1024));
}

TEST_F(Written, FreshMemoryIsNot) {
  written.allocated(begin, 1024);
  EXPECT_FALSE(written.is_written(begin, 1));
  EXPECT_FALSE(written.is_written(begin + 1023, 1));
}

TEST_F(Written, PartsOfRowsAreKnownByTheByte) {
  written.allocated(begin, 1024);
  written.written(begin + 100, 60); // the end of one row of 128 bytes and the beginning of the next
  EXPECT_TRUE(written.is_written(begin + 100, 60));
  EXPECT_FALSE(written.is_written(begin + 99, 2));
  EXPECT_FALSE(written.is_written(begin + 159, 2));
}

TEST_F(Written, WholeRowsBetweenParts) {
  written.allocated(begin, 1024);
  written.written(begin + 4, 512);
  EXPECT_TRUE(written.is_written(begin + 4, 512));
  EXPECT_FALSE(written.is_written(begin, 4));
  EXPECT_FALSE(written.is_written(begin + 516, 4));
}

TEST_F(Written, AllocatedAnewIsFreshAgain) {
  written.allocated(begin, 1024);
  written.written(begin, 1024);
  EXPECT_TRUE(written.is_written(begin, 1024));
  written.allocated(begin, 1024);
  EXPECT_FALSE(written.is_written(begin + 512, 4));
}

TEST_F(Written, CountsWhatNothingHasWritten) {
  written.allocated(begin, 1024);
  EXPECT_EQ(written.unwritten(begin, 1024), 1024u);
  written.written(begin + 100, 60); // the end of one row and the beginning of the next
  EXPECT_EQ(written.unwritten(begin, 1024), 964u);
  EXPECT_EQ(written.unwritten(begin + 90, 20), 10u);
  written.written(begin, 1024);
  EXPECT_EQ(written.unwritten(begin, 1024), 0u);
}

TEST_F(Written, WordsSayWhichElements) {
  written.allocated(begin, 1024);
  EXPECT_EQ(written.in_words(begin, 256, 4), "nothing in it has been");
  written.written(begin + 8, 4);
  EXPECT_EQ(written.in_words(begin, 256, 4), "of the 256 elements there, only element 2 has been");
  written.written(begin + 12, 400);
  EXPECT_EQ(written.in_words(begin, 256, 4), "of the 256 elements there, only elements 2 to 102 have been");
  written.written(begin, 4);
  EXPECT_EQ(written.in_words(begin, 256, 4), "of the 256 elements there, only 102 have been");
}

} // namespace
} // namespace warpfold::analysis
