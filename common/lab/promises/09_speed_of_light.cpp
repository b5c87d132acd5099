#include "promises/usual.hpp"

#include <algorithm>

namespace lab::promises {
namespace {

// The number of blocks that add to one value.
double blocks_of_wave(const Size& s) {
  return std::min<double>(double(s.n) / 4 / s.block + 1, resident_blocks(s.block));
}
// Of the champion, with 256 threads, for inputs as small as those counted.
constexpr double elements_of_tile = 8192;
double blocks_of_champion(const Size& s) {
  return std::min(double(s.n) / elements_of_tile + 1, 64.0 * multiprocessors());
}

// Whole vectors of four, spread as evenly as possible, and one of the elements before and after them.
double vectors_of_wave(const Size& s) {
  return 4.0 * double(ceil_div(s.n / 4, std::size_t{resident_blocks(s.block)} * s.block)) + 1;
}

} // namespace

std::vector<Rung> speed_of_light() {
  return {
      Rung("vectorised")
          .depth([](const Size& s) { return 13 + double(s.n) / 4 / s.block + 1; })
          .promise(neighbours_read_neighbours())
          .promise(at_most(
              Counter::global_load_requests, [](const Size& s) { return double(s.n) / 128 + 4; },
              "a warp that loads 16 bytes per thread asks once for 128 elements"))
          .promise(equal(
              Counter::blocks, [](const Size& s) { return double(ceil_div(s.n / 4 + 1, s.block)); },
              "one thread per vector of four elements"))
          .promise(each_thread_reads_at_most([](const Size&) { return 5.0; }))
          .promise(reads_each_element_once())
          .promise(one_read_per_warp_sum())
          .promise(one_atomic_per_block()),
      Rung("one_wave")
          .also_counted_with([](const Size& s) { return 16 * threads_of_walk(s); }) // four vectors each
          .depth([](const Size& s) {
            const double blocks = blocks_of_wave(s);
            return 14 + double(s.n) / (blocks * s.block) + blocks;
          })
          .promise(at_most(
              Counter::blocks,
              [](const Size& s) {
                return double(
                    std::min<std::size_t>(resident_blocks(s.block), ceil_div(s.n / 4 + 1, s.block)));
              },
              "blocks beyond those that the GPU holds at once start only when others end, and a block for "
              "which no vector is left has nothing to do"))
          .promise(at_least(
              Counter::loads_at_once,
              [](const Size& s) { return double(s.n) / 4 / (s.blocks * s.block) >= 4 ? 2.0 : 0.0; },
              "as long as four vectors are left, a thread must load four of them, into an array, before it "
              "adds the first"))
          .promise(equal(Counter::atomic_operations, once_per_block, "each block adds to the result once"))
          .promise(neighbours_read_neighbours())
          .promise(at_most(Counter::elements_read_by_thread, vectors_of_wave,
                           "the vectors must be shared evenly by as many blocks as give each vector a "
                           "thread (rounded up), or as many as the GPU holds"))
          .promise(reads_each_element_once())
          .promise(one_read_per_warp_sum())
          .promise(none(Counter::fences, "only the atomic passes values from block to block")),
      Rung("last_block")
          .depth([](const Size& s) {
            const double blocks = blocks_of_wave(s);
            return 26 + double(s.n) / (blocks * s.block) + blocks / s.block;
          })
          .promise(equal(Counter::launches, one, "the last block does what a second launch would do"))
          .promise(equal(Counter::atomic_operations, once_per_block,
                         "each block counts itself once and makes no other atomic"))
          .promise(each_thread_reads_at_most([](const Size& s) {
            const double more = s.n % 4 == 0 ? 0 : 1; // what does not fill a vector
            return vectors_of_wave(s) - 1 + more + double(ceil_div(std::size_t(s.blocks), s.block));
          }))
          .promise(at_least(
              Counter::elements_read, [](const Size& s) { return double(s.n); },
              "every element must be read"))
          .promise(at_least(
              Counter::loads_at_once,
              [](const Size& s) { return double(s.n) / 4 / (s.blocks * s.block) >= 4 ? 1.5 : 0.0; },
              "a thread must ask for several vectors, into an array, before it waits for the first; not one "
              "by one"))
          .promise(neighbours_read_neighbours())
          .promise(no_float_atomics())
          .promise(at_least(
              Counter::fences, [](const Size& s) { return s.blocks + 1; },
              "a block's sum must be visible before the block counts itself, and the last block needs a "
              "fence between its count and the reading of the sums"))
          .promise(at_most(
              Counter::fences, [](const Size& s) { return 2 * s.blocks + 32; },
              "the thread that stores the block's sum calls the fence, and no other one"))
          .same_bits(),
      Rung("champion")
          .block_sizes(256, 256)
          .tried_on_emulator_with(200'003,
                                  "So many doubles make more than 32 blocks, more than the lanes of a warp "
                                  "that collects their words: is each word awaited, added once and set back "
                                  "to 0?",
                                  Type::float64)
          .tried_on_small_device(700'003,
                                 "There are more tiles than blocks here: each block must go on to every "
                                 "gridDim.x-th tile after its first one, and the last tile, which is not "
                                 "whole, belongs to whichever block that leads to.")
          .depth([](const Size& s) {
            const double blocks = blocks_of_champion(s);
            return 30 + double(s.n) / (blocks * 256) + blocks / 32;
          })
          .promise(equal(Counter::launches, one, "everything happens in one launch"))
          .promise(at_most(Counter::atomic_operations, once_per_block,
                           "each block takes one ticket and makes no other atomic"))
          .promise(at_least(
              Counter::elements_read, [](const Size& s) { return double(s.n); },
              "every element must be read"))
          .promise(each_thread_reads_at_most([](const Size& s) {
            constexpr std::size_t threads = 256, loads = 8; // for inputs as small as those counted
            const std::size_t tiles = ceil_div(s.n / 4, threads * loads);
            const std::size_t blocks = std::size_t(blocks_of_champion(s)) + 1;
            return 4.0 * loads * double(ceil_div(tiles, std::min(tiles, blocks))) + 2;
          }))
          .promise(at_least(
              Counter::weak_loads_at_once,
              [](const Size& s) { // 8 vectors per tile, or what there is for 256 threads
                return std::min(6.0, double(s.n) / 4 / 256 - 0.5);
              },
              "a thread must start all loads of a tile before it uses the first value"))
          .promise(at_most(
              Counter::elements_spanned_by_block,
              [](const Size& s) {
                return s.n > blocks_of_champion(s) * elements_of_tile ? double(s.n) : elements_of_tile + 3;
              },
              "a thread's vectors of a tile are `threads` apart, so that a block's tile is one piece of the "
              "input"))
          .promise(at_least(
              Counter::elements_spanned_by_block,
              [](const Size& s) {
                return s.n > (s.blocks + 1) * elements_of_tile ? s.blocks * elements_of_tile : 0;
              },
              "a block's tiles are number blockIdx.x and then every gridDim.x-th, so that no block has two "
              "more than another"))
          .promise(at_least(
              Counter::strong_loads_in_flight, [](const Size& s) { return s.blocks > 1 ? 5.0 : 0.0; },
              "the threads that collect must read several words before they wait for the first one"))
          .promise(no_float_atomics())
          .promise(at_most(
              Counter::weak_load_sectors, // how often a block asks for another's mark is not its own doing
              [](const Size& s) { return 1.5 * double(ceil_div(s.n, 8)) + 64 * s.blocks; },
              "the lanes of a warp must load neighbouring vectors: a thread's own vectors lie a whole "
              "block apart"))
          .promise(at_least(
              Counter::elements_written, [](const Size& s) { return s.blocks > 1 ? 4 * s.blocks : 0; },
              "each block's word must be written, and set back to 0 once it has been read: the next launch "
              "uses it again"))
          .promise(none(Counter::fences, "a sum and its mark travel in one word, without a fence"))
          .promise(at_most(
              Counter::global_store_requests, [](const Size& s) { return s.blocks + 8; },
              "each block writes its word by one store, so that no reader sees its mark without its sum, and "
              "the last one clears all words, one per thread"))
          .same_bits()
          .reaches(0.85)};
}

} // namespace lab::promises
