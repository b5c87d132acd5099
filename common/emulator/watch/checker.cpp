#include "checker.hpp"

#include "naming.hpp"
#include "words.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <fmt/format.h>

namespace warpfold::watch {

using machine::AccessKind;
using machine::MemoryOrder;
using machine::MemoryScope;
using machine::warp_lanes;

// What the checker keeps with a block while it runs. The machine's blocks are used again, and so are these.
struct Checker::Notes final : machine::BlockNotes {
  struct Recent {
    std::uint32_t operation = ~0u;
    bool in_global = false;
    std::uint32_t moment = 0, number = 0;
  };
  static constexpr std::size_t recent_count = 32;

  SharedShadow shared;
  BlockOrder order;
  BlockRecords records;
  std::uint32_t next_number = 0, chunk_end = 0; // in global memory; 0: none left
  std::vector<Recent> recent;                   // by warp and operation: records that may be used again

  // Bytes of local memory that their threads have written, lane after lane. Empty of meaning until the block
  // uses any.
  std::vector<bool> local;
  bool local_is_used = false;

  std::uint32_t now() const { return records.next(); }
};

Checker::Checker(const machine::AddressSpace& memory, Recorder& recorder)
    : memory_(memory), written_(memory), recorder_(recorder), shadow_(memory) {}

void Checker::launch_begin(const machine::Grid& grid) {
  grid_ = &grid;
  if (records_.begin_launch()) shadow_.clear();
  histories_ = std::make_unique<BlockHistories>(grid.block_count());
  reported_.clear();
}

void Checker::launch_end(const machine::Grid&) {
  grid_ = nullptr;
}

Checker::Notes& Checker::notes(const machine::Block& block) {
  return *static_cast<Notes*>(block.notes.get());
}

void Checker::block_begin(const machine::Block& block) {
  if (!block.notes) block.notes = std::make_unique<Notes>();
  Notes& mine = notes(block);
  mine.local_is_used = false;
  const bool clock_began_anew = mine.records.begin_block();
  mine.shared.reset((grid_->shared_bytes() + 3) / 4, clock_began_anew);
  if (clock_began_anew) mine.order = {}, mine.recent.clear();
  mine.order.begin(block.warps.size(), mine.now());
  mine.recent.resize(block.warps.size() *
                     Notes::recent_count); // those left there are of a phase that is over
}

void Checker::block_end(const machine::Block&) {}

namespace {

// AccessRecord::place of an access.
std::uint8_t narrow_place(const machine::Access& access) {
  constexpr std::uint64_t word_bytes = 4;
  if (access.width >= word_bytes) return 0;
  std::uint64_t place = access.addresses[std::countr_zero(access.mask)] % word_bytes;
  for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
    if (access.addresses[std::countr_zero(mask)] % word_bytes != place) return AccessRecord::many_places;
  }
  return static_cast<std::uint8_t>(place);
}

} // namespace

struct Checker::Actor {
  const machine::Warp& warp;
  std::uint32_t operation;
  bool in_global = false;
  std::uint32_t width;
  bool is_atomic = false, is_strong = false;
  std::uint8_t place = 0; // AccessRecord::place
};

// The number of the record of what the actor does now; 0 where no numbers are left.
std::uint32_t Checker::record_for(Notes& mine, const Actor& actor) {
  const machine::Warp& warp = actor.warp;
  Notes::Recent& recent =
      mine.recent[warp.index * Notes::recent_count + actor.operation % Notes::recent_count];
  if (recent.operation == actor.operation && recent.in_global == actor.in_global &&
      recent.moment >= mine.order.warps[warp.index].phase) {
    AccessRecord& again = actor.in_global ? records_.at(recent.number) : mine.records[recent.number];
    if (again.place != actor.place) again.place = AccessRecord::many_places;
    return recent.number;
  }
  const std::uint32_t moment = mine.records.next(), number = actor.in_global ? take_number(mine) : moment;
  if (!number) return 0;
  mine.records.add({.block = static_cast<std::uint32_t>(warp.block->linear_id),
                    .operation = actor.operation,
                    .fences = mine.order.fences,
                    .publications = mine.order.publications,
                    .warp = static_cast<std::uint8_t>(warp.index),
                    .is_atomic = actor.is_atomic,
                    .is_strong = actor.is_strong,
                    .width = static_cast<std::uint8_t>(actor.width),
                    .place = actor.place});
  if (actor.in_global) {
    records_.at(number) = mine.records[moment];
    // Other workers come to the record by way of a cell, and must not find the cell first.
    std::atomic_thread_fence(std::memory_order_release);
  }
  recent = {actor.operation, actor.in_global, moment, number};
  return number;
}

std::uint32_t Checker::take_number(Notes& mine) {
  if (mine.next_number == mine.chunk_end) {
    mine.next_number = records_.take_chunk();
    mine.chunk_end = mine.next_number ? mine.next_number + GlobalRecords::chunk_size : 0;
    if (!mine.next_number) return 0;
  }
  return mine.next_number++;
}

bool Checker::row(const machine::RowAccess& access) {
  Notes& mine = notes(*access.warp.block);
  const bool stores = access.kind == AccessKind::store;
  const bool in_global = access.space == ptx::Space::global;
  if (stores && in_global && reaches_input(access.first, std::uint64_t{warp_lanes} * access.width))
    return false;
  std::uint32_t record = record_for(mine, {access.warp, access.operation.index, in_global, access.width});
  if (record == 0) return false;
  Cell me = cell(record, 0);
  if (!in_global)
    return access.width == 4 && detail::enter_shared_row(mine.shared, access.first / 4, stores, me,
                                                         cell(mine.order.floor, 0), access.warp.lanes);
  if (!detail::enter_global_rows(shadow_, access.first, access.width, stores, me, cell(records_.first(), 0)))
    return false;
  if (!checks_.initialisation) return true;
  std::uint64_t bytes = std::uint64_t{warp_lanes} * access.width;
  if (stores) written_.written(access.first, bytes);
  return stores || written_.is_written(access.first, bytes);
}

void Checker::access(const machine::Access& access) {
  Notes& mine = notes(*access.warp.block);
  if (access.space == ptx::Space::local) {
    if (checks_.initialisation) check_local(mine, access);
    return;
  }
  check_races(mine, access);
  if (access.space == ptx::Space::global && access.kind != AccessKind::load) check_input(access);
  if (checks_.initialisation && access.space == ptx::Space::global) check_written(access);
}

void Checker::check_races(Notes& mine, const machine::Access& access) {
  BlockOrder& order = mine.order;
  const machine::Warp& warp_state = access.warp;
  unsigned warp = warp_state.index;
  bool global = access.space == ptx::Space::global;
  const bool strong = detail::is_strong(access);
  // The checker hears of an access before it happens. What a strong read finds may be published between the
  // two, so the time up to which this block has seen the others is taken only at its next access.
  if (order.acquiring) order.acquired = histories_->now();
  order.acquiring = strong && access.kind != AccessKind::store;
  if (order.acquiring) order.acquire(warp, histories_->now());
  std::uint32_t record = record_for(mine, {warp_state, access.operation.index, global, access.width,
                                           access.kind == AccessKind::atomic, strong, narrow_place(access)});
  if (record == 0) return;
  Accessor accessor{access, *histories_, order, record};
  auto report = [&](const Conflict& conflict) {
    if (checks_.races) report_race(access, conflict);
  };
  auto unwritten = [&](unsigned lane, std::uint64_t address) {
    if (checks_.initialisation) report_uninitialised(access, lane, address);
  };
  if (global)
    check_global(shadow_, records_, accessor, report);
  else
    check_shared(mine.shared, mine.records, accessor, report, unwritten);
  if (!strong || access.kind == AccessKind::load) return;
  if (access.order >= MemoryOrder::release) order.fence(warp, mine.now(), access.scope != MemoryScope::block);
  order.publish(warp, mine.now());
  if (global) histories_->publish(access.warp.block->linear_id, order.warps[warp].fences);
}

void Checker::fence(const machine::Warp& warp, const machine::Operation&, MemoryScope scope) {
  Notes& mine = notes(*warp.block);
  mine.order.fence(warp.index, mine.now(), scope != MemoryScope::block);
}

void Checker::barrier(const machine::Block& block, const machine::Operation&, unsigned, bool) {
  Notes& mine = notes(block);
  mine.order.barrier(mine.now());
  mine.records.forget();
}

void Checker::warp_barrier(const machine::Warp& warp, const machine::Operation&, std::uint32_t members) {
  Notes& mine = notes(*warp.block);
  mine.order.warp_barrier(warp.index, members, mine.now());
}

void Checker::check_written(const machine::Access& access) {
  std::uint64_t first = access.first, row_bytes = std::uint64_t{warp_lanes} * access.width;
  bool row = access.contiguous && access.mask == machine::all_lanes;
  if (access.kind == AccessKind::store) {
    if (row) return written_.written(first, row_bytes);
    for (std::uint32_t mask = access.mask; mask; mask &= mask - 1)
      written_.written(access.addresses[std::countr_zero(mask)], access.width);
    return;
  }
  if (row && written_.is_written(first, row_bytes)) return;
  std::uint64_t last = 0; // neighbouring lanes that read one address are checked once
  for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(mask));
    std::uint64_t address = access.addresses[lane];
    if (address == last || written_.is_written(address, access.width)) {
      last = address;
      continue;
    }
    report_uninitialised(access, lane, address);
    written_.written(address, access.width); // reported once per place
  }
}

// Reports a read only where no byte of it was written. In a debug build every copy of a variable goes through
// local memory, padding and all, so that such a read means nothing there.
void Checker::check_local(Notes& mine, const machine::Access& access) {
  if (grid_->code.module->is_debug) return;
  const machine::Block& block = *access.warp.block;
  const std::uint64_t stride = block.worker.local_stride;
  if (!mine.local_is_used) {
    mine.local.assign(block.warps.size() * warp_lanes * stride, false);
    mine.local_is_used = true;
  }
  for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t offset = access.addresses[lane];
    if (offset + access.width > stride) continue; // reported as a bad access
    auto first = mine.local.begin() +
                 static_cast<std::ptrdiff_t>((access.warp.index * warp_lanes + lane) * stride + offset);
    auto end = first + access.width;
    const bool unknown = access.kind == AccessKind::load && std::find(first, end, true) == end;
    if (unknown) report_uninitialised(access, lane, offset);
    if (unknown || access.kind != AccessKind::load) std::fill(first, end, true);
  }
}

void Checker::check_input(const machine::Access& access) {
  for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(mask));
    std::uint64_t address = access.addresses[lane];
    if (!reaches_input(address, access.width)) continue;
    if (!is_new(HazardKind::input_written, access.operation, ~0u)) return;
    Hazard hazard =
        describe_input_written(thread_name(*grid_, access.warp.block->linear_id, access.warp.index, lane),
                               global_name(memory_, address, access.width), access.kind);
    hazard.where = grid_->code.line_of(access.operation);
    return recorder_.add(std::move(hazard));
  }
}

bool Checker::is_new(HazardKind kind, const machine::Operation& operation, std::uint32_t other, int reach) {
  std::lock_guard lock(mutex_);
  return reported_.emplace(kind, operation.index, other, reach).second;
}

void Checker::report_race(const machine::Access& access, const Conflict& conflict) {
  const AccessRecord& earlier = conflict.earlier;
  const machine::Block& block = *access.warp.block;
  bool shared = access.space == ptx::Space::shared, same_block = earlier.block == block.linear_id;
  const HazardKind kind = shared              ? HazardKind::race_shared
                          : conflict.unfenced ? HazardKind::fence
                                              : HazardKind::race_global;
  RaceScope scope = !same_block ? (conflict.unfenced ? RaceScope::fence : RaceScope::blocks)
                    : earlier.warp == access.warp.index ? RaceScope::warp
                                                        : RaceScope::block;
  if (!is_new(kind, access.operation, earlier.operation, static_cast<int>(scope))) return;
  Race race{.kind = kind,
            .later = access.kind,
            .earlier_wrote = conflict.earlier_wrote,
            .earlier_atomic = earlier.is_atomic,
            .scope = scope,
            .place = shared ? shared_name(grid_->code, conflict.address, access.width)
                            : global_name(memory_, conflict.address, access.width),
            .later_thread = thread_name(*grid_, block.linear_id, access.warp.index, conflict.lane),
            .earlier_thread = thread_name(*grid_, earlier.block, earlier.warp, conflict.earlier_lane)};
  Hazard hazard = describe(race);
  hazard.where = grid_->code.line_of(access.operation);
  hazard.other = grid_->code.line_of(grid_->code.operations[earlier.operation]);
  recorder_.add(std::move(hazard));
}

void Checker::report_uninitialised(const machine::Access& access, unsigned lane, std::uint64_t address) {
  if (!is_new(HazardKind::uninitialised, access.operation, ~0u)) return;
  const std::string place =
      access.space == ptx::Space::shared  ? shared_name(grid_->code, address, access.width)
      : access.space == ptx::Space::local ? fmt::format("byte {} of its local memory", address)
                                          : global_name(memory_, address, access.width);
  Hazard hazard = describe_uninitialised(
      thread_name(*grid_, access.warp.block->linear_id, access.warp.index, lane), place, access.space);
  hazard.where = grid_->code.line_of(access.operation);
  recorder_.add(std::move(hazard));
}

void Checker::bad_access(const machine::Warp&, const machine::Operation& operation,
                         const machine::Fault& fault) {
  Hazard hazard = hazard_from(fault);
  if (is_new(hazard.kind, operation, ~0u)) recorder_.add(std::move(hazard));
}

void Checker::notice(const machine::Warp& warp, const machine::Operation& operation, machine::Notice what,
                     std::uint32_t lanes, const machine::Operation* other) {
  const machine::Code& code = grid_->code;
  machine::SourceLine where = code.line_of(operation),
                      second = other ? code.line_of(*other) : machine::SourceLine{};
  if (what == machine::Notice::barrier_mismatch && where.line == second.line && where.file == second.file)
    return;
  Hazard hazard = describe(
      what,
      thread_name(*grid_, warp.block->linear_id, warp.index, static_cast<unsigned>(std::countr_zero(lanes))),
      static_cast<unsigned>(std::popcount(lanes)));
  if (!is_new(hazard.kind, operation, other ? other->index : ~0u - static_cast<unsigned>(what))) return;
  hazard.where = where;
  hazard.other = second;
  recorder_.add(std::move(hazard));
}

} // namespace warpfold::watch
