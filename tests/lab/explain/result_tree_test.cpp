#include "explain/result_tree.hpp"

#include "followed_run.hpp"

#include <gtest/gtest.h>

namespace lab {
namespace {

using Json = nlohmann::ordered_json;
using Sentences = std::vector<std::string>;

Json node(const Json& tree, unsigned id) {
  for (const Json& each : tree.at("nodes"))
    if (each.at("id") == id) return each;
  return {};
}

TEST(ResultTree, JoinsElementsToTheResult) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1),
                 sum = run.compute("add.f32", 20, 0, 3, {{a, 1}, {b, 2}});
  const Json tree = run.tree(sum, 3);
  EXPECT_EQ(tree.at("result"), sum);
  EXPECT_EQ(tree.at("joined_by"), "+");
  EXPECT_EQ(tree.at("nodes").size(), 3u);
  EXPECT_EQ(node(tree, sum).at("of"), Json({a, b}));
  EXPECT_EQ(node(tree, sum).at("wrong"), Json(Sentences{}));
  EXPECT_EQ(node(tree, b).at("kind"), "element");
  EXPECT_EQ(node(tree, b).at("thread"), "thread 1 of block 0");
}

TEST(ResultTree, WhatAddsNothingIsLeftOut) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1),
                 begun = run.compute("add.f32", 15, 0, 1, {{of_constants, 0}, {a, 1}}),
                 sum = run.compute("add.f32", 20, 0, 3, {{begun, 1}, {b, 2}}),
                 result =
                     run.compute("atom.global.add.f32", 30, 0, 0, {{run.load_old_result(0), 0}, {sum, 3}});
  const Json tree = run.tree(result, 3);
  EXPECT_EQ(tree.at("result"), sum);
  EXPECT_EQ(node(tree, sum).at("of"), Json({a, b}));
}

TEST(ResultTree, TheFirstJoinThatCountsAnElementTwiceIsWrong) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1),
                 sum = run.compute("add.f32", 20, 0, 3, {{a, 1}, {b, 2}}),
                 again = run.compute("add.f32", 21, 0, 4, {{sum, 3}, {a, 1}}),
                 last = run.compute("add.f32", 22, 0, 8, {{again, 4}, {again, 4}});
  const Json tree = run.tree(last, 8);
  EXPECT_EQ(node(tree, sum).at("wrong"), Json(Sentences{}));
  EXPECT_EQ(node(tree, again).at("wrong"), Json(Sentences{"from here on, element 0 counts twice"}));
  EXPECT_EQ(node(tree, last).at("wrong"), Json(Sentences{"from here on, element 1 counts twice"}));
}

TEST(ResultTree, WhatIsNoElementAndWhatIsNoSum) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1),
                 more = run.compute("add.f32", 20, 0, 8, {{a, 1}, {of_constants, 7}}),
                 product = run.compute("mul.f32", 21, 0, 16, {{more, 8}, {b, 2}});
  const Json tree = run.tree(product, 16);
  EXPECT_EQ(node(tree, more).at("wrong"), Json(Sentences{"7 is no element"}));
  EXPECT_EQ(node(tree, product).at("wrong"), Json(Sentences{"this is mul.f32"}));
}

TEST(ResultTree, WhatTheResultLacks) {
  FollowedRun run(4);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1), c = run.load(2, 0, 2),
                 lost = run.compute("add.f32", 20, 2, 5, {{b, 2}, {c, 3}});
  run.lose(lost, "partial[2]", 20, 2, 22, 0);
  const Json tree = run.tree(a, 1);
  EXPECT_EQ(tree.at("unread"), Json({3}));
  EXPECT_EQ(node(tree, lost).at("lost"),
            "stored in partial[2] in line 20, and overwritten in line 22 by thread 0 of block 0");
  EXPECT_EQ(node(tree, lost).at("elements"), Json({{1, 1.0}, {2, 1.0}}));
  EXPECT_EQ(node(tree, a).at("lost"), "");
}

TEST(ResultTree, WhatIsCombinedWithNothing) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  EXPECT_EQ(node(run.tree(a, 1), b).at("lost"), "it is combined with nothing");
}

TEST(ResultTree, WhatTheHostOverwritesAndWhatStoodThereBefore) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1),
                 lost = run.compute("add.f32", 20, 0, 3, {{a, 1}, {b, 2}}), old = run.load_old_result(50),
                 sum = run.compute("atom.global.add.f32", 30, 0, 0, {{old, 50}, {a, 1}});
  run.lose_to_host(lost, "scratch[0]", 20);
  const Json tree = run.tree(sum, 51);
  EXPECT_EQ(node(tree, lost).at("lost"), "stored in scratch[0] in line 20, and overwritten by the host");
  EXPECT_EQ(node(tree, sum).at("wrong"), Json(Sentences{"50 stood in memory before the launch"}));
}

TEST(ResultTree, OfARunThatWasNotFollowed) {
  EXPECT_EQ(result_tree({}, {}, {}, 0), Json({{"complete", false}}));
}

} // namespace
} // namespace lab
