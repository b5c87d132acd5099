// Sums that lack the values of some threads, lanes or warps of each block, or a step of the tree.
#include "explain/hypotheses.hpp"

#include <fmt/format.h>

namespace lab {

// Sums of what only some of the threads of each block contributed, or all but some.
void add_threads(Hypotheses& all) {
  const unsigned block = all.block;
  const auto keep = [&all](const char* kind, auto kept, std::string text) {
    all.add(
        kind, [kept](const View& v) { return v.places.where(kept); },
        [text = std::move(text)] { return text; });
  };
  if (block > 32) {
    keep(
        "last-warp-lost", [block](unsigned r) { return r % block < block - 32; },
        "The result lacks exactly what the last warp of each block contributed.");
    keep(
        "only-first-warp", [block](unsigned r) { return r % block < 32; },
        std::string("The result is exactly what the first warp of each block contributed: the other warps' "
                    "sums are missing") +
            (all.symptom.of_rows
                 ? ", or a warp that has its row to itself steps by the block size and not by 32."
                 : "."));
    if (block > 64) {
      keep(
          "stale-second-stage", [block](unsigned r) { return r % block < 64; },
          "The result is exactly what the first 64 threads of each block contributed: the steps that add the "
          "others' values, with strides of 64 and more, are missing, or what they add is lost again.");
    }
    keep(
        "only-first-lanes", [block](unsigned r) { return r % block % 32 == 0; },
        "The result is exactly what lane 0 of each warp contributed: the values of a warp's lanes were not "
        "added up, or their sum was not stored.");
  }
  for (unsigned thread = 0; thread < block && all.n >= 2 * std::size_t{block}; ++thread) {
    keep(
        "lost-thread", [block, thread](unsigned r) { return r % block != thread; },
        fmt::format("The result lacks exactly what thread {} of each block contributed.", thread));
  }
  for (const unsigned lane : {0u, 31u}) {
    all.add(
        "wrong-lane",
        [block, lane](const View& v) {
          return 32 * v.places.where([=](unsigned r) { return r % block % 32 == lane; });
        },
        [lane] {
          return fmt::format(
              "The result is exactly 32 times what lane {} of each warp contributed: this lane has no "
              "partner in any step and adds its own value each time. The warp's sum is in lane {}.",
              lane, 31 - lane);
        });
  }
  keep(
      "only-last-thread", [block](unsigned r) { return r % block == block - 1; },
      "The result is exactly what the last thread of each block contributed: each step passes on a single "
      "value instead of a sum, as when it is assigned (=) and not added (+=).");
  if (block > 64) {
    keep(
        "stale-second-stage",
        [block](unsigned r) {
          const unsigned warp = r % block / 32;
          return (warp & (warp - 1)) == 0;
        },
        fmt::format("The result is exactly what warps {} of each block contributed: where the warps' sums "
                    "are added up, every step reads the warp's own sum again, not the sum so far.",
                    block == 128   ? "0, 1 and 2"
                    : block == 256 ? "0, 1, 2 and 4"
                    : block == 512 ? "0, 1, 2, 4 and 8"
                                   : "0, 1, 2, 4, 8 and 16"));
  }
  for (const unsigned part : {block, 2 * block}) {
    keep(
        "stale-steps", [part](unsigned r) { return (r % part & (r % part - 1)) == 0; },
        "The result is exactly what elements 0, 1, 2, 4, 8 and so on held at first: each step adds an "
        "element's first value, not what the step before left there.");
  }
  keep(
      "only-first-threads", [block](unsigned r) { return r % block == 0; },
      "The result is exactly what thread 0 of each block contributed: what the other threads hold is lost.");
}

// A tree that leaves out the step with stride s loses the places with bit s.
void add_steps(Hypotheses& all) {
  const unsigned block = all.block;
  for (unsigned stride = block; stride > 0; stride /= 2) {
    all.add(
        "lost-step",
        [stride](const View& v) { return v.places.where([=](unsigned r) { return (r & stride) == 0; }); },
        [stride, block] {
          if (stride == block) {
            return fmt::format("The result lacks exactly the second half of every {} elements: each thread's "
                               "second element, the step with stride {}, or every second block is missing.",
                               2 * block, block);
          }
          return fmt::format(
              "The result lacks exactly what the step with stride {} adds: that step is missing.", stride);
        });
  }
  for (unsigned stride = 2; stride < block; stride *= 2) {
    all.add(
        "lost-step",
        [stride](const View& v) {
          return v.places.where([=](unsigned r) { return (r & (2 * stride - 1)) == 0; });
        },
        [stride] {
          return fmt::format("The result lacks exactly what the steps with strides {} to 1 add: the tree "
                             "stops too early, or what they add is not stored.",
                             stride);
        });
  }
}

} // namespace lab
