#include "promises/usual.hpp"

namespace lab::promises {
namespace {

double two_per_thread(const Size& s) {
  return 2.0 * s.block;
}
double depth_in_one_block(const Size& s) {
  return 1 + log2(s.block);
}
// An element goes through every step of its block's tree, and each block's sum is added to the result.
double depth_of_tree(const Size& s) {
  return log2(s.block) + ceil_div(s.n, s.block);
}

Promise one_block() {
  return equal(Counter::blocks, one, "one block does everything");
}
Promise no_shared_memory() {
  return none(Counter::shared_accesses, "this rung works in global memory, in place");
}
// The most elements that a thread of the tree in place reads: two in each step, and the result.
Promise tree_in_place_by_all_threads() {
  return at_most(
      Counter::elements_read_by_thread, [](const Size& s) { return 2 * log2(2 * s.block) + 2; },
      "a thread of the tree adds one pair in each step; no thread may add up alone");
}
// What the first warp of a tree with halving strides reads: more than any other of either tree. A block of
// one warp reads everything.
Promise tree_in_place_by_all_warps() {
  return at_most(
      Counter::elements_read_by_warp, [](const Size& s) { return 64 * (log2(s.warps()) + 2) + 8; },
      "all warps of the block must work on the tree");
}
// A volatile load is not counted as its thread's, as it may poll.
Promise plain_loads() {
  return none(Counter::strong_load_sectors, "the barrier orders the accesses, so plain loads are enough");
}
Promise tree_in_place() {
  return at_most(
      Counter::elements_read, [](const Size& s) { return 2.0 * s.n + 1; },
      "each addition of the tree reads two elements, and there are n - 1 additions");
}
// With strides that double, only thread 0's element is its own; it works in every step, as long as there is
// an element one stride further on.
Promise first_thread_in_every_step() {
  return equal(
      Counter::own_place_stores, [](const Size& s) { return log_ceil(s.n, 2) + 1; },
      "thread t must work on element 2 * t, so that thread 0 adds to element 0 in every step, and then "
      "stores "
      "the result");
}
Promise each_thread_at_its_own_element() {
  return equal(
      Counter::own_place_stores, [](const Size& s) { return double(s.n); },
      "in each step, thread t must add to element t");
}
// Of a tree in shared memory, where each thread has stored its own partial sum before.
Promise each_thread_at_its_own_partial() {
  return at_least(
      Counter::own_place_stores, [](const Size& s) { return s.blocks * (2.0 * s.block - 1); },
      "in each step, thread t must add to partial[t], its own partial sum");
}
Promise sums_go_to_lower_threads() {
  return none(Counter::stores_at_others,
              "each thread adds to its own partial sum the one a stride further on, so that the block's sum "
              "ends at thread 0, without a copy");
}
Promise first_thread_at_first_pair() {
  return equal(
      Counter::own_place_stores, [](const Size& s) { return s.blocks * (s.block + log2(s.block)); },
      "thread t must take the pair that starts at 2 * stride * t, so that thread 0 takes the first pair in "
      "every step");
}
std::vector<Promise> pairs_in_place() {
  return {
      a_barrier_for_each_step(),
      at_most(
          Counter::barriers_per_block, [](const Size& s) { return log2(s.block) + 1; },
          "the strides are the powers of two from 1 to the block size, and the block waits once for each"),
      none(Counter::atomic_operations, "threads that add in pairs need no atomic"),
      the_whole_block_waits(),
      tree_in_place_by_all_threads(),
      tree_in_place_by_all_warps(),
      tree_in_place(),
      plain_loads(),
      no_shuffle(),
      no_vote()};
}

} // namespace

std::vector<Rung> tree() {
  return {
      Rung("in_place_interleaved")
          .up_to(two_per_thread)
          .depth(depth_in_one_block)
          .promise(one_block())
          .promise(no_shared_memory())
          .promise(pairs_in_place())
          .promise(at_least(
              Counter::divergent_branches, [](const Size& s) { return 4.0 * s.warps(); },
              "the working threads must be the multiples of the stride, spread over all warps"))
          .promise(first_thread_in_every_step()),
      Rung("in_place_sequential")
          .up_to(two_per_thread)
          .also_counted_with([](const Size&) { return 100.0; }) // the strides do not begin with n
          .depth(depth_in_one_block)
          .promise(one_block())
          .promise(no_shared_memory())
          .promise(pairs_in_place())
          .promise(at_most(
              Counter::global_load_sectors, [](const Size& s) { return s.n / 2.0; },
              "working threads must read neighbouring elements, which share sectors"))
          .promise(at_most(
              Counter::divergent_branches, [](const Size& s) { return 2 * log2(s.block); },
              "the working threads must be the first ones, so that each warp is fully active or fully idle"))
          .adds_in_a_block_like(by_halving_strides, halving_strides, 2)
          .promise(each_thread_at_its_own_element()),
      Rung("one_block_shared")
          .up_to(two_per_thread)
          .depth(depth_in_one_block)
          .adds_in_a_block_like(by_halving_strides, halving_strides, 2)
          .promise(one_block())
          .promise(equal(
              Counter::elements_read, [](const Size& s) { return double(s.n); },
              "each element must be read from global memory once; the tree must work in shared memory"))
          .promise(each_thread_reads_at_most(two_elements))
          .promise(neighbours_read_neighbours())
          .promise(tree_of_halving_strides())
          .promise(a_barrier_for_each_step())
          .promise(no_barrier_but_for_the_steps())
          .promise(the_whole_block_waits())
          .promise(none(Counter::atomic_operations, "one block needs no atomic")),
      Rung("interleaved")
          .depth(depth_of_tree)
          .promise(one_element_per_thread())
          .promise(no_shuffle())
          .promise(no_vote())
          .promise(one_store_per_addition())
          .promise(tree_by_all_threads())
          .promise(a_barrier_for_each_step())
          .promise(no_barrier_but_for_the_steps())
          .promise(the_whole_block_waits())
          .promise(at_least(
              Counter::divergent_branches, [](const Size& s) { return 4.0 * s.warps() * s.blocks; },
              "the working threads must be the multiples of 2 * stride, spread over all warps"))
          .promise(one_atomic_per_block())
          .promise(each_thread_at_its_own_partial())
          .promise(sums_go_to_lower_threads()),
      Rung("strided_index")
          .depth(depth_of_tree)
          .promise(one_element_per_thread())
          .promise(no_shuffle())
          .promise(no_vote())
          .promise(one_store_per_addition())
          .promise(tree_by_all_threads())
          .promise(a_barrier_for_each_step())
          .promise(no_barrier_but_for_the_steps())
          .promise(the_whole_block_waits())
          .promise(at_most(
              Counter::divergent_branches, [](const Size& s) { return 7.0 * s.blocks; },
              "the working threads must be the first ones of the block, so that whole warps become idle, and "
              "they need no other condition than that their pair begins at an index below the block's size"))
          .promise(at_least(
              Counter::bank_conflicts, [](const Size& s) { return s.blocks; },
              "thread t must work on index 2 * stride * t, so that lanes use the same banks"))
          .promise(first_thread_at_first_pair())
          .promise(one_atomic_per_block()),
      Rung("sequential")
          .depth(depth_of_tree)
          .adds_in_a_block_like(by_halving_strides, halving_strides, 1)
          .promise(one_element_per_thread())
          .promise(tree_of_halving_strides())
          .promise(one_atomic_per_block())
          .promise(each_thread_at_its_own_partial())
          .promise(a_barrier_for_each_step())
          .promise(no_barrier_but_for_the_steps())
          .promise(the_whole_block_waits()),
      Rung("first_add")
          .tried_beyond_32_bits(Beyond32Bits::in_tiles)
          .depth(depth_of_first_add)
          .adds_in_a_block_like(by_halving_strides, halving_strides, 2)
          .promise(two_elements_per_thread())
          .promise(block_reads_a_part_of(two_per_thread))
          .promise(tree_of_halving_strides())
          .promise(one_atomic_per_block())
          .promise(each_thread_at_its_own_partial())
          .promise(a_barrier_for_each_step())
          .promise(no_barrier_but_for_the_steps())
          .promise(the_whole_block_waits()),
      Rung("many_pass")
          .builds_on("first_add")
          .tried_beyond_32_bits(Beyond32Bits::in_passes)
          .also_counted_with(two_per_thread)
          .same_bits()
          .depth([](const Size& s) { return (1 + log2(s.block)) * log_ceil(s.n, 2.0 * s.block); })
          .promise(no_atomic_for_block_sums())
          .promise(each_thread_reads_at_most(two_elements))
          .promise(at_least(
              Counter::elements_read, [](const Size& s) { return double(s.n); },
              "the first pass must read every element"))
          .promise(at_most(
              Counter::blocks,
              [](const Size& s) { return 1.01 * double(ceil_div(s.n, 2 * std::size_t{s.block})) + 4; },
              "in each pass a block covers two elements per thread"))
          .promise(neighbours_read_neighbours())
          .promise(one_store_per_block())
          .promise(nothing_copied_on_devices())
          .promise(first_thread_alone_adds())
          .promise(tree_by_all_threads())
          .promise(the_whole_block_waits())
          .promise(at_most(
              Counter::launches, [](const Size& s) { return log_ceil(s.n, 2.0 * s.block); },
              "each pass leaves one element per block, and the last pass is the one in which one block "
              "covers what is left"))};
}

} // namespace lab::promises
