// Random bodies: the results of `basic_blocks` are compared with the definitions, computed the slow way.
#include "ptx/control_flow.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

namespace {

using warpfold::ptx::BasicBlock;
using warpfold::ptx::Function;
using warpfold::ptx::Module;

// `count` statements, each with a label. Most are guarded branches to anywhere, so that the end can always be
// reached. The end has two instructions and two entries, so that no branch into it is treated as a mere way
// out.
Module module_of_random_function(std::mt19937& random, int count) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  std::string text = fmt::format(
      ".version 8.0\n.target sm_75\n.entry k() {{ .reg .pred p; .reg .b32 r; @p bra L{};\n", count);
  for (int line = 0; line < count; ++line) {
    text += fmt::format("L{}: ", line);
    switch (pick(4)) {
    case 0:
      text += "add.u32 r, r, 1;\n";
      break;
    case 1:
      text += fmt::format("bra L{};\n", line + 1 + pick(count - line));
      break;
    default:
      text += fmt::format("@p bra L{};\n", pick(count + 1));
      break;
    }
  }
  text += fmt::format("L{}: add.u32 r, r, 2;\nret; }}", count);
  return warpfold::ptx::parse(text);
}

std::vector<bool> reachable(const std::vector<BasicBlock>& blocks, std::uint32_t from,
                            std::uint32_t without) {
  std::vector<bool> seen(blocks.size(), false);
  std::vector<std::uint32_t> open;
  if (from != without) open.push_back(from);
  while (!open.empty()) {
    const std::uint32_t block = open.back();
    open.pop_back();
    if (seen[block]) continue;
    seen[block] = true;
    for (const std::uint32_t next : blocks[block].successors) {
      if (next != without) open.push_back(next);
    }
  }
  return seen;
}

// By definition, p post-dominates b if without p, the end cannot be reached from b. The immediate
// post-dominator is the one that all the others post-dominate too.
std::uint32_t slow_post_dominator(const std::vector<BasicBlock>& blocks, std::uint32_t block) {
  const auto end = static_cast<std::uint32_t>(blocks.size() - 1);
  std::set<std::uint32_t> all;
  for (std::uint32_t other = 0; other < blocks.size(); ++other) {
    if (other != block && !reachable(blocks, block, other)[end]) all.insert(other);
  }
  for (const std::uint32_t candidate : all) {
    bool nearest = true;
    for (const std::uint32_t other : all) {
      nearest = nearest && (other == candidate || !reachable(blocks, candidate, other)[end]);
    }
    if (nearest) return candidate;
  }
  return BasicBlock::none;
}

TEST(ControlFlow, CutsBodiesIntoBlocksThatCoverThem) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const Module module = module_of_random_function(random, 1 + round % 23);
    const Function& function = module.functions.at(0);
    const auto blocks = warpfold::ptx::basic_blocks(function);
    std::uint32_t next = 0;
    for (const BasicBlock& block : blocks) {
      EXPECT_EQ(block.begin, next);
      EXPECT_LT(block.begin, block.end);
      for (std::uint32_t index = block.begin; index + 1 < block.end; ++index) {
        EXPECT_NE(function.body[index].opcode, "bra");
      }
      next = block.end;
    }
    EXPECT_EQ(next, function.body.size());
  }
}

TEST(ControlFlow, FindsTheImmediatePostDominators) {
  std::mt19937 random(2);
  for (int round = 0; round < 400; ++round) {
    const Module module = module_of_random_function(random, 1 + round % 19);
    const auto blocks = warpfold::ptx::basic_blocks(module.functions.at(0));
    for (std::uint32_t block = 0; block + 1 < blocks.size(); ++block) {
      ASSERT_EQ(blocks[block].post_dominator, slow_post_dominator(blocks, block))
          << "round " << round << ", block " << block;
    }
    EXPECT_EQ(blocks.back().post_dominator, BasicBlock::none);
  }
}

// The lanes that skip the body of the condition meet the others before the next round, though no path leads
// to the function's end: as nvcc arranges for (;;) { if (p) r += 1; barrier; }
TEST(ControlFlow, LanesMeetAgainInEachRoundOfALoopWithoutEnd) {
  const Module module =
      warpfold::ptx::parse(".version 8.0\n.target sm_75\n.entry k() { .reg .pred p; .reg .b32 r;\n"
                           "bra TEST;\nMEET: bar.sync 0;\nTEST: @p bra MEET;\nadd.u32 r, r, 1;\n"
                           "bra MEET; }");
  const std::vector<BasicBlock> blocks = warpfold::ptx::basic_blocks(module.functions[0]);
  ASSERT_EQ(blocks.size(), 4u); // the entry, MEET, TEST, and the addition
  EXPECT_EQ(blocks[2].post_dominator, 1u);
  EXPECT_EQ(blocks[3].post_dominator, 1u);
}

} // namespace
