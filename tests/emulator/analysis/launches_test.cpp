// Which launches are compared with each other, and which come before which.
#include "analysis/launches.hpp"
#include "scene.hpp"

#include <gtest/gtest.h>

namespace warpfold::analysis {
namespace {

class LaunchesOfDevices : public ::testing::Test {
protected:
  Scene scene; // its grid has two blocks
  Launches launches;

  // A launch by `actor`, its `number`-th operation, that begins after these of the others.
  Launches::Launch* begin(int device, std::uint32_t actor, std::uint32_t number, Clock view = {}) {
    scene.grid.device = device;
    Operation order;
    order.actor = actor, order.number = number, order.view = std::move(view);
    begins_group = false;
    return launches.begin(scene.grid, &order, [&] { begins_group = true; });
  }
  bool begins_group = false;
};

TEST_F(LaunchesOfDevices, WhatIsOverBeforeIsNotCompared) {
  launches.end(*begin(0, 1, 1));
  begin(0, 1, 2, {0, 1});
  EXPECT_TRUE(begins_group);
  EXPECT_FALSE(launches.several());
}

TEST_F(LaunchesOfDevices, WhatRunsIsComparedAndBlocksHaveNumbersOfTheirOwn) {
  const Launches::Launch* one = begin(0, 1, 1);
  EXPECT_TRUE(begins_group);
  const Launches::Launch* other = begin(1, 2, 1);
  EXPECT_FALSE(begins_group);
  EXPECT_EQ(one->first_block, 0u);
  EXPECT_EQ(other->first_block, 2u);
  EXPECT_EQ(&launches.of(1), one);
  EXPECT_EQ(&launches.of(3), other);
}

TEST_F(LaunchesOfDevices, WithoutRoomForMoreSomeAreForgotten) {
  for (std::uint32_t i = 0; i < Launches::most; ++i) {
    Launches::Launch* one = begin(static_cast<int>(i), 1 + i, 1);
    ASSERT_TRUE(one);
    EXPECT_FALSE(one->forgets);
    EXPECT_EQ(&launches.of(one->first_block + 1), one);
    if (i > 0) launches.end(*one);
  }
  EXPECT_FALSE(begin(0, 1 + Launches::most, 1)) << "the first one still runs";
}

TEST_F(LaunchesOfDevices, WhatNothingOrdersIsForgottenWhereNothingRuns) {
  for (std::uint32_t i = 0; i < Launches::most; ++i) launches.end(*begin(static_cast<int>(i), 1 + i, 1));
  const Launches::Launch* one = begin(0, 1 + Launches::most, 1);
  ASSERT_TRUE(one);
  EXPECT_TRUE(begins_group);
  EXPECT_TRUE(one->forgets);
}

TEST_F(LaunchesOfDevices, WhatHasEndedInTimeButIsNotOrderedIsCompared) {
  launches.end(*begin(0, 1, 1));
  begin(1, 2, 1);
  EXPECT_FALSE(begins_group);
  EXPECT_FALSE(launches.precedes(0, 2));
}

TEST_F(LaunchesOfDevices, InAGroupAnEventPutsOneLaunchBeforeAnother) {
  begin(1, 2, 1); // runs on
  launches.end(*begin(0, 1, 1));
  begin(0, 1, 2, {0, 1});
  EXPECT_FALSE(begins_group);
  EXPECT_TRUE(launches.precedes(2, 4));
  EXPECT_FALSE(launches.precedes(4, 2));
  EXPECT_FALSE(launches.precedes(0, 4)) << "that one still runs";
}

TEST_F(LaunchesOfDevices, ScopesReachByBlockAndByDevice) {
  begin(0, 1, 1);
  begin(1, 2, 1);
  begin(0, 3, 1);
  EXPECT_EQ(launches.between(0, 0), Level::block);
  EXPECT_EQ(launches.between(0, 1), Level::device);
  EXPECT_EQ(launches.between(0, 2), Level::system);
  EXPECT_EQ(launches.between(0, 4), Level::device) << "another launch on the same device";
}

TEST_F(LaunchesOfDevices, ALaterLaunchHasAcquiredWhatTheOneBeforeHad) {
  begin(0, 1, 1);
  Launches::Launch* receiver = begin(1, 2, 1);
  const auto of_block_5 = CausalClock::Key::of_block(5);
  receiver->acquired.raise(of_block_5, 3);
  launches.end(*receiver);
  EXPECT_EQ(begin(1, 2, 2, {0, 0, 1})->acquired.at(of_block_5), 3u);
  EXPECT_TRUE(begin(1, 4, 1)->acquired.empty()) << "nothing orders this one after it";
}

TEST_F(LaunchesOfDevices, TooManyAtATimeAreRefusedAndBeginAnewOnceNoneRuns) {
  std::vector<Launches::Launch*> all;
  for (std::uint32_t i = 0; i < Launches::most; ++i) all.push_back(begin(0, i + 1, 1));
  EXPECT_EQ(begin(0, 1000, 1), nullptr);
  for (Launches::Launch* each : all) launches.end(*each);
  EXPECT_NE(begin(0, 1001, 1), nullptr);
  EXPECT_TRUE(begins_group);
}

} // namespace
} // namespace warpfold::analysis
