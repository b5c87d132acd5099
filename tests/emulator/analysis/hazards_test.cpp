// What the report says about a hazard.
#include "analysis/hazards.hpp"

#include "analysis/report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace warpfold::analysis {
namespace {

class Recorded : public ::testing::Test {
protected:
  Recorder recorder; // there is one per process
  Recorded() { recorder.reset(); }
  nlohmann::json hazards() const { return nlohmann::json::parse(recorder.json()).at("hazards"); }
  static Hazard race(std::uint32_t line, int reach = 0) {
    return {.kind = HazardKind::race_shared,
            .cause = HazardCause::warps_of_a_block,
            .message = "reach " + std::to_string(reach),
            .where = {"tree.cu", line},
            .other = {"tree.cu", 7},
            .reach = reach};
  }
};

TEST_F(Recorded, CatalogueSpeaksForTheKind) {
  recorder.add(race(9));
  const auto hazard = hazards().at(0);
  EXPECT_EQ(hazard.at("kind"), "race-shared");
  EXPECT_EQ(hazard.at("read"), "docs/handouts/00_start.md#races");
  EXPECT_EQ(hazard.at("fails_check"), true);
  EXPECT_EQ(hazard.at("why"), facts(HazardCause::warps_of_a_block).why);
  EXPECT_EQ(hazard.at("line"), 9);
  EXPECT_EQ(hazard.at("other_line"), 7);
}

TEST_F(Recorded, OneForEachPairOfLines) {
  recorder.add(race(9));
  recorder.add(race(9));
  recorder.add(race(10));
  ASSERT_EQ(hazards().size(), 2u);
  EXPECT_EQ(hazards().at(0).at("times"), 2);
  EXPECT_EQ(hazards().at(1).at("times"), 1);
}

TEST_F(Recorded, TheOneThatReachesFartherIsKept) {
  recorder.add(race(9, 1));
  recorder.add(race(9, 2));
  recorder.add(race(9, 0));
  EXPECT_EQ(hazards().at(0).at("message"), "reach 2");
}

TEST_F(Recorded, LeakConcernsNoRung) {
  recorder.add({.kind = HazardKind::leak, .cause = HazardCause::not_freed});
  EXPECT_EQ(hazards().at(0).at("fails_check"), false);
}

TEST(HazardFromFault, KeepsPlacesAndMessage) {
  const Hazard hazard = hazard_from({.kind = machine::Fault::Kind::misaligned,
                                     .where = {"a.cu", 3},
                                     .other = {"b.cu", 4},
                                     .message = "reads 4 bytes"});
  EXPECT_STREQ(facts(hazard.kind).name, "misaligned");
  EXPECT_EQ(hazard.message, "reads 4 bytes");
  EXPECT_EQ(hazard.where.line, 3u);
  EXPECT_EQ(hazard.other.file, "b.cu");
}

} // namespace
} // namespace warpfold::analysis
