// Sums that are wrong because of what happens to every element alike, or to the result.
#include "explain/hypotheses.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <utility>

namespace lab {

// The result as a whole: what stood there before, or a multiple of what is right.
void add_whole(Hypotheses& all) {
  const double old = poison(all.symptom.observations[0].input->type, Kind::exact);
  all.add(
      "never-written", [old](const View&) { return old; },
      [old] {
        return fmt::format(
            "The result is {:.0f}, which the check put there before the launch: nothing was written to it.",
            old);
      });
  all.add(
      "added-to-old", [old](const View& v) { return v.observation.expected + old; },
      [old] {
        return fmt::format("The result is the right one plus {:.0f}, which the check put there before the "
                           "launch: the result was added to, but not set to 0 first.",
                           old);
      });
  all.add(
      "twice", [](const View& v) { return 2 * v.observation.expected; },
      [] {
        return std::string("The result is exactly twice the right one, as when each element is added twice.");
      });
  const std::pair<unsigned, const char*> crowds[] = {
      {32, "all 32 lanes of a warp added a value that only one should add"},
      {all.block / 32, "all warps of a block added a value that only one should add"},
      {all.block, "all threads of a block added a value that only one should add"}};
  for (const auto& [crowd, what] : crowds) {
    if (crowd < 2) continue;
    all.add(
        "many-times", [crowd = crowd](const View& v) { return crowd * v.observation.expected; },
        [crowd = crowd, what = what] {
          return fmt::format("The result is exactly {} times the right one: {}.", crowd, what);
        },
        true, crowd);
  }
}

// Subtractions instead of additions. In a tree that subtracts, an element counts negatively if it goes
// through an odd number of steps on its way to place 0: one for each bit that is set in its place.
void add_signs(Hypotheses& all) {
  all.add(
      "subtracted", [](const View& v) { return -v.observation.expected; },
      [] { return std::string("The result is the right one with the opposite sign: it was subtracted."); });
  const std::size_t block = all.block, blocks = all.symptom.resident_blocks;
  for (const bool in_blocks : {false, true}) {
    for (const int sign : {1, -1}) {
      all.add(
          "subtracted",
          [=](const View& v) {
            return v.weighed([=](std::size_t i) {
              const std::size_t of_block = in_blocks ? i / block % blocks % block : 0;
              return (std::popcount(i % block) + std::popcount(of_block)) % 2 == 0 ? sign : -sign;
            });
          },
          [in_blocks] {
            return fmt::format("The result is what you get when each step of the block's tree subtracts "
                               "instead of adding{}.",
                               in_blocks ? ", and so does the tree over the blocks' results" : "");
          });
    }
  }
}

// Loads of several elements, and numbers with too few bits.
void add_widths(Hypotheses& all) {
  for (const unsigned lost : {0u, 1u, 2u, 3u}) {
    if (all.n < 8) break;
    all.add(
        "lost-component",
        [n = all.n, lost](const View& v) {
          return v.weighed(
              [=, whole = n / 4 * 4](std::size_t i) { return i < whole && i % 4 == lost ? 0.0 : 1.0; });
        },
        [lost] {
          return fmt::format(
              "The result lacks exactly element {} of each group of four that are loaded together.", lost);
        });
  }
  // The elements beyond 2^16 may also be those that the walk of a whole grid leaves out.
  const std::size_t grid = std::size_t{all.symptom.resident_blocks} * all.block;
  if ((all.n & 0xffff) + grid != all.n)
    all.add_prefix("index-overflow", all.n & 0xffff, [n = all.n] {
      return fmt::format("The result is the sum of the first {} elements, which is {} modulo 2^16: an index "
                         "or count of 16 bits overflowed.",
                         n & 0xffff, n);
    });
}

// The least or the greatest of each group's elements in place of their sum.
void add_extremes(Hypotheses& all) {
  const std::pair<std::size_t, const char*> groups[] = {
      {32, "the elements of a warp"},
      {all.block, "the elements of a block"},
      {2 * std::size_t{all.block}, "the elements of a block"},
      {all.n, "the elements"}};
  for (const auto& [group, whose] : groups) {
    if (group < 2) continue;
    for (const Operator op : {Operator::min, Operator::max}) {
      all.add(
          "other-operator",
          [group = group, op](const View& v) {
            const Sequence& input = *v.observation.input;
            double sum = 0;
            for (std::size_t first = 0; first < input.n; first += group) {
              double extreme = input[first];
              for (std::size_t i = first; i < std::min(first + group, input.n); ++i)
                extreme = apply(op, extreme, input[i]);
              sum += extreme;
            }
            return sum;
          },
          [op, whose = whose] {
            return fmt::format(
                "The result is what you get when the {1} of {0} is taken instead of their sum.", whose,
                op == Operator::max ? "greatest" : "least");
          });
    }
  }
}

// Threads beyond the end that contribute 1 each.
void add_identity(Hypotheses& all) {
  const double n = static_cast<double>(all.n);
  for (const unsigned each : {1u, 2u, 4u}) {
    const std::size_t part = std::size_t{each} * all.block;
    const double beyond = static_cast<double>(ceil_div(all.n, part) * part) - n;
    if (beyond <= 0) continue;
    all.add(
        "wrong-identity", [beyond](const View& v) { return v.observation.expected + beyond; },
        [beyond] {
          return fmt::format("The result is too large by {0:.0f}, and {0:.0f} threads have no element: each "
                             "of them contributed 1 where a sum needs 0.",
                             beyond);
        });
  }
}

} // namespace lab
