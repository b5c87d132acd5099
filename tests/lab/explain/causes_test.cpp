#include "explain/causes.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace lab {
namespace {

// As the emulator's report has them (common/emulator/analysis/hazards.def).
Hazard hazard(const std::string& kind, int line, int other_line = 0) {
  static const std::vector<std::pair<std::string, std::string>> groups = {
      {"out-of-bounds", "bad-access"}, {"barrier", "convergence"}, {"warp-mask", "convergence"},
      {"race-shared", "race"},         {"race-global", "race"},    {"uninitialised", "unwritten"}};
  Hazard made;
  const auto found =
      std::find_if(groups.begin(), groups.end(), [&](const auto& row) { return row.first == kind; });
  made.group = found->second;
  made.kind = kind, made.file = made.other_file = "tree.cu";
  made.line = line, made.other_line = other_line;
  return made;
}

std::vector<std::string> kinds_of(std::vector<Hazard> hazards) {
  std::vector<std::string> kinds;
  for (const Hazard& each : causes_among(std::move(hazards))) kinds.push_back(each.kind);
  return kinds;
}

using Kinds = std::vector<std::string>;

TEST(Causes, WhatFollowsFromABadAccessIsLeftOut) {
  EXPECT_EQ(kinds_of({hazard("uninitialised", 9), hazard("out-of-bounds", 9)}), Kinds{"out-of-bounds"});
  EXPECT_EQ(kinds_of({hazard("race-global", 12, 9), hazard("out-of-bounds", 9)}), Kinds{"out-of-bounds"});
  EXPECT_EQ(kinds_of({hazard("race-shared", 12, 13), hazard("out-of-bounds", 9)}),
            (Kinds{"race-shared", "out-of-bounds"}));
}

TEST(Causes, WhatIsReadTooSoonIsNotUnwrittenAsWell) {
  EXPECT_EQ(kinds_of({hazard("uninitialised", 5), hazard("race-shared", 5, 4)}), Kinds{"race-shared"});
  EXPECT_EQ(kinds_of({hazard("uninitialised", 7), hazard("race-shared", 5, 4)}),
            (Kinds{"race-shared", "uninitialised"}));
}

TEST(Causes, WhatWasSeenFirstLeadsAndWhatWasNeverWrittenComesLast) {
  EXPECT_EQ(kinds_of({hazard("uninitialised", 1), hazard("warp-mask", 4), hazard("race-global", 2, 3)}),
            (Kinds{"warp-mask", "race-global", "uninitialised"}));
  EXPECT_EQ(kinds_of({hazard("race-global", 2, 3), hazard("warp-mask", 4), hazard("uninitialised", 1)}),
            (Kinds{"race-global", "warp-mask", "uninitialised"}));
}

TEST(Causes, ABarrierThatSomeThreadsMissOrdersNothing) {
  EXPECT_EQ(kinds_of({hazard("barrier", 4), hazard("race-shared", 5, 3)}), Kinds{"barrier"});
  EXPECT_EQ(kinds_of({hazard("barrier", 4), hazard("race-shared", 3, 3)}), (Kinds{"barrier", "race-shared"}));
}

TEST(Causes, TheStandstillSaysMoreThanWhatLedToIt) {
  Hazard standstill = hazard("warp-mask", 24, 41);
  standstill.launch = "sum<<<4, 256>>>(input, 1000)";
  EXPECT_EQ(kinds_of({hazard("barrier", 41), standstill}), Kinds{"warp-mask"});
}

} // namespace
} // namespace lab
