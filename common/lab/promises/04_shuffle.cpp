#include "promises/usual.hpp"

namespace lab::promises {

std::vector<Rung> shuffle() {
  return {Rung("warp_shuffle")
              .depth([](const Size& s) { return 11.0 + ceil_div(s.n, 2 * std::size_t{s.block}); })
              .promise(one_store_per_warp())
              .promise(one_barrier_between_warps())
              .promise(at_least(
                  Counter::shuffles, [](const Size& s) { return 5 * s.blocks * s.warps(); },
                  "a warp's 32 values are to be added by five shuffles")),
          Rung("warp_reduce")
              .promises_from(80)
              .promise(none(Counter::shuffles, "integers are to be added by __reduce_add_sync"))
              .promise(one_store_per_warp())
              .promise(one_barrier_between_warps())};
}

} // namespace lab::promises
