#include "promises/usual.hpp"

#include <algorithm>

namespace lab::promises {
namespace {

// The blocks that add to one value.
double blocks_of_wave(const Size& s) {
  return std::min<double>(double(s.n) / 4 / s.block + 1, resident_blocks(s.block));
}
double blocks_of_champion(const Size& s) {
  return std::min(double(s.n) / 8192 + 1, 64.0 * multiprocessors());
}

} // namespace

std::vector<Rung> speed_of_light() {
  return {
      Rung("vectorised")
          .depth([](const Size& s) { return 13 + double(s.n) / 4 / s.block + 1; })
          .promise(at_most(
              Counter::global_load_requests, [](const Size& s) { return double(s.n) / 128 + 4; },
              "a warp that loads 16 bytes per thread asks once for 128 elements")),
      Rung("one_wave")
          .depth([](const Size& s) {
            const double blocks = blocks_of_wave(s);
            return 14 + double(s.n) / (blocks * s.block) + blocks;
          })
          .promise(at_most(
              Counter::blocks, [](const Size& s) { return double(resident_blocks(s.block)); },
              "blocks beyond those that the GPU holds at once start only when others end"))
          .promise(at_least(
              Counter::loads_at_once,
              [](const Size& s) { return double(s.n) / 4 / (s.blocks * s.block) >= 4 ? 2.0 : 0.0; },
              "a thread is to ask for several vectors before it waits for the first"))
          .promise(equal(Counter::atomic_operations, once_per_block, "each block adds to the result once")),
      Rung("last_block")
          .depth([](const Size& s) {
            const double blocks = blocks_of_wave(s);
            return 26 + double(s.n) / (blocks * s.block) + blocks / s.block;
          })
          .promise(equal(Counter::launches, one, "the block that comes last does what a second launch would"))
          .promise(equal(Counter::atomic_operations, once_per_block,
                         "each block counts itself once, and that is all"))
          .same_bits(),
      Rung("champion")
          .depth([](const Size& s) {
            const double blocks = blocks_of_champion(s);
            return 30 + double(s.n) / (blocks * 256) + blocks / 32;
          })
          .promise(equal(Counter::launches, one, "everything happens in one launch"))
          .promise(at_most(Counter::atomic_operations, once_per_block,
                           "each block takes one ticket, and that is all"))
          .same_bits()
          .reaches(0.85)};
}

} // namespace lab::promises
