// Reports places in shared memory that are used while a copy to them may still be in flight.
#include "checker_notes.hpp"
#include "naming.hpp"
#include "words.hpp"

#include <bit>

namespace warpfold::analysis {

using machine::warp_lanes;

namespace {

template <typename Visit>
void each_thread(const machine::Warp& warp, Visit visit) {
  for (std::uint32_t mask = warp.mask; mask; mask &= mask - 1)
    visit(warp.index * warp_lanes + static_cast<unsigned>(std::countr_zero(mask)));
}

} // namespace

void Checker::copy_begins(const machine::Warp& warp, const machine::Operation& operation,
                          const std::uint64_t* offsets, std::uint32_t width) {
  CopiesInFlight& copies = notes(*warp.block).copies;
  each_thread(warp, [&](unsigned thread) {
    copies.copy(thread, offsets[thread % warp_lanes], width, operation.index);
  });
}

void Checker::copies_committed(const machine::Warp& warp) {
  CopiesInFlight& copies = notes(*warp.block).copies;
  each_thread(warp, [&](unsigned thread) { copies.commit(thread); });
}

void Checker::copies_waited_for(const machine::Warp& warp, std::uint32_t groups_left) {
  CopiesInFlight& copies = notes(*warp.block).copies;
  each_thread(warp, [&](unsigned thread) {
    if (groups_left == all_copies)
      copies.wait_for_all(thread);
    else
      copies.wait(thread, groups_left);
  });
}

void Checker::check_copies(Notes& mine, const machine::Access& access) {
  constexpr std::uint64_t word = 4;
  const machine::Code& code = mine.grid->code;
  for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t first = access.addresses[lane];
    const CopiesInFlight::Copy* copy = nullptr;
    for (std::uint64_t at = first / word; !copy && at * word < first + access.width; ++at)
      copy = mine.copies.to(at);
    if (!copy || !is_new(HazardKind::race_shared, access.operation, copy->operation, copy_reach)) continue;
    const machine::Block& block = *access.warp.block;
    Hazard hazard = describe_copy_in_flight(
        thread_in_words(mine, access.warp, lane), shared_name(code, first, access.width), access.kind,
        thread_in_words(mine, block.warps[copy->thread / warp_lanes], copy->thread % warp_lanes));
    hazard.where = code.line_of(access.operation);
    hazard.other = code.line_of(code.operations[copy->operation]);
    recorder_.add(std::move(hazard));
  }
}

} // namespace warpfold::analysis
