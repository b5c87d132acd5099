// Sums of the first elements only: a tail that is lost, blocks or rounds that are missing.
#include "explain/hypotheses.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace lab {
namespace {

// A grid-stride loop that ends after its first round, or, if the grid is larger than that, blocks that are
// not added up.
void add_first_pass(Hypotheses& all, std::size_t threads) {
  const double launched = all.symptom.launched_blocks;
  const bool whole_grid =
      threads == (launched > 0 ? std::size_t(launched) : all.symptom.resident_blocks) * all.block;
  // Of the blocks that the grid has; each reads a whole number of its threads' elements.
  const double each = launched > 0 ? std::ceil(double(all.n) / launched / all.block) * all.block : 0;
  const auto share = each > 0 ? std::size_t(std::llround(double(threads) / each)) : 0;
  all.add_prefix("only-first-pass", threads, [threads, block = all.block, whole_grid, launched, share] {
    if (!whole_grid && share > 0 && double(share) < launched)
      return fmt::format(
          "The result is the sum of the first {} elements, about as many as {} of the {} blocks read: only "
          "the sums of the first blocks were added up, or the walk over the elements ends too early.",
          threads, share, launched);
    return fmt::format(
        "The result is the sum of the first {} elements, one for each thread of {} blocks: {}.", threads,
        threads / block,
        whole_grid
            ? "each thread added one element and did not walk on"
            : "each thread added one element and did not walk on, or only these blocks' sums were added up");
  });
}

} // namespace

// A whole number of parts, or the first part alone.
void add_prefixes(Hypotheses& all) {
  const std::size_t grid = std::size_t{all.symptom.resident_blocks} * all.block;
  for (const std::size_t part :
       {std::size_t{all.block}, 2 * std::size_t{all.block}, 4 * std::size_t{all.block},
        8 * std::size_t{all.block}, 16 * std::size_t{all.block}, grid, 2 * grid, 4 * grid, std::size_t{32},
        std::size_t{4}}) {
    const std::size_t count = all.n / part * part;
    if (all.n / part < 2) continue; // else it is one part alone, below
    all.add_prefix("lost-tail", count, [n = all.n, count, part] {
      return fmt::format("The result is the sum of the first {} elements ({} times {}): the last {}, which "
                         "do not fill a whole {}, are missing. A division that rounds down does this, and so "
                         "does a value that is assigned (=) where the rest had been added.",
                         count, count / part, part, n - count, part);
    });
  }
  all.add_prefix("lost-tail", all.n - std::min<std::size_t>(all.n, 1), [] {
    return std::string("The result is right except for the last element, which is missing.");
  });
  if (all.symptom.resident_blocks > 1) add_first_pass(all, grid);
  for (const unsigned each : {1u, 2u, 4u, 8u, 16u}) {
    const std::size_t count = std::size_t{each} * all.block;
    all.add_prefix("only-block-0", count, [block = all.block, each, count, one = all.symptom.one_block] {
      if (one) {
        return fmt::format(
            "The result is the sum of the first {} elements: each thread's second element, {} places further "
            "on, is missing: either its load or the step with stride {} is left out.",
            count, count, count);
      }
      return fmt::format("The result is the sum of the first {} elements, {} per thread for {} threads: the "
                         "threads do not walk on to the rest, or only block 0's part reached the result.",
                         count, each, block);
    });
  }
  for (const unsigned each : {1u, 2u, 4u}) {
    const std::size_t part = std::size_t{each} * all.block, blocks = ceil_div(all.n, part);
    if (blocks < 2) continue;
    all.add(
        "same-part",
        [part, blocks](const View& v) {
          return static_cast<double>(blocks) * reduce(*v.observation.input, 0, part).value;
        },
        [part, blocks] {
          return fmt::format("The result is {} times the sum of the first {} elements: each of the {} blocks "
                             "added the same part; the block's own number is missing from the index.",
                             blocks, part, blocks);
        },
        true, static_cast<double>(blocks));
  }
  for (std::size_t blocks = 2; blocks <= 8192; blocks *= 2) add_first_pass(all, blocks * all.block);
  all.add_prefix("index-overflow", all.n & 0xffffffff, [n = all.n] {
    return fmt::format("The result is the sum of the first {} elements, which is {} modulo 2^32: an index or "
                       "count of 32 bits overflowed.",
                       n & 0xffffffff, n);
  });
}

} // namespace lab
