// Sets of accesses as vector clocks.
#include "analysis/causal_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace warpfold::analysis {
namespace {

using Key = CausalClock::Key;

AccessRecord access(std::uint32_t block, unsigned warp, std::uint32_t moment, std::uint32_t operation = 0) {
  AccessRecord record{.block = block, .operation = operation, .moment = moment};
  record.warp = static_cast<std::uint8_t>(warp);
  return record;
}

TEST(CausalClock, CoversWhatIsEarlierByTheSameThread) {
  CausalClock clock;
  clock.raise(Key::of_thread(7, 2, 5), 10);
  EXPECT_TRUE(clock.covers(access(7, 2, 9), 5));
  EXPECT_FALSE(clock.covers(access(7, 2, 10), 5));
  EXPECT_FALSE(clock.covers(access(7, 2, 9), 6));
  EXPECT_FALSE(clock.covers(access(7, 1, 9), 5));
  EXPECT_FALSE(clock.covers(access(6, 2, 9), 5));
  EXPECT_FALSE(clock.covers(access(7, 2, 9), CausalClock::every_lane));
}

TEST(CausalClock, CoversAllLanesOrAllWarps) {
  CausalClock clock;
  clock.raise(Key::of_thread(7, 2, CausalClock::every_lane), 10);
  EXPECT_TRUE(clock.covers(access(7, 2, 9), 31));
  EXPECT_TRUE(clock.covers(access(7, 2, 9), CausalClock::every_lane));
  EXPECT_FALSE(clock.covers(access(7, 3, 9), 31));
  clock.raise(Key::of_block(7), 10);
  EXPECT_TRUE(clock.covers(access(7, 3, 9), 31));
}

TEST(CausalClock, CoversOneOperationLonger) {
  CausalClock clock;
  clock.raise(Key::of_thread(7, 2, 5).by(0), 20);
  EXPECT_TRUE(clock.covers(access(7, 2, 19, 0), 5));
  EXPECT_FALSE(clock.covers(access(7, 2, 19, 1), 5));
}

TEST(CausalClock, DropsWhatOtherEntriesCover) {
  CausalClock clock;
  clock.raise(Key::of_launch(7), 3);
  clock.raise(Key::of_thread(7, 2, 5).by(4), 21);
  clock.raise(Key::of_thread(7, 2, 5), 20);
  EXPECT_EQ(clock.at(Key::of_thread(7, 2, 5).by(4)), 21u);
  clock.raise(Key::of_thread(7, 2, 5), 21);
  EXPECT_EQ(clock.at(Key::of_thread(7, 2, 5).by(4)), 0u);
  EXPECT_TRUE(clock.covers(access(7, 2, 20, 4), 5));
  clock.raise(Key::of_thread(7, 2, CausalClock::every_lane), 22);
  EXPECT_EQ(clock.at(Key::of_thread(7, 2, 5)), 0u);
  EXPECT_TRUE(clock.covers(access(7, 2, 20, 4), 5));
  clock.raise(Key::of_thread(7, 3, 0), 40);
  clock.raise(Key::of_block(7), 30);
  EXPECT_EQ(clock.at(Key::of_thread(7, 2, CausalClock::every_lane)), 0u);
  EXPECT_EQ(clock.at(Key::of_thread(7, 3, 0)), 40u);
  EXPECT_EQ(clock.at(Key::of_launch(7)), 3u); // of a launch, which is no thread's
}

TEST(CausalClock, JoinsAsMapsDo) {
  std::mt19937 random(1);
  std::vector<CausalClock> clocks(8);
  std::vector<std::map<std::uint32_t, std::uint32_t>> maps(8);
  for (int step = 0; step < 5000; ++step) {
    const std::size_t to = random() % 8, from = random() % 8;
    if (step % 4 == 0) {
      clocks[to].join(clocks[from]);
      for (const auto& [block, moment] : maps[from]) maps[to][block] = std::max(maps[to][block], moment);
    } else {
      const std::uint32_t block = random() % 200, moment = 1 + random() % 1000;
      clocks[to].raise(Key::of_block(block), moment);
      maps[to][block] = std::max(maps[to][block], moment);
    }
  }
  for (std::size_t i = 0; i < 8; ++i)
    for (std::uint32_t block = 0; block < 200; ++block)
      EXPECT_EQ(clocks[i].at(Key::of_block(block)), maps[i].contains(block) ? maps[i].at(block) : 0);
}

TEST(CausalClock, JoiningWhatIsKnownChangesNothing) {
  CausalClock one;
  for (std::uint32_t block = 0; block < 100; ++block) one.raise(Key::of_block(block), 5);
  CausalClock more = one;
  more.raise(Key::of_block(50), 6);
  CausalClock joined = one;
  joined.join(more);
  EXPECT_TRUE(joined.is_same(more));
  joined.join(one);
  EXPECT_TRUE(joined.is_same(more));
}

} // namespace
} // namespace warpfold::analysis
