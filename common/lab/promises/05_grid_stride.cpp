#include "promises/usual.hpp"

namespace lab::promises {
namespace {

constexpr unsigned folding_blocks = 256;
double threads_that_fold(const Size& s) {
  return double(folding_blocks) * s.block;
}

// The number of blocks if each covers a tile.
std::size_t tiles(const Size& s) {
  return ceil_div(s.n, std::size_t{s.elements_per_thread} * s.block);
}

} // namespace

std::vector<Rung> grid_stride() {
  return {
      Rung("thread_sums")
          .same_bits()
          .tried_on_emulator_with(
              (1 << 24) + 1001,
              "With a quarter as many elements it is right. A float counts in ones only up to 2^24 = "
              "16777216: is an index or a counter a float?")
          .finishes_on_host([](const Size& s) { return double(s.block); })
          .depth([](const Size& s) { return double(ceil_div(s.n, s.block) + s.block); })
          .promise(equal(Counter::blocks, one, "one block walks over the whole array"))
          .promise(none(Counter::atomic_operations, "the CPU adds up the threads' sums"))
          .promise(none(Counter::shared_accesses, "a thread adds in a register"))
          .promise(none(Counter::shuffles, "a thread adds up alone"))
          .promise(at_most(
              Counter::global_store_requests, [](const Size& s) { return double(s.warps()); },
              "a thread adds in a register, and stores its sum once"))
          .promise(equal(
              Counter::own_place_stores, [](const Size& s) { return double(s.block); },
              "thread t must store its sum in thread_sums[t]"))
          .on_the_host([](const Size& s) { return double(s.block); })
          .promise(reads_each_element_once())
          .promise(each_thread_reads_at_most([](const Size& s) { return double(ceil_div(s.n, s.block)); }))
          .promise(neighbours_read_neighbours()),
      Rung("one_thread_folds")
          .tried_beyond_32_bits(Beyond32Bits::in_a_walk, threads_that_fold)
          .promise(walk_steps_by_the_grid<threads_that_fold>())
          .depth([](const Size& s) {
            return double(ceil_div(s.n, std::size_t{folding_blocks} * s.block) + s.block + folding_blocks);
          })
          .promise(equal(
              Counter::blocks, [](const Size&) { return double(folding_blocks); }, "the grid has 256 blocks"))
          .promise(one_atomic_per_block())
          .promise(reads_each_element_once())
          .promise(each_thread_reads_at_most(
              [](const Size& s) { return double(ceil_div(s.n, std::size_t{folding_blocks} * s.block)); }))
          .promise(neighbours_read_neighbours())
          .promise(equal(Counter::barriers_per_block, one,
                         "the block must wait once; then thread 0 alone adds up"))
          .promise(first_thread_alone_adds())
          .promise(
              equal(Counter::grid_size_uses, one,
                    "the stride is the number of threads in the grid, gridDim.x * blockDim.x: other rungs "
                    "use this walk with other grids"))
          .promise(at_least(
              Counter::shared_elements_read_by_thread, [](const Size& s) { return s.block - 1.0; },
              "thread 0 must add up what the others left in shared memory"))
          .promise(at_most(
              Counter::shared_loads, [](const Size& s) { return 2.0 * s.blocks * s.block; },
              "thread 0 alone must add up the block's partial sums"))
          .promise(no_shuffle())
          .promise(no_vote()),
      Rung("grid_stride_tree")
          .tried_beyond_32_bits(Beyond32Bits::in_a_walk, threads_of_walk)
          .builds_on("one_thread_folds")
          .depth(depth_of_walk)
          .promise(grid_stride_walk())
          .promise(one_atomic_per_block())
          .promise(a_barrier_for_each_step())
          .promise(no_barrier_but_for_the_steps())
          .promise(the_whole_block_waits())
          .promise(tree_of_halving_strides())
          .reaches(0.2),
      Rung("grid_stride_two_kernels")
          .builds_on("grid_stride_tree")
          .same_bits()
          .depth([](const Size& s) {
            return elements_of_walk(s) + ceil_div(resident_blocks(s.block), s.block) + 2 * log2(s.block);
          })
          .promise(no_atomic_for_block_sums())
          .promise(one_store_per_block())
          .promise(first_thread_alone_adds())
          .promise(both_walks_are_spread())
          .promise(at_most(
              Counter::elements_read, [](const Size& s) { return double(s.n) + resident_blocks(s.block); },
              "each element must be read once, and so must each block's sum"))
          .promise(neighbours_read_neighbours())
          .promise(tree_of_halving_strides())
          .promise(the_whole_block_waits())
          .promise(nothing_copied_on_devices())
          .promise(equal(
              Counter::launches, [](const Size&) { return 2.0; },
              "one launch for the block sums, and a second one that adds them up"))
          .reaches(0.2),
      Rung("grid_stride_shuffle")
          .tried_beyond_32_bits(Beyond32Bits::in_a_walk, threads_of_walk)
          .builds_on("grid_stride_tree")
          .depth(depth_of_walk)
          .promise(grid_stride_walk())
          .promise(one_atomic_per_block())
          .promise(one_store_per_warp())
          .promise(one_read_per_warp_sum())
          .reaches(0.2),
      Rung("coarsened")
          .tried_beyond_32_bits(Beyond32Bits::in_tiles)
          .depth([](const Size& s) { return 2 * s.elements_per_thread + 10.0 + tiles(s); }) // at most
          .promise(equal(
              Counter::blocks, [](const Size& s) { return double(tiles(s)); },
              "a block covers a tile of 2 * coarsening elements per thread"))
          .promise(reads_each_element_once())
          .promise(each_thread_reads_at_most([](const Size& s) { return double(s.elements_per_thread); }))
          .promise(
              block_reads_a_part_of([](const Size& s) { return double(s.elements_per_thread) * s.block; }))
          .promise(neighbours_read_neighbours())
          .promise(one_atomic_per_block())
          .reaches(0.2)};
}

} // namespace lab::promises
