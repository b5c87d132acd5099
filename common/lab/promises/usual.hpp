// Promises that rungs of several labs share.
#pragma once

#include "promises/course.hpp"

#include <algorithm>
#include <cmath>

namespace lab::promises {

inline double one(const Size&) {
  return 1;
}
inline double once_per_block(const Size& s) {
  return s.blocks;
}

inline Promise one_atomic_per_block() {
  return equal(Counter::atomic_operations, once_per_block,
               "one atomic per block adds the block's sum to the result");
}
inline Promise no_atomic_for_block_sums() {
  return none(Counter::atomic_operations, "block sums must go to memory, one element per block");
}
// The places that no warp fills may be set to 0, by one store of the first warp.
inline std::vector<Promise> one_store_per_warp() {
  return {at_least(
              Counter::shared_store_requests, [](const Size& s) { return s.blocks * s.warps(); },
              "each warp must store its partial sum in shared memory"),
          at_most(
              Counter::shared_store_requests, [](const Size& s) { return s.blocks * (s.warps() + 1); },
              "each warp must store its partial sum in shared memory with one store"),
          at_most(
              Counter::shared_stores, [](const Size& s) { return s.blocks * (s.warps() + 32.0); },
              "one lane of each warp must store its partial sum, and the others must not")};
}
inline Promise a_barrier_for_each_step() {
  return at_least(
      Counter::barriers_per_block, [](const Size& s) { return log2(s.block); },
      "a tree is wanted, in which the block waits after each step");
}
// Beside those after the steps, one before them.
inline Promise no_barrier_but_for_the_steps() {
  return at_most(
      Counter::barriers_per_block, [](const Size& s) { return log2(s.block) + 1; },
      "the block must wait once in each step of the tree");
}
inline Promise the_whole_block_waits() {
  return at_least(
      Counter::warps_per_barrier, [](const Size& s) { return double(s.warps()); },
      "blocks need as many threads as `block` says, and all their warps must wait at each barrier, also "
      "those that have nothing to add");
}
inline Promise the_whole_warp_waits() {
  return at_least(
      Counter::lanes_per_warp_barrier, [](const Size&) { return 32.0; },
      "all lanes of the last warp must get to each __syncwarp(), without a condition around it");
}
inline Promise one_store_per_block() {
  return equal(Counter::elements_written, once_per_block,
               "one thread of each block must store the block's sum, and no other thread may store anything");
}
inline Promise first_thread_alone_adds() {
  return equal(Counter::first_thread_updates, once_per_block,
               "the first thread of each block must store or add the block's sum");
}
inline Promise grid_fits_device() {
  return at_most(
      Counter::blocks, [](const Size& s) { return double(resident_blocks(s.block)); },
      "the grid must fit the device, whatever n is; each thread walks over the array");
}
inline Promise grid_fills_device() {
  return at_least(
      Counter::blocks,
      [](const Size& s) {
        return double(std::min(std::size_t{resident_blocks(s.block)}, ceil_div(s.n, s.block)));
      },
      "as many blocks are wanted as the device can hold at once");
}
inline std::vector<Promise> one_barrier_between_warps() {
  return {equal(Counter::barriers_per_block, one,
                "the block must wait once, between the warps' sums and the first warp's last step"),
          the_whole_block_waits()};
}

// How the work is spread: over the blocks, the warps and the lanes.
inline Promise reads_each_element_once() {
  return equal(
      Counter::elements_read, [](const Size& s) { return double(s.n); }, "each element must be read once");
}
// The sectors of n elements of 4 bytes, one more for each block that starts within one, and a few of what
// blocks leave for one another.
// In each step of the grid, the lanes of one warp may be a step apart, where those before it have one more to
// go.
inline Promise neighbours_read_neighbours() {
  return at_most(
      Counter::global_load_sectors,
      [](const Size& s) {
        return double(ceil_div(s.n, 8)) + s.blocks + 8 + s.n / std::max(1.0, double(s.blocks) * s.block);
      },
      "the lanes of a warp must read neighbouring elements, from the beginning of a sector (32 bytes) on");
}
inline Promise each_thread_reads_at_most(Formula elements) {
  return at_most(Counter::elements_read_by_thread, elements, "the reading must be spread over all threads");
}
inline Promise one_thread_per_element() {
  return equal(
      Counter::blocks, [](const Size& s) { return double(ceil_div(s.n, s.block)); },
      "one thread per element, and no block without any");
}
inline Promise a_block_for_two_elements_per_thread() {
  return equal(
      Counter::blocks, [](const Size& s) { return double(ceil_div(s.n, 2 * std::size_t{s.block})); },
      "a block covers two elements per thread");
}
// Neighbouring elements: the first that it reads and the last are no further apart than that.
inline Promise block_reads_a_part_of(Formula elements) {
  return at_most(Counter::elements_spanned_by_block, elements,
                 "a block's elements must be neighbours: its own part of the input, with nothing in between "
                 "for other blocks");
}
inline double one_element(const Size&) {
  return 1;
}
inline double two_elements(const Size&) {
  return 2;
}
// Two elements in each step of a tree in shared memory, and one at the end.
inline Promise tree_by_all_threads() {
  return at_most(
      Counter::shared_elements_read_by_thread, [](const Size& s) { return 2 * log2(s.block) + 2; },
      "a thread of the tree adds one pair in each step; no thread may add up the block alone");
}
// Each thread may store its partial sum in up to three steps before; half of the threads in each step of the
// tree would store more than that.
inline Promise one_store_per_addition() {
  return at_most(
      Counter::shared_stores, [](const Size& s) { return 4.0 * s.blocks * s.block; },
      "a tree has one addition fewer than the block has threads, and each stores one sum");
}
inline Promise nothing_copied_on_devices() {
  return none(Counter::elements_copied_on_devices, "the last launch must store its sum in the result itself");
}
inline Promise no_shuffle() {
  return none(Counter::shuffles, "this rung adds up in shared memory, without shuffles");
}
inline Promise no_vote() {
  return none(Counter::votes, "threads add in pairs here: no vote and no reduction of threads may add for "
                              "them, and __syncthreads() waits without one");
}
inline Promise no_bank_conflict() {
  return none(Counter::bank_conflicts, "working threads must use neighbouring elements of shared memory");
}
inline Promise last_warp_alone_diverges() {
  return at_most(
      Counter::divergent_branches, [](const Size& s) { return 12.0 * s.blocks; },
      "the stride must halve, so that the first threads work and whole warps are idle; only in the last warp "
      "may some lanes work without the others");
}
inline Promise no_float_atomics() {
  return none(
      Counter::float_atomics,
      "atomics add floats in whatever order their threads come, so the last bits differ from run to run");
}
// The second stage may take only as many steps as the number of warps needs.
inline std::vector<Promise> warps_and_then_their_sums() {
  return {at_least(
              Counter::shuffles, [](const Size& s) { return s.blocks * (5 * s.warps() + log2(s.warps())); },
              "five shuffles must add up a warp, and more shuffles the warps' sums"),
          at_most(
              Counter::shuffles, [](const Size& s) { return s.blocks * 5 * (s.warps() + 1); },
              "five shuffles add up a warp: first in all warps, and then in the first warp alone")};
}
inline Promise one_read_per_warp_sum() {
  return at_most(Counter::shared_elements_read_by_thread, one_element,
                 "the lanes of the first warp must read the warps' sums, one each; what else lanes need of "
                 "each other comes by shuffles");
}

// Ways of sharing the reading that several rungs have in common: which threads there are, and that each reads
// its share, no element twice, next to its neighbour.
inline std::vector<Promise> one_element_per_thread() {
  return {one_thread_per_element(), reads_each_element_once(), each_thread_reads_at_most(one_element),
          neighbours_read_neighbours()};
}
inline std::vector<Promise> two_elements_per_thread() {
  return {a_block_for_two_elements_per_thread(), reads_each_element_once(),
          each_thread_reads_at_most(two_elements), neighbours_read_neighbours()};
}

// Two for each addition of a block's tree.
inline Promise idle_threads_read_nothing() {
  return at_most(
      Counter::shared_loads, [](const Size& s) { return 2.0 * s.blocks * s.block; },
      "each addition of the tree reads two sums, and the threads that have nothing to add read none");
}
// A tree in shared memory in which whole warps fall idle, without bank conflicts.
inline std::vector<Promise> tree_of_halving_strides() {
  return {no_shuffle(),
          no_vote(),
          tree_by_all_threads(),
          idle_threads_read_nothing(),
          no_bank_conflict(),
          last_warp_alone_diverges(),
          one_store_per_addition()};
}

// The order of additions of such a tree.
constexpr const char* halving_strides =
    "in pairs one stride apart, with the stride halving from half of them";
inline float by_halving_strides(const std::vector<float>& all, unsigned block) {
  std::vector<float> elements = all;
  do {
    const std::size_t blocks = std::max<std::size_t>(1, ceil_div(elements.size(), block));
    elements.resize(blocks * block);
    for (std::size_t b = 0; b < blocks; ++b) {
      float* const partial = elements.data() + b * block;
      for (unsigned stride = block / 2; stride > 0; stride /= 2)
        for (unsigned t = 0; t < stride; ++t) partial[t] += partial[t + stride];
      elements[b] = partial[0];
    }
    elements.resize(blocks);
  } while (elements.size() > 1);
  return elements[0];
}

// Two elements per thread while they are loaded, the steps of a tree, and one atomic per block.
inline double depth_of_first_add(const Size& s) {
  return 1 + log2(s.block) + ceil_div(s.n, 2 * std::size_t{s.block});
}
// The number of elements that each thread adds up if a grid that fits the device walks over the input.
inline double elements_of_walk(const Size& s) {
  return ceil_div(s.n, std::size_t{resident_blocks(s.block)} * s.block);
}
// A grid that fits the device.
inline double threads_of_walk(const Size& s) {
  return double(resident_blocks(s.block)) * s.block;
}
// The first block has the first element of each round; of blocks that walk over parts of their own, none
// reads from end to end.
template <double (*threads)(const Size&) = threads_of_walk>
Promise walk_steps_by_the_grid() {
  return at_least(
      Counter::elements_spanned_by_block,
      [](const Size& s) { return s.n == 0 ? 0 : threads(s) * std::floor(double(s.n - 1) / threads(s)) + 1; },
      "each thread must step by the number of threads in the whole grid, so that a block's elements lie all "
      "over the array and every block has work to do");
}
inline Promise walk_is_spread() {
  return at_most(
      Counter::elements_read_by_thread, elements_of_walk,
      "the walk must be shared by all threads of as many blocks as the device holds (resident_blocks)");
}
// Two launches: the grid of the first walks over the input, and the block of the second walks over the
// blocks' sums, each of so many 4-byte words. On a large device with few elements, the second walk is the
// longer one.
template <int words_per_sum = 1>
Promise both_walks_are_spread() {
  return at_most(
      Counter::elements_read_by_thread,
      [](const Size& s) {
        const double sums = double(ceil_div(resident_blocks(s.block), s.block)) * words_per_sum;
        return std::max(elements_of_walk(s), sums);
      },
      "the walk must be shared by all threads of as many blocks as the device holds (resident_blocks), and "
      "the blocks' sums by all threads of the last one");
}
inline std::vector<Promise> grid_stride_walk() {
  return {grid_fits_device(),       grid_fills_device(),          walk_is_spread(),
          walk_steps_by_the_grid(), neighbours_read_neighbours(), reads_each_element_once()};
}
// Such a walk, the steps of a tree, and one atomic per block.
inline double depth_of_walk(const Size& s) {
  return elements_of_walk(s) + log2(s.block) + resident_blocks(s.block);
}

} // namespace lab::promises
