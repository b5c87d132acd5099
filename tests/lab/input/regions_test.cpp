#include "input/regions.hpp"

#include <gtest/gtest.h>

namespace lab {
namespace {

std::vector<Region> regions_of(std::string_view source) {
  return find_regions(source, "lab.cu");
}

TEST(Regions, CommentsAndBlanksAreStillToBeFilled) {
  const auto regions = regions_of("before();\n"
                                  "  // BEGIN tree\n"
                                  "  // TODO: Add up the pairs,\n"
                                  "  // all of them. (2 lines)\n"
                                  "\n"
                                  "  /* or\n"
                                  "     not */\n"
                                  "  // END tree\n");
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].rung, "tree");
  EXPECT_FALSE(regions[0].filled);
  EXPECT_EQ(regions[0].todo_line, 3);
  EXPECT_EQ(regions[0].todo, "Add up the pairs, all of them. (2 lines)");
}

TEST(Regions, OneTokenOfCodeFillsARegion) {
  for (const char* code : {"x = 1;", "  ;", "/* why */ x();", "}", "/*\n*/ x();"}) {
    const auto regions = regions_of(std::string("// BEGIN a\n// TODO: Do.\n") + code + "\n// END a\n");
    EXPECT_TRUE(regions.at(0).filled) << code;
  }
}

TEST(Regions, CodeThatIsCommentedOutDoesNot) {
  for (const char* code : {"// x = 1;", "/* x = 1; */", "/*\nx = 1;\n*/", "/* a */ /* b */ // c"}) {
    const auto regions = regions_of(std::string("// BEGIN a\n") + code + "\n// END a\n");
    EXPECT_FALSE(regions.at(0).filled) << code;
  }
}

TEST(Regions, SeveralOfARungAreNumbered) {
  const auto regions = regions_of("// BEGIN a\n// TODO: X.\n// END a\n// BEGIN b\n// TODO: Y.\n// END b\n"
                                  "// BEGIN a\n// END a\n// BEGIN a\nz;\n// END a\n");
  EXPECT_EQ(regions.at(0).todo, "region 1 of 3: X.");
  EXPECT_EQ(regions.at(1).todo, "Y.");
  EXPECT_EQ(regions.at(2).todo,
            "region 2 of 3: There is no code yet between \"// BEGIN a\" and \"// END a\".");
  EXPECT_EQ(regions.at(3).todo, "") << "a filled region asks for nothing";
}

TEST(Regions, OfAnEmptyOneThatHasNoTodoEither) {
  EXPECT_EQ(regions_of("// BEGIN a\n// END a\n").at(0).todo,
            "There is no code yet between \"// BEGIN a\" and \"// END a\".");
}

TEST(Regions, WithoutATodoTheFirstLineInsideIsNamed) {
  EXPECT_EQ(regions_of("\n// BEGIN a\n\n// END a").at(0).todo_line, 3);
}

TEST(Regions, ARungIsToDoWhileAnyOfItsRegionsIs) {
  const auto regions =
      regions_of("// BEGIN a\nx;\n// END a\n// BEGIN b\n// END b\n// BEGIN a\n// TODO: Y.\n// END a\n");
  const Rung rungs[] = {Rung("a"), Rung("b"), Rung("c")};
  ASSERT_NE(next_todo(regions, rungs, rungs[0]), nullptr);
  EXPECT_EQ(next_todo(regions, rungs, rungs[0])->todo_line, 7);
  EXPECT_EQ(next_todo(regions, rungs, rungs[1])->todo_line, 5);
  EXPECT_EQ(next_todo(regions, rungs, rungs[2]), nullptr);
}

TEST(Regions, ARungIsToDoWhileTheOneThatItBuildsOnIs) {
  const auto regions = regions_of("// BEGIN a\n// TODO: X.\n// END a\n// BEGIN b\ny;\n// END b\n");
  Rung rungs[] = {Rung("a"), Rung("b"), Rung("c")};
  rungs[1].builds_on("a");
  rungs[2].builds_on("b");
  ASSERT_NE(next_todo(regions, rungs, rungs[2]), nullptr);
  EXPECT_EQ(next_todo(regions, rungs, rungs[2])->rung, "a");
}

TEST(Regions, ARepairMayBeToDelete) {
  const auto regions = regions_of("// BEGIN a\n// No fence is needed here.\n// END a\n");
  Rung rungs[] = {Rung("a")};
  rungs[0].broken();
  EXPECT_EQ(next_todo(regions, rungs, rungs[0]), nullptr);
  EXPECT_EQ(next_repair(regions, rungs[0]), nullptr);
}

std::string message_of(std::string_view source) {
  try {
    regions_of(source);
  } catch (const RegionError& error) {
    return error.what();
  }
  return "";
}

TEST(Regions, AMarkerThatWasEditedAwayIsNamedWithItsLine) {
  EXPECT_NE(message_of("// BEGIN a\nx;\n").find("lab.cu:1: the region of a has no end"), std::string::npos);
  EXPECT_NE(message_of("x;\n// END a\n").find("lab.cu:2: \"END a\" without"), std::string::npos);
  EXPECT_NE(message_of("// BEGIN a\n// END b\n").find("lab.cu:2: \"END b\" without"), std::string::npos);
  EXPECT_NE(message_of("// BEGIN a\n// BEGIN b\n").find("lab.cu:2: \"BEGIN b\" inside the region of a"),
            std::string::npos);
}

TEST(Regions, LinesMayEndAsOnWindows) {
  EXPECT_FALSE(regions_of("// BEGIN a\r\n// TODO: X.\r\n// END a\r\n").at(0).filled);
}

} // namespace
} // namespace lab
