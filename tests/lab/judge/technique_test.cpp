#include "judge/counters.hpp"
#include "judge/technique.hpp"
#include "run/emulator.hpp"

#include <gtest/gtest.h>

namespace lab {
namespace {

Profile profile_with(std::vector<std::pair<std::string, double>> totals, std::size_t launches = 1) {
  Profile profile;
  profile.totals = std::move(totals);
  profile.launches = launches;
  return profile;
}

TEST(Counters, AreReadByTheReportsKeys) {
  const Profile profile = profile_with({{"blocks", 4}, {"barriers", 36}, {"bytes_read", 4096}}, 2);
  EXPECT_EQ(value_of(Counter::launches, profile, Type::float32), 2);
  EXPECT_EQ(value_of(Counter::barriers_per_block, profile, Type::float32), 9);
  EXPECT_EQ(value_of(Counter::elements_read, profile, Type::float32), 1024);
  EXPECT_EQ(value_of(Counter::elements_read, profile, Type::float64), 512);
  EXPECT_EQ(value_of(Counter::sectors_per_request, profile, Type::float32), 0);
}

const Formula three = [](const Size&) { return 3.0; };

TEST(Promise, BrokenSaysTheNumbersAndTheLesson) {
  const Promise promise =
      at_most(Counter::barriers_per_block, three, "the last warp still goes through the loop");
  const Check check = judge_promise(promise, 8, 3);
  EXPECT_FALSE(check.ok);
  EXPECT_EQ(check.message,
            "8 barriers per block, 3 or fewer expected: the last warp still goes through the loop");
}

TEST(Promise, KeptHoldsNoLesson) {
  EXPECT_TRUE(judge_promise(at_most(Counter::blocks, three, "x"), 3, 3).ok);
  EXPECT_TRUE(judge_promise(at_least(Counter::blocks, three, "x"), 3, 3).ok);
  EXPECT_TRUE(judge_promise(equal(Counter::blocks, three, "x"), 3, 3).ok);
  EXPECT_EQ(judge_promise(equal(Counter::blocks, three, "lesson"), 3, 3).message, "3 blocks, 3 expected");
}

TEST(Promise, EachRelationCanBeBroken) {
  EXPECT_FALSE(judge_promise(at_most(Counter::blocks, three, ""), 4, 3).ok);
  EXPECT_FALSE(judge_promise(at_least(Counter::blocks, three, ""), 2, 3).ok);
  EXPECT_FALSE(judge_promise(equal(Counter::blocks, three, ""), 3.5, 3).ok);
  EXPECT_FALSE(judge_promise(none(Counter::blocks, ""), 1, 0).ok);
}

TEST(Bounds, Logarithms) {
  EXPECT_EQ(log2(1), 0);
  EXPECT_EQ(log2(256), 8);
  EXPECT_EQ(log_ceil(1, 256), 1);
  EXPECT_EQ(log_ceil(256, 256), 1);
  EXPECT_EQ(log_ceil(257, 256), 2);
  EXPECT_EQ(log_ceil(std::size_t{1} << 24, 256), 3);
}

} // namespace
} // namespace lab
