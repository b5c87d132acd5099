// The promises of the course, and the messages if a lab's main() and its promises disagree.
#include "promises/course.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace lab {
namespace {

void reduce(const float*, float*, std::size_t, unsigned) {}

std::string refusal(std::string_view lab, const std::vector<Implementation>& named) {
  try {
    with_promises(lab, named);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Course, EveryLabHasRungsThatBearTheirNamesOnce) {
  EXPECT_GE(course().size(), 11u);
  for (const PromisesOfLab& each : course()) {
    std::set<std::string_view> names;
    for (const Rung& rung : each.rungs()) {
      EXPECT_TRUE(names.insert(rung.name).second) << each.lab << " " << rung.name;
      EXPECT_LE(rung.promise_count, Rung::max_promises) << rung.name;
      EXPECT_EQ(rung.variant_count, 0) << rung.name;
    }
    EXPECT_FALSE(names.empty()) << each.lab;
  }
}

TEST(Course, ARungGetsWhatItPromisesAndItsHostFunctions) {
  const std::vector<Rung> rungs =
      with_promises("03_warp_unroll", std::vector<Implementation>{{"unroll_last_warp", reduce},
                                                                  {"unroll_all", reduce, reduce}});
  ASSERT_EQ(rungs.size(), 2u);
  EXPECT_STREQ(rungs[1].name, "unroll_all");
  EXPECT_STREQ(rungs[1].base, "unroll_last_warp");
  EXPECT_EQ(rungs[0].variant_count, 1);
  EXPECT_EQ(rungs[1].variant_count, 2);
  EXPECT_EQ(rungs[0].min_block, 64u);
  EXPECT_EQ(promised("03_warp_unroll", "unroll_last_warp").promise_count, rungs[0].promise_count);
  EXPECT_GE(rungs[0].promise_count, 2);
}

TEST(Course, ABoundMayDependOnWhatTheReaderChose) {
  std::vector<Implementation> named;
  for (const char* name : {"thread_sums", "one_thread_folds", "grid_stride_tree", "grid_stride_two_kernels",
                           "grid_stride_shuffle", "coarsened"}) {
    named.emplace_back(name, reduce);
  }
  named.back().elements_per_thread(8);
  const Rung coarsened = with_promises("05_grid_stride", named).back();
  const auto blocks = std::ranges::find(coarsened.promises, Counter::blocks, &Promise::counter);
  EXPECT_EQ(blocks->bound(coarsened.size(4096, 256)), 2);
}

TEST(Course, ARungWithoutAnEntryIsAnError) {
  const std::string said = refusal("01_naive_atomic", {{"naive_atomic", reduce}, {"other", reduce}});
  EXPECT_EQ(said, "common/lab/promises/01_naive_atomic.cpp says nothing of a rung 'other', which main() of "
                  "lab 01_naive_atomic names");
}

TEST(Course, AnEntryWithoutARungIsAnError) {
  const std::string said = refusal("03_warp_unroll", {{"unroll_all", reduce}});
  EXPECT_NE(said.find("does not name the rung 'unroll_last_warp'"), std::string::npos) << said;
}

TEST(Course, AFolderThatIsNoLabIsAnsweredWithTheList) {
  const std::string said = refusal("my_tree", {{"interleaved", reduce}});
  EXPECT_NE(said.find("'my_tree' is no lab"), std::string::npos) << said;
  EXPECT_NE(said.find("02_tree"), std::string::npos) << said;
}

TEST(Course, APromiseIsFoundByLabRungAndCounter) {
  EXPECT_EQ(promised("02_tree", "interleaved", Counter::barriers_per_block).bound({1024, 256}), 8);
  EXPECT_EQ(promised("03_warp_unroll", "unroll_all").max_block, 1024u);
  EXPECT_THROW(promised("02_tree", "nothing"), std::invalid_argument);
  EXPECT_THROW(promised("02_tree", "interleaved", Counter::fences), std::invalid_argument);
}

} // namespace
} // namespace lab
