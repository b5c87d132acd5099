#include "diagnosis/mistakes.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <utility>

namespace lab {
namespace {

// All hypotheses for one symptom.
class Hypotheses {
public:
  explicit Hypotheses(const Symptom& symptom)
      : symptom_(symptom), n_(symptom.given.n), block_(symptom.given.block) {
    add_whole();
    add_prefixes();
    add_threads();
    add_steps();
    add_walks();
    add_signs();
    add_widths();
    add_identity();
    add(
        "nothing-added", [](const View&) { return 0.0; },
        [] { return std::string("The result is 0, as if no element had been added."); }, false);
  }
  std::vector<Hypothesis> all() && { return std::move(all_); }

private:
  void add(std::string kind, std::function<double(const View&)> predict, std::function<std::string()> text,
           bool specific = true) {
    all_.push_back({std::move(kind), std::move(predict), std::move(text), specific});
  }

  // The result as a whole: what stood there before, or a multiple of what is right.
  void add_whole() {
    const double old = poison(symptom_.observations[0].input->type, Kind::exact);
    add(
        "never-written", [old](const View&) { return old; },
        [old] {
          return fmt::format(
              "The result is {:.0f}, which the check put there before the launch: nothing was written to it.",
              old);
        });
    add(
        "added-to-old", [old](const View& v) { return v.observation.expected + old; },
        [old] {
          return fmt::format("The result is the right one plus {:.0f}, which stood there before the launch: "
                             "it was added to, but not set to 0 first.",
                             old);
        });
    add(
        "twice", [](const View& v) { return 2 * v.observation.expected; },
        [] {
          return std::string("The result is exactly twice the right one: every element was added twice.");
        });
    const std::pair<unsigned, const char*> crowds[] = {
        {32, "every lane of a warp added what one lane should"},
        {block_ / 32, "every warp of a block added what one warp should"},
        {block_, "every thread of a block added what one thread should"}};
    for (const auto& [crowd, what] : crowds) {
      if (crowd < 2) continue;
      add(
          "many-times", [crowd = crowd](const View& v) { return crowd * v.observation.expected; },
          [crowd = crowd, what = what] {
            return fmt::format("The result is exactly {} times the right one: {}.", crowd, what);
          });
    }
  }

  void add_prefix(const char* kind, std::size_t count, std::function<std::string()> text) {
    if (count == 0 || count >= n_) return;
    add(
        kind, [count](const View& v) { return reduce(*v.observation.input, 0, count).value; },
        std::move(text));
  }

  // A whole number of parts, or the first part alone.
  void add_prefixes() {
    const std::size_t grid = std::size_t{symptom_.resident_blocks} * block_;
    for (const std::size_t part :
         {std::size_t{block_}, 2 * std::size_t{block_}, 4 * std::size_t{block_}, 8 * std::size_t{block_},
          16 * std::size_t{block_}, grid, 2 * grid, 4 * grid, std::size_t{32}, std::size_t{4}}) {
      const std::size_t count = n_ / part * part;
      if (n_ / part < 2) continue; // else it is one part alone, below
      add_prefix("lost-tail", count, [n = n_, count, part] {
        return fmt::format(
            "The result is the sum of the first {} elements ({} times {}): the last {}, which do not fill "
            "a whole {}, are missing.",
            count, count / part, part, n - count, part);
      });
    }
    add_prefix("lost-tail", n_ - std::min<std::size_t>(n_, 1),
               [] { return std::string("The result is right but for the last element, which is missing."); });
    if (symptom_.resident_blocks > 1) add_first_pass(grid);
    for (const unsigned each : {1u, 2u, 4u, 8u, 16u}) {
      const std::size_t count = std::size_t{each} * block_;
      add_prefix("only-block-0", count, [block = block_, each, count] {
        return fmt::format(
            "The result is the sum of the first {} elements, {} a thread for {} threads: only block 0's "
            "part reached it.",
            count, each, block);
      });
    }
    for (const unsigned each : {1u, 2u, 4u}) {
      const std::size_t part = std::size_t{each} * block_, blocks = ceil_div(n_, part);
      if (blocks < 2) continue;
      add(
          "same-part",
          [part, blocks](const View& v) {
            return static_cast<double>(blocks) * reduce(*v.observation.input, 0, part).value;
          },
          [part, blocks] {
            return fmt::format(
                "The result is {} times the sum of the first {} elements: each of the {} blocks added the "
                "same part; the block's own number is missing in the index.",
                blocks, part, blocks);
          });
    }
    for (std::size_t blocks = 2; blocks <= 8192; blocks *= 2) add_first_pass(blocks * block_);
    add_prefix("index-overflow", n_ & 0xffffffff, [n = n_] {
      return fmt::format(
          "The result is the sum of the first {} elements, which is {} modulo 2^32: an index or count of "
          "32 bits overflowed.",
          n & 0xffffffff, n);
    });
  }

  // A grid-stride loop that ends after its first round, or, where the grid is larger than that, blocks that
  // are not added up.
  void add_first_pass(std::size_t threads) {
    const bool whole_grid = threads == std::size_t{symptom_.resident_blocks} * block_;
    add_prefix("only-first-pass", threads, [threads, block = block_, whole_grid] {
      return fmt::format(
          "The result is the sum of the first {} elements, one for each thread of {} blocks: {}.", threads,
          threads / block,
          whole_grid ? "each thread added one element and did not walk on"
                     : "each thread added one element and did not walk on, or only these blocks' sums were "
                       "added up");
    });
  }

  // What some of the threads of each block brought along.
  void add_threads() {
    const unsigned block = block_;
    const auto keep = [this](const char* kind, auto kept, std::string text) {
      add(
          kind, [kept](const View& v) { return v.places.where(kept); },
          [text = std::move(text)] { return text; });
    };
    if (block > 32) {
      keep(
          "last-warp-lost", [block](unsigned r) { return r % block < block - 32; },
          "The result lacks exactly what the last warp of each block brought along.");
      keep(
          "only-first-warp", [block](unsigned r) { return r % block < 32; },
          std::string("The result is exactly what the first warp of each block brought along: the other "
                      "warps' sums are missing") +
              (symptom_.of_rows ? ", or a warp that has its row to itself walks on by the block's size."
                                : "."));
      if (block > 64) {
        keep(
            "stale-second-stage", [block](unsigned r) { return r % block < 64; },
            "The result is exactly what the first two warps of each block brought along: where warps' sums "
            "are "
            "added up, every step starts anew from what lies in shared memory, so only the last step "
            "counts.");
      }
      keep(
          "only-first-lanes", [block](unsigned r) { return r % block % 32 == 0; },
          "The result is exactly what lane 0 of each warp brought along: the lanes of a warp were not added "
          "up.");
    }
    for (unsigned thread = 0; thread < block && n_ >= 2 * std::size_t{block}; ++thread) {
      keep(
          "lost-thread", [block, thread](unsigned r) { return r % block != thread; },
          fmt::format("The result lacks exactly what thread {} of each block brought along.", thread));
    }
    for (const unsigned lane : {0u, 31u}) {
      add(
          "wrong-lane",
          [block, lane](const View& v) {
            return 32 * v.places.where([=](unsigned r) { return r % block % 32 == lane; });
          },
          [lane] {
            return fmt::format("The result is exactly 32 times what lane {} of each warp brought along: this "
                               "lane has no partner in "
                               "any step and adds its own value each time. The warp's sum is in lane {}.",
                               lane, 31 - lane);
          });
    }
    keep(
        "only-last-thread", [block](unsigned r) { return r % block == block - 1; },
        "The result is exactly what the last thread of each block brought along: each step hands its value "
        "on "
        "in place of a sum.");
    if (block > 64) {
      keep(
          "stale-second-stage",
          [block](unsigned r) {
            const unsigned warp = r % block / 32;
            return (warp & (warp - 1)) == 0;
          },
          "The result is exactly what the warps 0, 1, 2, 4, 8 and 16 of each block brought along: where "
          "warps' sums "
          "are added up, every step takes a warp's own sum once more, not the sum so far.");
    }
    for (const unsigned part : {block, 2 * block}) {
      keep(
          "stale-steps", [part](unsigned r) { return (r % part & (r % part - 1)) == 0; },
          "The result is exactly what lay at first in the places 0, 1, 2, 4, 8 and so on: each step adds "
          "what a "
          "place held at first, and not what the step before has left there. No barrier makes a step wait "
          "for "
          "the one before.");
    }
    keep(
        "only-first-threads", [block](unsigned r) { return r % block == 0; },
        "The result is exactly what thread 0 of each block brought along: the threads of a block were not "
        "added up.");
  }

  // A tree that leaves out the step with stride s loses the places with bit s.
  void add_steps() {
    const unsigned block = block_;
    for (unsigned stride = block; stride > 0; stride /= 2) {
      add(
          "lost-step",
          [stride](const View& v) { return v.places.where([=](unsigned r) { return (r & stride) == 0; }); },
          [stride, block] {
            if (stride == block) {
              return fmt::format(
                  "The result lacks exactly the second half of every {} elements: each thread's second "
                  "element, the step with stride {}, or every second block is missing.",
                  2 * block, block);
            }
            return fmt::format(
                "The result lacks exactly what the step with stride {} adds: that step is missing.", stride);
          });
    }
    for (unsigned stride = 2; stride < block; stride *= 2) {
      add(
          "lost-step",
          [stride](const View& v) {
            return v.places.where([=](unsigned r) { return (r & (2 * stride - 1)) == 0; });
          },
          [stride] {
            return fmt::format(
                "The result lacks exactly what the steps with strides {} to 1 add: the tree stops too "
                "early.",
                stride);
          });
    }
  }

  // Threads that walk over the array at the wrong stride, or start in the wrong place.
  void add_walks() {
    const std::size_t blocks = symptom_.resident_blocks, grid = blocks * block_, block = block_;
    if (n_ > 2 * block && blocks != 2) { // with two blocks it is what the wrong stride gives, too
      add(
          "overlap",
          [=](const View& v) { return v.weighed([=](std::size_t i) { return i < block ? 1.0 : 2.0; }); },
          [block] {
            return fmt::format(
                "The result is right but that all elements from {} on were added twice: each block takes two "
                "elements per thread, but starts only {} after the block before it.",
                block, block);
          });
    }
    if (n_ > 2 * block) {
      add(
          "wrong-stride",
          [=](const View& v) {
            return v.weighed(
                [=](std::size_t i) { return static_cast<double>(std::min(i / block + 1, blocks)); });
          },
          [block] {
            return fmt::format("The result is what comes out where each block starts at its own {} elements "
                               "and walks on at a stride "
                               "of {}, its own size: the stride must be that of the whole grid.",
                               block, block);
          });
      const std::size_t needed = ceil_div(n_, block);
      add(
          "wrong-index",
          [=](const View& v) {
            return v.weighed([=](std::size_t i) {
              const std::size_t last = std::min(i / needed, needed - 1);
              const std::size_t first = i < block ? 0 : (i - block) / needed + 1;
              return last < first ? 0.0 : static_cast<double>(last - first + 1);
            });
          },
          [=] {
            return fmt::format("The result is what comes out where a block's first element is its number "
                               "times {}, the blocks of the "
                               "grid, and not times {}, the threads of a block.",
                               needed, block);
          });
    }
    if (blocks > 1 && n_ > block) {
      add(
          "same-part",
          [=](const View& v) {
            return v.weighed([=](std::size_t i) { return i / block % blocks == 0 ? double(blocks) : 0.0; });
          },
          [=] {
            return fmt::format(
                "The result is {} times what block 0 has to add: each of the {} blocks starts at "
                "element 0; the block's own number is missing in the index.",
                blocks, blocks);
          });
    }
    for (const std::size_t each : {2, 4}) {
      if (n_ <= grid) continue;
      add(
          "wrong-stride",
          [=](const View& v) {
            return v.weighed([=](std::size_t i) { return i / grid % each == 0 ? 1.0 : 0.0; });
          },
          [=] {
            return fmt::format("The result is the sum of every {}nd part of {} elements, one for each thread "
                               "of a grid that fits the "
                               "device: the stride is {} times as long as the grid.",
                               each, grid, each);
          });
    }
    for (const std::size_t part : {2 * block, 4 * block, 8 * block}) {
      if (n_ <= part) continue;
      add(
          "lost-part",
          [=](const View& v) {
            return v.weighed([=](std::size_t i) { return i / part % 2 == 0 ? 1.0 : 0.0; });
          },
          [part] {
            return fmt::format("The result lacks exactly the second half of every {} elements: each block "
                               "takes half of its part only.",
                               2 * part);
          });
    }
    if (n_ > grid) {
      add(
          "first-twice",
          [=](const View& v) { return v.weighed([=](std::size_t i) { return i < grid ? 2 : 1; }); },
          [=] {
            return fmt::format(
                "The result is right but that the first {} elements, one for each thread of the "
                "grid, were added twice: each thread starts from its first element and meets "
                "it again on its walk.",
                grid);
          });
    }
    for (const std::size_t kept : {std::size_t{32}, block}) {
      if (kept >= blocks || n_ <= grid) continue;
      add(
          "lost-block",
          [=](const View& v) {
            return v.weighed([=](std::size_t i) { return i / block % blocks < kept ? 1 : 0; });
          },
          [=] {
            return fmt::format("The result is exactly what the first {} of the {} blocks brought along: the "
                               "other blocks' sums are missing.",
                               kept, blocks);
          });
    }
    for (std::size_t lost = 0; lost < blocks && n_ > grid; lost += std::max<std::size_t>(blocks - 1, 1)) {
      add(
          "lost-block",
          [=](const View& v) {
            return v.weighed([=](std::size_t i) { return i / block % blocks == lost ? 0.0 : 1.0; });
          },
          [=] {
            return fmt::format(
                "The result lacks exactly what block {} of the {} that the device holds brought along.", lost,
                blocks);
          });
    }
  }

  // Subtractions in place of additions. In a tree that subtracts, an element counts negative that goes
  // through an odd number of steps on its way to place 0: one for each bit that is set in its place.
  void add_signs() {
    add(
        "subtracted", [](const View& v) { return -v.observation.expected; },
        [] { return std::string("The result is the right one with the other sign: it was subtracted."); });
    const std::size_t block = block_, blocks = symptom_.resident_blocks;
    for (const bool in_blocks : {false, true}) {
      for (const int sign : {1, -1}) {
        add(
            "subtracted",
            [=](const View& v) {
              return v.weighed([=](std::size_t i) {
                const std::size_t of_block = in_blocks ? i / block % blocks % block : 0;
                return (std::popcount(i % block) + std::popcount(of_block)) % 2 == 0 ? sign : -sign;
              });
            },
            [in_blocks] {
              return fmt::format("The result is what comes out where each step of the block's tree subtracts "
                                 "in place of adding{}.",
                                 in_blocks ? ", and so does the tree over the blocks' results" : "");
            });
      }
    }
  }

  // Loads of several elements, and numbers with too few bits.
  void add_widths() {
    for (const unsigned lost : {0u, 1u, 2u, 3u}) {
      if (n_ < 8) break;
      add(
          "lost-component",
          [n = n_, lost](const View& v) {
            return v.weighed(
                [=, whole = n / 4 * 4](std::size_t i) { return i < whole && i % 4 == lost ? 0.0 : 1.0; });
          },
          [lost] {
            return fmt::format("The result lacks exactly element {} of each four that are loaded together.",
                               lost);
          });
    }
    add_prefix("index-overflow", n_ & 0xffff, [n = n_] {
      return fmt::format("The result is the sum of the first {} elements, which is {} modulo 2^16: an index "
                         "or count of 16 bits overflowed.",
                         n & 0xffff, n);
    });
  }

  // Threads beyond the end that bring 1 along, and other constants that go with a number of threads.
  void add_identity() {
    const double n = static_cast<double>(n_);
    for (const unsigned each : {1u, 2u, 4u}) {
      const std::size_t part = std::size_t{each} * block_;
      const double beyond = static_cast<double>(ceil_div(n_, part) * part) - n;
      if (beyond <= 0) continue;
      add(
          "wrong-identity", [beyond](const View& v) { return v.observation.expected + beyond; },
          [beyond] {
            return fmt::format("The result is too large by {0:.0f}, and {0:.0f} threads have no element: "
                               "each of them brought 1 "
                               "along, where a sum needs 0.",
                               beyond);
          });
    }
  }

  const Symptom& symptom_;
  std::size_t n_;
  unsigned block_;
  std::vector<Hypothesis> all_;
};

} // namespace

Places::Places(const Sequence& input, unsigned block) : residue(2 * std::size_t{block}) {
  for (std::size_t i = 0; i < input.n; ++i) residue[i % residue.size()] += input[i];
  for (const double sum : residue) total += sum;
}

double Places::where(const std::function<bool(unsigned)>& kept) const {
  double sum = 0;
  for (unsigned r = 0; r < residue.size(); ++r) {
    if (kept(r)) sum += residue[r];
  }
  return sum;
}

std::vector<Hypothesis> mistakes_in_sums(const Symptom& symptom) {
  return Hypotheses(symptom).all();
}

} // namespace lab
