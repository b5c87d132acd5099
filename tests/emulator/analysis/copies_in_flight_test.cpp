#include "analysis/copies_in_flight.hpp"

#include <gtest/gtest.h>

namespace warpfold::analysis {
namespace {

class Copies : public ::testing::Test {
protected:
  CopiesInFlight copies;
  Copies() { copies.begin_block(64, 100); }
};

TEST_F(Copies, AreUnderWayUntilTheirThreadWaits) {
  copies.copy(3, 40, 16, 7);
  EXPECT_TRUE(copies.any());
  ASSERT_NE(copies.to(10), nullptr);
  EXPECT_EQ(copies.to(10)->thread, 3u);
  EXPECT_EQ(copies.to(10)->operation, 7u);
  EXPECT_NE(copies.to(13), nullptr);
  EXPECT_EQ(copies.to(9), nullptr);
  EXPECT_EQ(copies.to(14), nullptr);
  copies.commit(3);
  copies.wait_for_all(4); // another thread's wait
  EXPECT_NE(copies.to(10), nullptr);
  copies.wait(3, 0);
  EXPECT_EQ(copies.to(10), nullptr);
  EXPECT_FALSE(copies.any());
}

TEST_F(Copies, AWaitLeavesTheLastGroups) {
  for (unsigned word = 0; word < 3; ++word) {
    copies.copy(0, word * 4, 4, 7);
    copies.commit(0);
  }
  copies.wait(0, 2);
  EXPECT_EQ(copies.to(0), nullptr);
  EXPECT_NE(copies.to(1), nullptr);
  EXPECT_NE(copies.to(2), nullptr);
  copies.wait(0, 1);
  EXPECT_EQ(copies.to(1), nullptr);
  EXPECT_NE(copies.to(2), nullptr);
  copies.wait(0, 1);
  EXPECT_NE(copies.to(2), nullptr);
  EXPECT_TRUE(copies.any());
  copies.wait(0, 0);
  EXPECT_FALSE(copies.any());
}

TEST_F(Copies, WhatIsInNoGroupIsNotWaitedForByGroup) {
  copies.copy(0, 0, 4, 7);
  copies.wait(0, 0);
  EXPECT_NE(copies.to(0), nullptr);
  copies.wait_for_all(0);
  EXPECT_EQ(copies.to(0), nullptr);
}

TEST_F(Copies, EmptyGroupsCount) {
  copies.copy(0, 0, 4, 7);
  copies.commit(0);
  copies.commit(0);
  copies.wait(0, 1);
  EXPECT_EQ(copies.to(0), nullptr);
}

TEST_F(Copies, ThreadsAreCountedOnce) {
  copies.copy(0, 0, 4, 7);
  copies.copy(0, 8, 4, 7);
  copies.copy(1, 16, 4, 7);
  copies.wait_for_all(0);
  EXPECT_TRUE(copies.any());
  copies.wait_for_all(1);
  EXPECT_FALSE(copies.any());
}

TEST_F(Copies, ABlockBeginsWithNone) {
  copies.copy(0, 0, 4, 7);
  copies.begin_block(64, 100);
  EXPECT_FALSE(copies.any());
  EXPECT_EQ(copies.to(0), nullptr);
}

} // namespace
} // namespace warpfold::analysis
