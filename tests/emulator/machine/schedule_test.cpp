#include "machine/schedule.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace warpfold::machine {
namespace {

TEST(Schedule, NamesAreRead) {
  ASSERT_TRUE(parse_schedule("forwards"));
  EXPECT_EQ(parse_schedule("forwards")->order, Schedule::Order::forwards);
  ASSERT_TRUE(parse_schedule("backwards"));
  EXPECT_EQ(parse_schedule("backwards")->order, Schedule::Order::backwards);
  const auto shuffled = parse_schedule("shuffled:18446744073709551615");
  ASSERT_TRUE(shuffled);
  EXPECT_EQ(shuffled->order, Schedule::Order::shuffled);
  EXPECT_EQ(shuffled->seed, 18446744073709551615u);
}

TEST(Schedule, AnythingElseIsRefused) {
  for (const std::string_view text :
       {"", "Forwards", "forwards ", "shuffled", "shuffled:", "shuffled:-1", "shuffled: 1", "shuffled:1x",
        "shuffled:18446744073709551616", "shuffled:0x10"})
    EXPECT_FALSE(parse_schedule(text)) << text;
}

TEST(Schedule, EachHasOneTurn) {
  for (const std::string_view text : {"forwards", "backwards", "shuffled:1", "shuffled:99"}) {
    const Schedule schedule = *parse_schedule(text);
    for (const std::uint64_t count : {1ull, 2ull, 3ull, 32ull, 1000ull, 4097ull}) {
      std::set<std::uint64_t> seen;
      for (std::uint64_t turn = 0; turn < count; ++turn) seen.insert(schedule.at(turn, count, 7));
      EXPECT_EQ(seen.size(), count) << text;
      EXPECT_EQ(*seen.rbegin(), count - 1) << text;
    }
  }
}

TEST(Schedule, EndsAreTheFirstAndTheLastBlockAndSomeInTheMiddleOfMany) {
  const Schedule schedule = *parse_schedule("ends");
  EXPECT_EQ(schedule.block_turns(1000), 2u);
  EXPECT_EQ(schedule.block_at(0, 1000), 0u);
  EXPECT_EQ(schedule.block_at(1, 1000), 999u);
  for (const std::uint64_t count : {(1ull << 40) + 1, 1ull << 40}) {
    std::set<std::uint64_t> run;
    for (std::uint64_t turn = 0; turn < schedule.block_turns(count); ++turn)
      run.insert(schedule.block_at(turn, count));
    EXPECT_EQ(run, (std::set<std::uint64_t>{0, count / 2 - 1, count / 2, count / 2 + 1, count - 1}));
  }
  EXPECT_EQ(schedule.block_turns(1), 1u);
  EXPECT_EQ(schedule.block_at(0, 1), 0u);
  EXPECT_EQ(schedule.at(5, 10), 5u); // of a block's warps, each has its turn
  EXPECT_EQ(parse_schedule("forwards")->block_turns(10), 10u);
}

TEST(Schedule, BackwardsBeginsWithTheLast) {
  const Schedule schedule = *parse_schedule("backwards");
  EXPECT_EQ(schedule.at(0, 10), 9u);
  EXPECT_EQ(schedule.at(9, 10), 0u);
  EXPECT_TRUE(schedule.takes_branches_first(0));
  EXPECT_FALSE(parse_schedule("forwards")->takes_branches_first(0));
}

TEST(Schedule, SeedsShuffleDifferently) {
  const Schedule one = *parse_schedule("shuffled:1"), two = *parse_schedule("shuffled:2");
  unsigned same = 0;
  for (std::uint64_t turn = 0; turn < 100; ++turn) same += one.at(turn, 100) == two.at(turn, 100);
  EXPECT_LT(same, 50u);
}

} // namespace
} // namespace warpfold::machine
