// Sums of threads that walk over the array at the wrong stride, or start in the wrong place.
#include "explain/hypotheses.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lab {

// Threads that walk over the array at the wrong stride, or start in the wrong place.
void add_walks(Hypotheses& all) {
  const std::size_t blocks = all.symptom.resident_blocks, grid = blocks * all.block, block = all.block;
  if (all.n > 2 * block && blocks != 2) { // with two blocks it is what the wrong stride gives, too
    all.add(
        "overlap",
        [=](const View& v) { return v.weighed([=](std::size_t i) { return i < block ? 1.0 : 2.0; }); },
        [block] {
          return fmt::format(
              "The result is right except that all elements from {} on were added twice: each block takes "
              "two elements per thread, but starts only {} elements after the block before it.",
              block, block);
        });
  }
  if (all.n > 2 * block) {
    all.add(
        "wrong-stride",
        [=](const View& v) {
          return v.weighed(
              [=](std::size_t i) { return static_cast<double>(std::min(i / block + 1, blocks)); });
        },
        [block] {
          return fmt::format(
              "The result is what you get when each block starts at its own {} elements and walks on with a "
              "stride of {}, its own size: the stride must be the size of the whole grid.",
              block, block);
        });
    const std::size_t needed = ceil_div(all.n, block);
    all.add(
        "wrong-index",
        [=](const View& v) {
          return v.weighed([=](std::size_t i) {
            const std::size_t last = std::min(i / needed, needed - 1);
            const std::size_t first = i < block ? 0 : (i - block) / needed + 1;
            return last < first ? 0.0 : static_cast<double>(last - first + 1);
          });
        },
        [=] {
          return fmt::format("The result is what you get when a block's first element is its number times "
                             "{}, the blocks of the grid, and not times {}, the threads of a block.",
                             needed, block);
        });
  }
  if (blocks > 1 && all.n > block) {
    all.add(
        "same-part",
        [=](const View& v) {
          return v.weighed([=](std::size_t i) { return i / block % blocks == 0 ? double(blocks) : 0.0; });
        },
        [=] {
          return fmt::format("The result is {} times what block 0 should add: each of the {} blocks starts "
                             "at element 0; the block's own number is missing from the index.",
                             blocks, blocks);
        },
        true, static_cast<double>(blocks));
  }
  for (const std::size_t each : {2, 4}) {
    if (all.n <= grid) continue;
    all.add(
        "wrong-stride",
        [=](const View& v) {
          return v.weighed([=](std::size_t i) { return i / grid % each == 0 ? 1.0 : 0.0; });
        },
        [=] {
          return fmt::format("The result is the sum of every {} stretch of {} elements, one for each thread "
                             "of a grid that fits the device: the stride is {} times the size of the grid.",
                             each == 2 ? "second" : "fourth", grid, each);
        });
  }
  for (const std::size_t part : {2 * block, 4 * block, 8 * block}) {
    if (all.n <= part) continue;
    all.add(
        "lost-part",
        [=](const View& v) {
          return v.weighed([=](std::size_t i) { return i / part % 2 == 0 ? 1.0 : 0.0; });
        },
        [part] {
          return fmt::format("The result lacks exactly the second half of every {} elements: each block "
                             "takes only half of its elements.",
                             2 * part);
        });
  }
  if (all.n > grid) {
    all.add(
        "first-twice",
        [=](const View& v) { return v.weighed([=](std::size_t i) { return i < grid ? 2 : 1; }); },
        [=] {
          return fmt::format(
              "The result is right except that the first {} elements, one for each thread of the grid, were "
              "added twice: each thread starts from its first element and meets it again on its walk.",
              grid);
        });
  }
  for (const std::size_t kept : {std::size_t{32}, block}) {
    if (kept >= blocks || all.n <= grid) continue;
    all.add(
        "lost-block",
        [=](const View& v) {
          return v.weighed([=](std::size_t i) { return i / block % blocks < kept ? 1 : 0; });
        },
        [=] {
          return fmt::format("The result is exactly what the first {} of the {} blocks contributed: the "
                             "other blocks' sums are missing.",
                             kept, blocks);
        });
  }
  for (std::size_t lost = 0; lost < blocks && all.n > grid; lost += std::max<std::size_t>(blocks - 1, 1)) {
    all.add(
        "lost-block",
        [=](const View& v) {
          return v.weighed([=](std::size_t i) { return i / block % blocks == lost ? 0.0 : 1.0; });
        },
        [=] {
          return fmt::format(
              "The result lacks exactly what block {} of the {} that the device holds contributed.", lost,
              blocks);
        });
  }
}

} // namespace lab
