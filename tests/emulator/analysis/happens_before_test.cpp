// What orders two accesses: barriers, __syncwarp, releases and acquires.
#include "analysis/launches.hpp"

#include <gtest/gtest.h>

namespace warpfold::analysis {
namespace {

// Lane 3 of warp 0 of block 0, in a block of two warps.
class Order : public ::testing::Test {
protected:
  BlockOrder order, other; // of blocks 0 and 1
  ReleaseLogs logs;
  Launches launches;
  AccessRecord earlier{.block = 0, .warp = 0};
  static constexpr std::uint32_t lane_3 = 1u << 3;

  Order() {
    order.begin(2, {0, 0});
    other.begin(2, {1, 0});
    earlier.moment = order.clock;
  }
  bool ordered(unsigned warp, unsigned lane) const {
    return order.ordered(earlier, 3, warp, lane) || order.is_released(earlier, 3, warp, lane, launches);
  }
  bool ordered_in_other(unsigned warp = 0, unsigned lane = 0) const {
    return other.is_released(earlier, 3, warp, lane, launches);
  }
  void release(BlockOrder& by, std::uint64_t flag, bool store = false, std::uint32_t lanes = lane_3) {
    logs.at(flag).release(by.release(0, lanes, 9), store);
  }
  void acquire(BlockOrder& by, std::uint64_t flag, unsigned warp = 0, std::uint32_t lanes = 1) {
    const Acquired acquired = logs.at(flag).acquire(lanes, by.place);
    for (const CausalClock& each : acquired.from) by.warps[warp].acquire(each, lanes);
  }
};

TEST_F(Order, OneThreadIsInOrder) {
  EXPECT_TRUE(ordered(0, 3));
  EXPECT_FALSE(ordered(0, 4));
  EXPECT_FALSE(ordered(1, 3));
}

TEST_F(Order, BarrierOrdersWhatWasBefore) {
  order.barrier();
  EXPECT_TRUE(ordered(0, 4));
  EXPECT_TRUE(ordered(1, 0));
  earlier.moment = order.clock;
  EXPECT_FALSE(ordered(1, 0)) << "an access behind the barrier";
}

TEST_F(Order, SyncwarpOrdersItsLanesOnly) {
  order.warp_barrier(0, lane_3 | 1u << 4);
  EXPECT_TRUE(ordered(0, 4));
  EXPECT_FALSE(ordered(0, 5));
  EXPECT_FALSE(ordered(1, 4));
}

TEST_F(Order, ReleaseOrdersAnotherWarpThatAcquires) {
  order.fence(0, lane_3, Level::block);
  release(order, 8);
  EXPECT_FALSE(ordered(1, 0)) << "warp 1 has not read yet";
  acquire(order, 8, 1);
  EXPECT_TRUE(ordered(1, 0));
}

TEST_F(Order, ReleaseOrdersTheLanesOfAWarpThatAcquire) {
  order.fence(0, lane_3, Level::block);
  release(order, 8);
  acquire(order, 8, 0, 1u << 5);
  EXPECT_TRUE(ordered(0, 5));
  EXPECT_FALSE(ordered(0, 6));
}

TEST_F(Order, LanesThatFencedTogetherReleaseOneClock) { // or each joins as many entries as there are lanes
  order.fence(0, ~0u, Level::block);
  const Release one = order.release(0, lane_3, 9), other = order.release(0, 1u << 4, 9);
  EXPECT_FALSE(one.known[0].empty());
  EXPECT_TRUE(one.known[0].is_same(other.known[0]));
}

TEST_F(Order, FenceOfALaneCoversNoOtherLane) {
  order.fence(0, 1u << 7, Level::block);
  release(order, 8, false, 1u << 7);
  acquire(order, 8, 1);
  EXPECT_FALSE(ordered(1, 0)) << "no __syncwarp between lane 3 and lane 7";
}

TEST_F(Order, WithoutAFenceNothingIsReleased) {
  EXPECT_FALSE(order.has_fence(0, lane_3));
  order.fence(0, lane_3, Level::block);
  EXPECT_TRUE(order.has_fence(0, lane_3));
}

TEST_F(Order, FenceOfTheBlockOrdersNoOtherBlock) {
  order.fence(0, lane_3, Level::block);
  release(order, 8);
  acquire(other, 8);
  EXPECT_FALSE(ordered_in_other());
}

TEST_F(Order, FenceOfTheDeviceOrdersAnotherBlock) {
  order.fence(0, lane_3, Level::device);
  release(order, 8);
  acquire(other, 8);
  EXPECT_TRUE(ordered_in_other());
}

TEST_F(Order, TheAddressCounts) {
  order.fence(0, lane_3, Level::device);
  release(order, 8);
  acquire(other, 16);
  EXPECT_FALSE(ordered_in_other());
}

TEST_F(Order, AcquiredTooSoonIsNotAcquired) {
  order.fence(0, lane_3, Level::device);
  acquire(other, 8);
  release(order, 8);
  EXPECT_FALSE(ordered_in_other());
}

TEST_F(Order, AccessBehindTheFenceWaitsForTheNext) {
  order.fence(0, lane_3, Level::device);
  earlier.moment = order.clock;
  release(order, 8);
  acquire(other, 8);
  EXPECT_FALSE(ordered_in_other());
  earlier.operation = 9;
  EXPECT_TRUE(ordered_in_other()) << "but for the one that releases";
}

TEST_F(Order, FencesOfAllWarpsCountBehindABarrier) {
  order.fence(0, lane_3, Level::device);
  order.barrier();
  release(order, 8, false, 1);
  acquire(other, 8);
  EXPECT_TRUE(ordered_in_other());
}

TEST_F(Order, UpdateCarriesTheReleaseOn) {
  order.fence(0, lane_3, Level::device);
  release(order, 8);
  BlockOrder third;
  third.begin(1, {2, 0});
  third.fence(0, lane_3, Level::device);
  release(third, 8);
  acquire(other, 8);
  EXPECT_TRUE(ordered_in_other());
}

TEST_F(Order, StoreBetweenCutsIt) {
  order.fence(0, lane_3, Level::device);
  release(order, 8);
  logs.at(8).cut({other.place.block, 0, 1});
  acquire(other, 8);
  EXPECT_FALSE(ordered_in_other());
}

TEST_F(Order, StoreByOneWhoHasAcquiredHandsItOn) {
  order.fence(0, lane_3, Level::device);
  release(order, 8);
  BlockOrder third;
  third.begin(1, {2, 0});
  acquire(third, 8);
  third.fence(0, lane_3, Level::device);
  release(third, 8, true);
  acquire(other, 8);
  EXPECT_TRUE(ordered_in_other());
}

TEST_F(Order, HandedOnAtAnotherAddress) {
  order.fence(0, lane_3, Level::device);
  release(order, 8);
  BlockOrder third;
  third.begin(1, {2, 0});
  acquire(third, 8);
  third.fence(0, lane_3, Level::device);
  release(third, 16);
  acquire(other, 16);
  EXPECT_TRUE(ordered_in_other());
}

TEST_F(Order, LockAcquiresAtTheNextFence) {
  order.fence(0, lane_3, Level::device);
  release(order, 8);
  Acquired acquired = logs.at(8).acquire(1, other.place);
  acquired.by = Acquired::By::lock;
  other.warps[0].take(acquired);
  EXPECT_FALSE(ordered_in_other());
  ASSERT_TRUE(other.not_acquired(earlier, 3, 0));
  EXPECT_EQ(other.not_acquired(earlier, 3, 0)->by, Acquired::By::lock);
  other.fence(0, 1, Level::block);
  EXPECT_FALSE(ordered_in_other()) << "a fence for its own block only";
  other.fence(0, 1, Level::device);
  EXPECT_TRUE(ordered_in_other());
}

TEST_F(Order, WhatABlocksOwnThreadReleasedIsHandedOnFurther) {
  order.fence(0, lane_3, Level::block);
  release(order, 8);
  acquire(order, 8, 1);
  order.fence(1, 1, Level::device);
  logs.at(16).release(order.release(1, 1, 9), false);
  acquire(other, 16);
  EXPECT_TRUE(ordered_in_other());
}

TEST_F(Order, LongChainsAreFollowed) {
  order.fence(0, lane_3, Level::device);
  release(order, 0);
  constexpr std::uint32_t links = 2000;
  for (std::uint32_t i = 0; i < links; ++i) {
    BlockOrder third;
    third.begin(1, {i + 2, 0});
    acquire(third, 8 * i);
    third.fence(0, lane_3, Level::device);
    release(third, 8 * (i + 1));
  }
  AccessRecord of_last = earlier;
  of_last.block = links + 1, of_last.moment = 1000;
  acquire(other, 8 * links);
  EXPECT_TRUE(ordered_in_other());
  EXPECT_FALSE(other.is_released(of_last, 3, 0, 0, launches)) << "what came after the chain";
}

TEST_F(Order, ManyReleasesTakeLittleAndHideNothing) {
  for (int round = 0; round < 1000; ++round) {
    order.fence(0, lane_3, Level::device);
    release(order, 8);
  }
  acquire(other, 8);
  EXPECT_TRUE(ordered_in_other());
  earlier.moment = order.clock;
  EXPECT_FALSE(ordered_in_other());
}

} // namespace
} // namespace warpfold::analysis
