#include "opencl/barriers.hpp"

#include "judge/judge.hpp"
#include "opencl/guard.hpp"
#include "opencl/judge.hpp"
#include "run/watchdog.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lab::opencl {

Barriers look_at_barriers(const Rung& rung, const Device& device, const Options& options,
                          Progress& progress) {
  constexpr std::size_t some = 300;
  const unsigned group = std::min<unsigned>(64, static_cast<unsigned>(device.largest_group));
  const std::size_t n = std::min(some, rung.what.most_elements(group)) - 1; // no multiple of a group
  const Case given{Kind::exact, n, 1, group, 0};
  std::vector<float> values = floats_of(input_of(given, options.seed));
  note(progress, check_for(given));
  const WatchedRun watched;
  const Ran ran = run(rung.reduce, values, 0, group, Order::barriers);
  const std::size_t items = std::max<std::size_t>(ran.groups, 1) * group;
  const auto met = [&](std::size_t item) { return ran.uses[3 * item]; };
  Barriers found;
  std::size_t all = 0, of_global = 0, of_local = 0;
  for (std::size_t item = 0; item < items; ++item) {
    all += met(item), of_global += ran.uses[3 * item + 1], of_local += ran.uses[3 * item + 2];
    const std::size_t first = item / group * group;
    if (met(item) != met(first) && found.not_for_all.empty())
      found.not_for_all = fmt::format(
          "With n = {} and groups of {}, item {} reaches {} barriers, but item {} of the same group reaches "
          "{}. A barrier waits for all items of the group: all of them must reach each one, even those that "
          "have nothing to add. Is it in a branch, or does an item leave (return, break) before it?",
          n, group, first, met(first), item, met(item));
  }
  // The last group takes part in the first launch only.
  const std::size_t steps = static_cast<std::size_t>(log2(group)), each = met(items - 1);
  if (each < steps)
    found.few = fmt::format("An item reaches {} barrier{} in all, but a group of {} has {} steps: between "
                            "two of them, every item must wait for the others at a barrier.",
                            each == 0 ? "no" : std::to_string(each), each == 1 ? "" : "s", group, steps);
  if (all == 0) return found;
  if (ran.shares_local ? of_local < all : of_global < all)
    found.other_memory =
        fmt::format("a barrier names only {} memory, but what the items of a group share lies in {} memory. "
                    "On a CPU, a barrier orders accesses to all memory; OpenCL promises this only for the "
                    "memory that the flag names: {} is needed.",
                    ran.shares_local ? "global" : "local", ran.shares_local ? "local" : "global",
                    ran.shares_local ? "CLK_LOCAL_MEM_FENCE" : "CLK_GLOBAL_MEM_FENCE");
  return found;
}

} // namespace lab::opencl
