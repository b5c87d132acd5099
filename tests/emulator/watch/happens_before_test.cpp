// What orders two accesses: barriers, __syncwarp, and a fence with what publishes behind it.
#include "watch/happens_before.hpp"

#include <gtest/gtest.h>

namespace warpfold::watch {
namespace {

// Lane 3 of warp 0 at moment 5, in a block of two warps that began at moment 1.
class InOneBlock : public ::testing::Test {
protected:
  BlockOrder order;
  AccessRecord earlier{.moment = 5, .warp = 0};
  InOneBlock() { order.begin(2, 1); }
  bool ordered(unsigned warp, unsigned lane) const { return order.ordered(earlier, 3, warp, lane); }
};

TEST_F(InOneBlock, OneThreadIsInOrder) {
  EXPECT_TRUE(ordered(0, 3));
  EXPECT_FALSE(ordered(0, 4));
  EXPECT_FALSE(ordered(1, 3));
}

TEST_F(InOneBlock, BarrierOrdersWhatWasBefore) {
  order.barrier(6);
  EXPECT_TRUE(ordered(0, 4));
  EXPECT_TRUE(ordered(1, 0));
  earlier.moment = 6;
  EXPECT_FALSE(ordered(1, 0)) << "an access behind the barrier";
}

TEST_F(InOneBlock, SyncwarpOrdersItsLanesOnly) {
  order.warp_barrier(0, 1u << 3 | 1u << 4, 6);
  EXPECT_TRUE(ordered(0, 4));
  EXPECT_FALSE(ordered(0, 5));
  EXPECT_FALSE(ordered(1, 4));
}

TEST_F(InOneBlock, FenceAndPublicationOrderWhoReadsStronglyAfterwards) {
  order.fence(0, 6, false);
  order.publish(0, 7);
  EXPECT_FALSE(ordered(1, 0)) << "warp 1 has not read yet";
  order.acquire(1, 1);
  EXPECT_TRUE(ordered(1, 0));
}

TEST_F(InOneBlock, PublicationWithoutFenceOrdersNothing) {
  order.publish(0, 6);
  order.acquire(1, 1);
  EXPECT_FALSE(ordered(1, 0));
}

// What block 0 did before its first fence, as block 1 sees it.
class BetweenBlocks : public ::testing::Test {
protected:
  using Order = BlockHistories::Order;
  BlockHistories histories{2};
  AccessRecord earlier{.block = 0, .fences = 0, .publications = 0};
};

TEST_F(BetweenBlocks, NothingOrdersByItself) {
  EXPECT_EQ(histories.order(earlier, histories.now()), Order::unordered);
}

TEST_F(BetweenBlocks, PublicationBehindAFenceOrders) {
  const std::uint32_t too_soon = histories.now();
  histories.publish(0, 1);
  EXPECT_EQ(histories.order(earlier, histories.now()), Order::ordered);
  EXPECT_EQ(histories.order(earlier, too_soon), Order::unfenced) << "block 1 has read before the publication";
}

TEST_F(BetweenBlocks, PublicationWithoutFenceIsKnownAsSuch) {
  histories.publish(0, 0);
  EXPECT_EQ(histories.order(earlier, histories.now()), Order::unfenced);
}

TEST_F(BetweenBlocks, AccessBehindTheFenceWaitsForTheNext) {
  histories.publish(0, 1);
  earlier.fences = 1;
  EXPECT_NE(histories.order(earlier, histories.now()), Order::ordered);
  histories.publish(0, 2);
  EXPECT_EQ(histories.order(earlier, histories.now()), Order::ordered);
}

TEST_F(BetweenBlocks, StrongAccessBehindAFencePublishesItself) {
  histories.publish(0, 1);
  earlier.fences = 1;
  earlier.is_strong = true;
  EXPECT_EQ(histories.order(earlier, histories.now()), Order::ordered);
}

} // namespace
} // namespace warpfold::watch
