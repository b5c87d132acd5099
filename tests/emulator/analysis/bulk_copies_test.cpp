#include "analysis/bulk_copies.hpp"

#include <gtest/gtest.h>

namespace warpfold::analysis {
namespace {

class Bulk : public ::testing::Test {
protected:
  static constexpr std::uint64_t full = 512; // an mbarrier
  BulkCopies copies;
  Bulk() { copies.begin_block(64, 100); }
};

TEST_F(Bulk, FillPlacesUntilTheirPhaseIsSeen) {
  copies.writes(3, 40, 16, 7, full, 0, 5);
  ASSERT_NE(copies.writer_to(10, 9, 6), nullptr);
  EXPECT_EQ(copies.writer_to(10, 9, 6)->thread, 3u);
  EXPECT_EQ(copies.writer_to(10, 9, 6)->operation, 7u);
  EXPECT_EQ(copies.writer_to(9, 9, 6), nullptr);
  EXPECT_EQ(copies.writer_to(14, 9, 6), nullptr);
  copies.phases_seen(9, full, 0);     // of the phase before
  copies.phases_seen(9, full + 8, 1); // of another mbarrier
  EXPECT_NE(copies.writer_to(10, 9, 6), nullptr);
  copies.phases_seen(9, full, 1);
  EXPECT_EQ(copies.writer_to(10, 9, 6), nullptr);
  EXPECT_EQ(copies.writer_to(10, 20, 6), nullptr); // a race, if nothing orders the two
}

TEST_F(Bulk, AreWaitedForByTheirOwnThreadToo) {
  copies.writes(3, 40, 16, 7, full, 2, 5);
  copies.phases_seen(9, full, 3);
  EXPECT_NE(copies.writer_to(10, 3, 5), nullptr);
  EXPECT_EQ(copies.writer_to(10, 3, 6), nullptr); // it has synchronised since
  copies.phases_seen(3, full, 3);
  EXPECT_EQ(copies.writer_to(10, 3, 5), nullptr);
}

TEST_F(Bulk, ReadPlacesUntilTheirGroupIsWaitedFor) {
  copies.reads(3, 0, 16, 7);
  copies.commit(3);
  copies.reads(3, 16, 16, 8);
  copies.wait(3, 0); // not of the second, which is in no group yet
  EXPECT_EQ(copies.reader_of(0), nullptr);
  ASSERT_NE(copies.reader_of(4), nullptr);
  EXPECT_EQ(copies.reader_of(4)->operation, 8u);
  copies.commit(3);
  copies.wait(3, 1);
  copies.wait(4, 0); // another thread's wait
  EXPECT_NE(copies.reader_of(4), nullptr);
  copies.wait(3, 0);
  EXPECT_EQ(copies.reader_of(4), nullptr);
}

TEST_F(Bulk, NeedAFenceAfterOrdinaryWrites) {
  copies.fence(3, 1);
  copies.written(3, 0, 8, 11, 1);
  EXPECT_FALSE(copies.is_fenced(0, 3)); // it came before
  EXPECT_EQ(copies.writer_of(1).operation, 11u);
  EXPECT_TRUE(copies.is_fenced(2, 3)); // never written
  copies.fence(9, 1);                  // by a thread that has not synchronised with the writer
  EXPECT_FALSE(copies.is_fenced(0, 9));
  copies.fence(9, 2);
  EXPECT_TRUE(copies.is_fenced(0, 9));
  EXPECT_FALSE(copies.is_fenced(0, 20));
  copies.fence(3, 1);
  EXPECT_TRUE(copies.is_fenced(0, 20));
  copies.written(3, 0, 8, 11, 3);
  copies.writes(3, 0, 8, 7, full, 0, 5); // a bulk copy needs none
  EXPECT_TRUE(copies.is_fenced(0, 20));
}

TEST_F(Bulk, OfAnEarlierBlockAreForgotten) {
  copies.reads(3, 0, 16, 7);
  copies.writes(3, 40, 16, 7, full, 0, 5);
  copies.begin_block(64, 100);
  EXPECT_EQ(copies.reader_of(0), nullptr);
  EXPECT_EQ(copies.writer_to(10, 9, 6), nullptr);
}

} // namespace
} // namespace warpfold::analysis
