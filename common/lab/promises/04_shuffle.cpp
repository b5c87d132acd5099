#include "promises/usual.hpp"

namespace lab::promises {

std::vector<Rung> shuffle() {
  return {Rung("warp_shuffle")
              .depth([](const Size& s) { return 11.0 + ceil_div(s.n, 2 * std::size_t{s.block}); })
              .promise(one_store_per_warp())
              .promise(one_barrier_between_warps())
              .promise(none(Counter::votes,
                            "the mask is lab::all_lanes; __activemask() and ballots tell only which "
                            "lanes happen to be there"))
              .promise(warps_and_then_their_sums())
              .promise(two_elements_per_thread())
              .promise(one_read_per_warp_sum())
              .promise(none(Counter::bank_conflicts, "the warps' sums must lie side by side"))
              .promise(one_atomic_per_block()),
          Rung("warp_reduce")
              .promises_from(80)
              .promise(none(Counter::shuffles, "integers must be added by __reduce_add_sync"))
              .promise(at_least(
                  Counter::warp_reductions, [](const Size& s) { return s.blocks * s.warps(); },
                  "each warp must add up its integers in one instruction"))
              .promise(at_most(
                  Counter::warp_reductions, [](const Size& s) { return s.blocks * (s.warps() + 1); },
                  "one instruction adds up a warp: first in all warps, and then in the first warp alone"))
              .promise(one_store_per_warp())
              .promise(one_barrier_between_warps())
              .promise(two_elements_per_thread())
              .promise(one_read_per_warp_sum())
              .promise(one_atomic_per_block())};
}

} // namespace lab::promises
