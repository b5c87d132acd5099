// Promises that rungs of several labs make.
#pragma once

#include "promises/course.hpp"

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
  return none(Counter::atomic_operations, "block sums are to go to memory, one element per block");
}
inline Promise one_store_per_warp() {
  return equal(
      Counter::shared_store_requests, [](const Size& s) { return s.blocks * s.warps(); },
      "each warp is to leave one partial sum in shared memory, no more");
}
inline Promise a_barrier_for_each_step() {
  return at_least(
      Counter::barriers_per_block, [](const Size& s) { return log2(s.block); },
      "each step of the tree needs a barrier");
}
inline Promise grid_fits_device() {
  return at_most(
      Counter::blocks, [](const Size& s) { return double(resident_blocks(s.block)); },
      "the grid is to fit the device, whatever n is; each thread walks over the array");
}
inline Promise one_barrier_between_warps() {
  return equal(Counter::barriers_per_block, one,
               "the block is to wait once, between the warps' sums and the first warp's last step");
}

// Two elements per thread as they are loaded, the steps of a tree, an atomic for each block.
inline double depth_of_first_add(const Size& s) {
  return 1 + log2(s.block) + ceil_div(s.n, 2 * std::size_t{s.block});
}
// The elements that each thread adds up, where a grid that fits the device walks over the input.
inline double elements_of_walk(const Size& s) {
  return ceil_div(s.n, std::size_t{resident_blocks(s.block)} * s.block);
}
// Such a walk, the steps of a tree, an atomic for each block.
inline double depth_of_walk(const Size& s) {
  return elements_of_walk(s) + log2(s.block) + resident_blocks(s.block);
}

} // namespace lab::promises
