#include "promises/usual.hpp"

namespace lab::promises {
namespace {

// Of the matrix of index_overflow, 4 MiB each: more bytes than an int can count, or an unsigned; or more
// words of 4 bytes than an int, for which the device needs some more memory than they take.
constexpr unsigned most_rows = 600, rows_beyond_unsigned = 1100, rows_beyond_int_in_words = 2100;
constexpr std::size_t memory_for_those = std::size_t{18} << 30;

double depth_of_elements(const Size& s) {
  return 32.0 + log2(s.block) + ceil_div(s.n, 32);
}

Promise one_atomic_per_warp() {
  return equal(
      Counter::atomic_operations, [](const Size& s) { return s.blocks * s.warps(); },
      "one atomic per warp adds the warp's value to the result");
}
// A thread beyond the end may read any element and leave it out.
std::vector<Promise> read_and_a_fraction_of_a_block() {
  return {at_least(
              Counter::elements_read, [](const Size& s) { return double(s.n); }, "each element must be read"),
          at_most(
              Counter::elements_read, [](const Size& s) { return double(s.n + s.block); },
              "each element must be read once")};
}
// The warps that have an element: a warp without one may leave.
double working_warps(const Size& s) {
  return double(ceil_div(s.n, 32));
}
double warps_of_all_blocks(const Size& s) {
  return s.blocks * s.warps();
}
// A barrier after each step and one before the first; a second one in a step, or one more at the end, does no
// harm. Whether there are enough of them, the hazards show.
Promise barriers_of_steps() {
  return at_most(
      Counter::barriers_per_block, [](const Size& s) { return 2 * log2(s.block) + 2; },
      "one barrier after each step, and one before the first, are enough");
}
// Several times what any of these kernels takes. Where blocks wait for others, their loops may take more.
template <int per_thread = 512>
Promise as_fast_as_meant() {
  return at_most(
      Counter::thread_instructions,
      [](const Size& s) { return 64.0 * s.n + double(per_thread) * s.blocks * s.block; },
      "the kernel must stay as fast as it was meant to be, and this is far more than the loads, the "
      "additions and the steps take");
}
// Of the one thread that needs them, and as many again, which do no harm.
template <int most>
Promise fences_at_most_per_block() {
  return at_most(
      Counter::fences, [](const Size& s) { return most * s.blocks; },
      "one thread of each block calls the fences, once before and once after what they order");
}
Promise five_shuffles() {
  return equal(
      Counter::shuffles, [](const Size& s) { return 5 * s.blocks * s.warps(); },
      "five shuffles add up a warp");
}
Promise two_stages() {
  return equal(
      Counter::shuffles, [](const Size& s) { return 5 * s.blocks * (s.warps() + 1); },
      "five shuffles add up a warp, and five more the warps' sums");
}
// And once more by the last block, for the blocks' sums.
Promise two_stages_and_once_more() {
  return equal(
      Counter::shuffles, [](const Size& s) { return 5 * (s.blocks + 1) * (s.warps() + 1); },
      "five shuffles add up a warp, five more the warps' sums, and the last block does both twice");
}

} // namespace

std::vector<Rung> hazards() {
  return {
      Rung("missing_barrier")
          .broken()
          .depth(depth_of_walk)
          .promise(as_fast_as_meant<>())
          .promise(grid_stride_walk())
          .promise(tree_of_halving_strides())
          .promise(barriers_of_steps())
          .promise(one_atomic_per_block()),
      Rung("divergent_barrier")
          .broken()
          .depth(depth_of_walk)
          .promise(as_fast_as_meant<>())
          .promise(grid_stride_walk())
          .promise(tree_of_halving_strides())
          .promise(barriers_of_steps())
          .promise(the_whole_block_waits())
          .promise(one_atomic_per_block()),
      Rung("unwritten_shared")
          .broken()
          .depth(depth_of_elements)
          .promise(as_fast_as_meant<>())
          .promise(one_element_per_thread())
          .promise(tree_of_halving_strides())
          .promise(barriers_of_steps())
          .promise(at_most(
              Counter::shared_store_requests,
              [](const Size& s) { return s.blocks * (4 * s.warps() + 2 * log2(s.block)); },
              "each thread must store its own partial sum: one thread that stores for all takes as long as "
              "all "
              "others together wait"))
          .promise(one_atomic_per_block()),
      Rung("volatile_tail")
          .broken()
          .block_sizes(64, 1024)
          .depth(depth_of_walk)
          .promise(as_fast_as_meant<>())
          .promise(grid_stride_walk())
          .promise(tree_by_all_threads())
          .promise(equal(
              Counter::barriers_per_block, [](const Size& s) { return log2(s.block / 32); },
              "the last warp needs no barrier of the whole block"))
          .promise(the_whole_warp_waits())
          .promise(one_atomic_per_block()),
      Rung("absent_lanes")
          .broken()
          .depth(depth_of_elements)
          .promise(as_fast_as_meant<>())
          .promise(at_least(
              Counter::shuffles, [](const Size& s) { return 5 * working_warps(s); },
              "five shuffles add up each warp that has an element"))
          .promise(at_most(
              Counter::shuffles, [](const Size& s) { return 5 * warps_of_all_blocks(s); },
              "five shuffles add up a warp"))
          .promise(
              at_least(Counter::atomic_operations, working_warps, "one atomic per warp that has an element"))
          .promise(at_most(Counter::atomic_operations, warps_of_all_blocks,
                           "one atomic per warp adds the warp's value to the result"))
          .promise(one_thread_per_element())
          .promise(each_thread_reads_at_most(one_element))
          .promise(neighbours_read_neighbours())
          .promise(read_and_a_fraction_of_a_block()),
      Rung("stale_reads")
          .broken()
          .depth(depth_of_walk)
          .promise(as_fast_as_meant<>())
          .promise(grid_stride_walk())
          .promise(warps_and_then_their_sums())
          .promise(one_atomic_per_block())
          .promise(equal(Counter::shared_load_requests, once_per_block,
                         "the warps' sums must be read from shared memory once")),
      Rung("across_blocks")
          .broken()
          .depth(depth_of_walk)
          .promise(each_thread_reads_at_most([](const Size& s) {
            return elements_of_walk(s) + double(ceil_div(resident_blocks(s.block), s.block));
          }))
          .promise(neighbours_read_neighbours())
          .promise(at_least(
              Counter::elements_read, [](const Size& s) { return double(s.n); },
              "every element must be read"))
          .promise(no_float_atomics())
          .promise(at_most(
              Counter::blocks, [](const Size& s) { return double(resident_blocks(s.block)) + 1; },
              "the grid must fit the device, and one more block may finish"))
          .promise(one_read_per_warp_sum())
          .promise(at_least(
              Counter::shuffles,
              [](const Size& s) { return 5.0 * resident_blocks(s.block) * (s.warps() + 1); },
              "five shuffles add up a warp, and five more the warps' sums"))
          .promise(at_most(
              Counter::launches, [](const Size&) { return 2.0; },
              "a second launch waits for all blocks of the first"))
          .promise(at_most(Counter::atomic_operations, once_per_block,
                           "no more than one atomic per block is needed to know which is the last")),
      Rung("narrow_fence")
          .broken()
          .same_bits()
          .depth(depth_of_walk)
          .promise(as_fast_as_meant<>())
          .promise(equal(
              Counter::launches, [](const Size&) { return 1.0; }, "one launch, whose last block finishes"))
          .promise(equal(Counter::atomic_operations, once_per_block,
                         "each block draws one ticket, and nothing else in this kernel needs to be atomic"))
          .promise(fences_at_most_per_block<3>())
          .promise(no_float_atomics())
          .promise(grid_fits_device())
          .promise(each_thread_reads_at_most([](const Size& s) {
            return elements_of_walk(s) + double(ceil_div(resident_blocks(s.block), s.block));
          }))
          .promise(equal(
              Counter::elements_read, [](const Size& s) { return double(s.n) + s.blocks; },
              "each element must be read once, and then each block's sum"))
          .promise(neighbours_read_neighbours())
          .promise(at_most(
              Counter::shared_elements_read_by_thread, [](const Size&) { return 3.0; },
              "the lanes of the first warp must read the warps' sums, one each, in either stage"))
          .promise(two_stages_and_once_more()),
      Rung("open_lock")
          .broken()
          .depth(depth_of_walk)
          .promise(equal(
              Counter::launches, [](const Size&) { return 1.0; }, "one launch, in which blocks take turns"))
          .promise(none(Counter::float_atomics, "under the lock, a block adds its sum by a load and a store"))
          .promise(fences_at_most_per_block<4>())
          .promise(at_least(
              Counter::atomic_operations, [](const Size& s) { return 2 * s.blocks; },
              "each block takes the lock and gives it back"))
          .promise(at_most(Counter::atomic_exchanges, once_per_block,
                           "a block must give the lock back once: afterwards, another block may have it"))
          .promise(grid_fits_device())
          .promise(each_thread_reads_at_most([](const Size& s) { return elements_of_walk(s) + 1; }))
          .promise(equal(
              Counter::elements_read, [](const Size& s) { return double(s.n) + s.blocks; },
              "each element must be read once, and the result once by each block"))
          .promise(neighbours_read_neighbours())
          .promise(two_stages()),
      Rung("lost_tail")
          .broken()
          .tried_beyond_32_bits(Beyond32Bits::in_tiles)
          .depth(depth_of_elements)
          .promise(as_fast_as_meant<>())
          .promise(one_element_per_thread())
          .promise(two_stages())
          .promise(one_atomic_per_block()),
      Rung("wrong_identity")
          .broken()
          .with(Operator::max)
          .promise(as_fast_as_meant<>())
          .promise(grid_fits_device())
          .promise(walk_is_spread())
          .promise(neighbours_read_neighbours())
          .promise(five_shuffles())
          .promise(one_atomic_per_warp()),
      Rung("index_overflow")
          .broken()
          .up_to([](const Size&) { return double(most_rows); })
          .tried_on_emulator_with(
              rows_beyond_unsigned,
              "With a quarter as many rows it is right. Here row * pitch is more than 2^32 - 1, and an "
              "unsigned starts again at 0: is the product of 64 bits, and the offset too?")
          .or_with(rows_beyond_int_in_words, memory_for_those)
          .promise(as_fast_as_meant<192>()) // not an addition per row
          .promise(one_thread_per_element())
          .promise(each_thread_reads_at_most(one_element))
          .promise(reads_each_element_once())
          .promise(two_stages())
          .promise(one_atomic_per_block())};
}

} // namespace lab::promises
