// Instructions that are .aligned: all 32 lanes of a warp execute them together (PTX ISA 9.7.14: "all threads
// in the warp must execute the same instruction").
#pragma once

#include "machine/decoder.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace warpfold::machine {

// Calls act() once, when all 32 lanes are at the operation, with all of them active. Lanes that the end of a
// time slice keeps apart wait for each other; lanes that the program keeps apart are a mistake. The registers
// of a lane that waits do not change, so the lane that comes last acts for all.
template <typename Act>
const Operation* in_whole_warp(Warp& warp, const Operation* op, Act act) {
  constexpr std::uint32_t all = ~0u;
  if (warp.mask == all) {
    act();
    return op + 1;
  }
  const bool has_met = warp.rendezvous >= 0; // the others may have left since
  if (!has_met && (!warp.kept_apart || warp.alive != all)) {
    const std::string_view why =
        warp.alive == all ? "the others are elsewhere: the branch around it depends on the lane"
        : warp.block->threads < (warp.index + 1) * warp_lanes ? "the block's last warp has no more"
                                                              : "the others have left the kernel";
    stop(warp, op, Fault::Kind::partial_warp,
         fmt::format(
             "{} is executed by {} of its warp's 32 lanes; all of them must execute it together, and {}",
             warp.worker->grid.code.names[op->index], std::popcount(warp.mask), why),
         warp.mask);
  }
  // Their registers are in one frame, unless they have come here through different calls.
  std::uint64_t frames[warp_lanes];
  std::ranges::fill(frames, reinterpret_cast<std::uint64_t>(warp.frame));
  Rendezvous* met = nullptr;
  if (!warp.gather(op, all, frames, met)) return warp.next_path();
  if (!met) return op + 1;
  if (std::ranges::count(met->values, frames[0]) != warp_lanes)
    stop(warp, op, Fault::Kind::unsupported, "is reached through different calls", warp.mask);
  if (met->collected == 0) {
    const std::uint32_t mine = warp.mask;
    warp.set_mask(all);
    act();
    warp.set_mask(mine);
  }
  warp.collected(*met);
  return op + 1;
}

} // namespace warpfold::machine
