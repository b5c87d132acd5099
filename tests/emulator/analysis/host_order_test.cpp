// The rules of order on their own; tests/emulator/runtime/host_order has whole programs.
#include "analysis/host_order.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace warpfold::analysis {
namespace {

struct HostOrderTest : testing::Test {
  HostOrder order;
  std::vector<std::uint64_t> found; // where the ranges of conflicting later operations begin

  void work(HostOrder::Stream stream, std::vector<TouchedRange> touched) {
    Operation operation = order.issue(stream);
    operation.touched = std::move(touched);
    order.finish(operation, [&](const Operation&, const TouchedRange&, const Operation&,
                                const TouchedRange& range) { found.push_back(range.begin); });
  }
  static TouchedRange write(std::uint64_t begin, std::uint64_t end) { return {begin, end, Touch::write}; }
  static TouchedRange read(std::uint64_t begin, std::uint64_t end) { return {begin, end, Touch::read}; }
};

TEST_F(HostOrderTest, StreamsHaveNoOrder) {
  const auto one = order.add_stream(false), two = order.add_stream(false);
  work(one, {write(0, 8)});
  work(two, {read(4, 12)});
  EXPECT_EQ(found, std::vector<std::uint64_t>{4});
}

TEST_F(HostOrderTest, OneStreamHas) {
  const auto one = order.add_stream(false);
  work(one, {write(0, 8)});
  work(one, {read(4, 12)});
  EXPECT_TRUE(found.empty());
}

TEST_F(HostOrderTest, EventsOrderWhatIsBeforeThemOnly) {
  const auto one = order.add_stream(false), two = order.add_stream(false);
  work(one, {write(0, 8)});
  const Clock event = order.record(one);
  work(one, {write(8, 16)});
  order.stream_waits(two, event);
  work(two, {read(0, 8)});
  EXPECT_TRUE(found.empty());
  work(two, {read(8, 16)});
  EXPECT_EQ(found, std::vector<std::uint64_t>{8});
}

TEST_F(HostOrderTest, OrderGoesThroughAThirdStream) {
  const auto one = order.add_stream(false), two = order.add_stream(false), three = order.add_stream(false);
  work(one, {write(0, 8)});
  order.stream_waits(two, order.record(one));
  order.stream_waits(three, order.record(two));
  work(three, {write(0, 8)});
  EXPECT_TRUE(found.empty());
}

TEST_F(HostOrderTest, BlockingStreamsAndTheDefaultOne) {
  const auto one = order.add_stream(true), two = order.add_stream(true), apart = order.add_stream(false);
  work(one, {write(0, 8)});
  work(HostOrder::legacy, {write(0, 8)});
  work(two, {write(0, 8)});
  EXPECT_TRUE(found.empty());
  work(apart, {write(0, 8)});
  EXPECT_FALSE(found.empty());
}

TEST_F(HostOrderTest, WorkOfADestroyedStreamMayStillRun) {
  const auto one = order.add_stream(false), two = order.add_stream(false);
  work(one, {write(0, 8)});
  order.remove_stream(one);
  work(two, {read(0, 8)});
  EXPECT_EQ(found.size(), 1u);
  order.host_waits_for_all();
  EXPECT_EQ(order.pending(), 0u);
}

TEST_F(HostOrderTest, WhatTheHostWaitedForIsForgotten) {
  const auto one = order.add_stream(false), two = order.add_stream(false);
  work(one, {write(0, 8)});
  work(two, {write(8, 16)});
  EXPECT_EQ(order.pending(), 2u);
  order.host_waits(one);
  EXPECT_EQ(order.pending(), 1u);
  work(two, {write(0, 8)});
  EXPECT_TRUE(found.empty());
}

TEST_F(HostOrderTest, ALoopInOneStreamStaysOneEntry) {
  const auto one = order.add_stream(false);
  for (int i = 0; i < 100; ++i) work(one, {write(0, 8)});
  EXPECT_EQ(order.pending(), 1u);
}

TEST_F(HostOrderTest, WhatIsNoLongerKeptIsMissedByWhatNothingOrders) {
  const auto one = order.add_stream(false), two = order.add_stream(false);
  for (std::uint64_t i = 0; i < 5000; ++i) work(one, {write(8 * i, 8 * i + 8)});
  work(one, {read(0, 8)});
  EXPECT_FALSE(order.has_missed_some()) << "all in one stream";
  work(two, {write(80000, 80008)});
  EXPECT_TRUE(order.has_missed_some());
  order.host_waits_for_all();
  work(two, {write(80000, 80008)});
  EXPECT_FALSE(order.has_missed_some()) << "the host has waited";
}

TEST_F(HostOrderTest, InterleavedPlacesDoNotMeet) {
  const auto one = order.add_stream(false), two = order.add_stream(false);
  std::vector<TouchedRange> even, odd;
  for (std::uint64_t i = 0; i < 30000; ++i) {
    even.push_back(write(8 * i, 8 * i + 4));
    odd.push_back(write(8 * i + 4, 8 * i + 8));
  }
  work(one, even);
  work(two, odd);
  EXPECT_TRUE(found.empty());
  work(two, {write(8 * 29999 + 3, 8 * 29999 + 4)});
  EXPECT_EQ(found.size(), 1u);
}

TEST_F(HostOrderTest, ALongRangeMeetsWhatBeginsInIt) {
  const auto one = order.add_stream(false), two = order.add_stream(false);
  work(one, {read(0, 1000)});
  work(two, {read(0, 500), write(400, 404), read(410, 420)});
  EXPECT_EQ(found, std::vector<std::uint64_t>{400});
}

TEST_F(HostOrderTest, StrongAccessesMeetPlainOnesOnly) {
  const auto one = order.add_stream(false), two = order.add_stream(false);
  work(one, {{0, 4, Touch::strong_write}});
  work(two, {{0, 4, Touch::strong_write}});
  work(two, {{0, 4, Touch::strong_read}});
  EXPECT_TRUE(found.empty());
  work(two, {read(0, 4)});
  EXPECT_EQ(found.size(), 1u);
}

TEST_F(HostOrderTest, MemoryHandedOutAnewBeginsAnew) {
  const auto one = order.add_stream(false), two = order.add_stream(false);
  work(one, {write(0, 8), write(100, 108)});
  order.forget(0, 50);
  work(two, {write(0, 8)});
  EXPECT_TRUE(found.empty());
  work(two, {write(100, 108)});
  EXPECT_EQ(found.size(), 1u);
}

TEST_F(HostOrderTest, NodesOfAGraph) {
  const auto one = order.add_stream(false), two = order.add_stream(false);
  const Operation launch = order.issue(one);
  const auto node = [&](const std::vector<const Operation*>& before, bool chained, TouchedRange range) {
    Operation operation = order.issue_node(one, before, chained);
    operation.touched = {range};
    order.finish(operation, [&](const Operation&, const TouchedRange&, const Operation&,
                                const TouchedRange& later) { found.push_back(later.begin); });
    return operation;
  };
  const Operation first = node({&launch}, true, write(0, 8)), left = node({&first}, true, write(8, 16)),
                  right = node({&first}, false, write(16, 24));
  EXPECT_TRUE(found.empty());
  node({&right}, true, read(8, 16)); // the left one has written it
  EXPECT_EQ(found, std::vector<std::uint64_t>{8});
  const Operation last = node({&left, &right}, true, read(8, 24));
  EXPECT_EQ(found.size(), 1u);
  order.join(one, last);
  order.stream_waits(two, order.record(one));
  work(two, {write(0, 8), write(16, 24)});
  EXPECT_EQ(found.size(), 1u);
}

} // namespace
} // namespace warpfold::analysis
