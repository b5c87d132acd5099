// What is done again without the host function: in the same order, and on the input where it lies now.
#include "run/sandboxed/recording.hpp"

#include <gtest/gtest.h>

namespace {

using namespace lab::grading;

TEST(Recording, PointersIntoTheInputMoveAlongAndNoOthersDo) {
  Recording recording{{1000, 1400}, {}};
  std::vector<std::uint64_t> seen;
  for (const std::uint64_t address : {1000, 1004, 1400, 999, 1401, 0})
    recording.steps.push_back([&seen, address](const Moved& moved) { seen.push_back(moved(address)); });
  recording.replay(5000);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{5000, 5004, 5400, 999, 1401, 0}));
  seen.clear();
  recording.replay(200); // further down
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{200, 204, 600, 999, 1401, 0}));
  seen.clear();
  recording.replay(1000);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1000, 1004, 1400, 999, 1401, 0}));
}

} // namespace
