// Checks of places that nothing has written, that are an input, or that are a barrier of the grid.
#include "checker_notes.hpp"

#include "naming.hpp"
#include "words.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace warpfold::analysis {

using machine::AccessKind;
using machine::warp_lanes;

// A store, or an exchange that ignores the value that it replaces.
bool Checker::overwrites(const machine::Access& access) const {
  if (access.kind != AccessKind::atomic) return access.kind == AccessKind::store;
  const std::uint32_t operation = access.operation.index;
  const machine::Code& code = access.warp.worker->grid.code;
  return code.facts[operation].synchronising.ignores_value &&
         code.names[operation].find(".exch") != std::string::npos;
}

void Checker::check_written(const machine::Access& access) {
  std::uint64_t first = access.first, row_bytes = std::uint64_t{warp_lanes} * access.width;
  bool row = access.contiguous && access.mask == machine::all_lanes;
  if (overwrites(access)) {
    if (row) return written_.written(first, row_bytes);
    for (std::uint32_t mask = access.mask; mask; mask &= mask - 1)
      written_.written(access.addresses[std::countr_zero(mask)], access.width);
    return;
  }
  if (row && written_.is_written(first, row_bytes)) return;
  const bool is_copied = access.warp.worker->grid.code.facts[access.operation.index].is_copied;
  std::uint64_t last = 0; // neighbouring lanes that read the same address are checked once
  for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(mask));
    std::uint64_t address = access.addresses[lane];
    if (address == last || written_.is_written(address, access.width)) {
      last = address;
      continue;
    }
    const bool is_part = written_.unwritten(address, access.width) < access.width;
    if (!is_part || !is_copied) report_uninitialised(access, lane);
    mark_as_written(address, access.width);
  }
}

// Reports a read only if none of its bytes was written. In a debug build, every copy of a variable goes
// through local memory, including its padding, so partly unwritten reads mean nothing there.
void Checker::check_local(Notes& mine, const machine::Access& access) {
  if (mine.grid->code.module->is_debug) return;
  const machine::Block& block = *access.warp.block;
  const std::uint64_t stride = block.worker.local_stride;
  if (!mine.local_is_used) {
    mine.local.assign(block.warps.size() * warp_lanes * stride, false);
    mine.local_is_used = true;
  }
  const machine::OperationFacts& facts = mine.grid->code.facts[access.operation.index];
  std::uint32_t needed = access.mask; // lanes
  if (facts.chooser) {
    std::memcpy(&needed, access.warp.frame + facts.chooser, sizeof needed);
    if (facts.chooser_negated) needed = ~needed;
  }
  for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t offset = access.addresses[lane];
    if (offset + access.width > stride) continue; // reported elsewhere, as a bad access
    auto first = mine.local.begin() +
                 static_cast<std::ptrdiff_t>((access.warp.index * warp_lanes + lane) * stride + offset);
    auto end = first + access.width;
    const bool unknown = access.kind == AccessKind::load && std::find(first, end, true) == end;
    if (unknown && !(needed >> lane & 1)) continue;
    if (unknown) report_uninitialised(access, lane);
    if (unknown || access.kind != AccessKind::load) std::fill(first, end, true);
  }
}

// The grid-wide barrier of cooperative groups counts blocks, so it does not notice that threads have exited.
// All threads of the grid must reach it (CUDA C++ Programming Guide, "Grid Synchronization").
void Checker::check_grid_barrier(const machine::Access& access) {
  constexpr std::uint64_t workspace_bytes = 8;
  const machine::Block& block = *access.warp.block;
  const Notes& mine = notes(block);
  const std::uint64_t workspace = mine.grid->shape.grid_workspace;
  const std::uint64_t address = access.addresses[std::countr_zero(access.mask)];
  if (workspace == 0 || address < workspace || address >= workspace + workspace_bytes) return;
  if (block.alive == block.threads || !is_new(HazardKind::barrier, access.operation, ~1u)) return;
  Hazard hazard{HazardKind::barrier, HazardCause::left_grid_barrier};
  hazard.message =
      fmt::format("{} reaches a barrier of the whole grid, but {} threads of its block have exited",
                  thread_in_words(mine, access.warp, static_cast<unsigned>(std::countr_zero(access.mask))),
                  block.threads - block.alive);
  hazard.where = mine.grid->code.line_of(access.operation);
  recorder_.add(std::move(hazard));
}

void Checker::change_restrictions(const std::function<void(Restrictions&)>& change) {
  std::lock_guard lock(mutex_);
  Restrictions all = restrictions_ ? *restrictions_ : Restrictions();
  change(all);
  restrictions_ = all.empty() ? nullptr : std::make_shared<const Restrictions>(std::move(all));
}

void Checker::restrict(const void* begin, std::uint64_t size, HazardCause why) {
  change_restrictions([&](Restrictions& all) {
    all.push_back({reinterpret_cast<std::uint64_t>(begin), size, why});
  });
}

void Checker::lift(HazardCause why) {
  change_restrictions([&](Restrictions& all) {
    std::erase_if(all, [&](const Restriction& each) { return each.why == why; });
  });
}

void Checker::lift(const void* begin, std::uint64_t size) {
  const auto first = reinterpret_cast<std::uint64_t>(begin);
  change_restrictions([&](Restrictions& all) {
    std::erase_if(all, [&](const Restriction& each) { return each.begin - first < size; });
  });
}

const Checker::Restriction* Checker::restriction_on(const Notes& mine, std::uint64_t begin,
                                                    std::uint64_t size, machine::AccessKind kind) {
  if (!mine.restrictions) return nullptr;
  const auto found = std::ranges::find_if(*mine.restrictions, [&](const Restriction& each) {
    return each.forbids(kind) && begin < each.begin + each.size && begin + size > each.begin;
  });
  return found == mine.restrictions->end() ? nullptr : &*found;
}

void Checker::check_restrictions(const machine::Access& access) {
  const Notes& mine = notes(*access.warp.block);
  const auto forbids = [&](const Restriction& each) { return each.forbids(access.kind); };
  if (std::ranges::none_of(*mine.restrictions, forbids)) return; // such as loads, where all are inputs
  if (mine.grid->code.facts[access.operation.index].is_restored) return;
  for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(mask));
    std::uint64_t address = access.addresses[lane];
    const Restriction* const against = restriction_on(mine, address, access.width, access.kind);
    if (!against) continue;
    if (!is_new(kind_of_restriction(against->why), access.operation, ~0u)) return;
    Hazard hazard = describe_restricted(against->why, thread_in_words(mine, access.warp, lane),
                                        global_name(memory_, address, access.width), access.kind);
    hazard.where = mine.grid->code.line_of(access.operation);
    hazard.launch = launch_in_words(mine);
    return recorder_.add(std::move(hazard));
  }
}

} // namespace warpfold::analysis
