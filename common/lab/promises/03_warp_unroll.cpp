#include "promises/usual.hpp"

namespace lab::promises {
namespace {

Promise few_barriers() {
  return at_most(
      Counter::barriers_per_block, [](const Size& s) { return log2(s.block / 64) + 1; },
      "a barrier before the tree and one after each step of more than 64 sums are enough: the last six steps "
      "are one warp's (__syncwarp()), and steps that a block of this size does not have need none");
}

// One lane adds the block's sum to the result; each step of some lanes alone would be one more.
Promise last_warp_takes_steps_together() {
  return at_most(
      Counter::divergent_branches, [](const Size& s) { return 2 * s.blocks + 4; },
      "in the last warp, all lanes take each step, without a condition; what the upper ones add goes "
      "nowhere");
}

Promise last_steps_written_out() {
  return none(Counter::repeated_warp_barriers,
              "the last six steps are to be written out one after another, and these are still a loop in the "
              "compiled kernel");
}

Promise two_waits_for_each_last_step() {
  return at_most(
      Counter::warp_barriers, [](const Size& s) { return 13 * s.blocks; },
      "each of the six last steps has two waits of the warp, one before the store and one after it");
}

// The barriers before only the last warp is left.
Promise steps_of_all_warps() {
  return at_least(
      Counter::barriers_per_block, [](const Size& s) { return log2(s.block / 64) + 1; },
      "as long as more than 64 sums are left, all warps that have a pair must add it, with a barrier after "
      "each step");
}

} // namespace

std::vector<Rung> warp_unroll() {
  return {
      Rung("unroll_last_warp")
          .block_sizes(64, 1024)
          .depth(depth_of_first_add)
          .adds_in_a_block_like(by_halving_strides, halving_strides, 2)
          .promise(two_elements_per_thread())
          .promise(no_shuffle())
          .promise(no_vote())
          .promise(tree_by_all_threads())
          .promise(steps_of_all_warps())
          .promise(few_barriers())
          .promise(the_whole_warp_waits())
          .promise(two_waits_for_each_last_step())
          .promise(last_warp_takes_steps_together())
          .promise(last_steps_written_out())
          .promise(the_whole_block_waits())
          .promise(one_atomic_per_block()),
      Rung("unroll_all")
          .builds_on("unroll_last_warp")
          .block_sizes(64, 1024)
          .depth(depth_of_first_add)
          .adds_in_a_block_like(by_halving_strides, halving_strides, 2)
          .promise(two_elements_per_thread())
          .promise(no_shuffle())
          .promise(no_vote())
          .promise(tree_by_all_threads())
          .promise(steps_of_all_warps())
          .promise(few_barriers())
          .promise(the_whole_warp_waits())
          .promise(two_waits_for_each_last_step())
          .promise(last_warp_takes_steps_together())
          .promise(the_whole_block_waits())
          .promise(at_most(
              Counter::branches,
              [](const Size& s) { return s.blocks * s.warps() * (log2(s.block / 64) + 5); },
              "a question is left at each step of the tree, such as a loop's or an if's: its steps must be "
              "written out for this block size, and decided when it is compiled"))
          .promise(one_atomic_per_block())};
}

} // namespace lab::promises
