#include "checker.hpp"

#include "naming.hpp"
#include "words.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <fmt/format.h>
#include <thread>

namespace warpfold::watch {

using machine::AccessKind;
using machine::MemoryOrder;
using machine::MemoryScope;
using machine::warp_lanes;

// What the checker keeps with a block while it runs. The machine's blocks are used again, and so are these.
// Operations of a warp whose records may be used again.
constexpr std::size_t most_recent = 256;

struct Checker::Notes final : machine::BlockNotes {
  // The record of an operation that was made last, and how many before it.
  struct Recent {
    std::uint32_t operation = ~0u;
    bool in_global = false;
    std::uint8_t place = 0;
    std::uint32_t moment = 0, number = 0, made = 0, passed_over = 0;
  };

  SharedShadow shared;
  BlockOrder order;
  BlockRecords records;
  std::uint32_t next_number = 0, chunk_end = 0; // in global memory; 0: none left
  std::vector<Recent> recent;                   // by warp and operation: records that may be used again
  std::size_t recent_count = 0;                 // per warp

  // What the last strong access will have acquired when it has happened.
  struct Reads {
    std::uint64_t address = 0; // as ReleaseLogs knows it
    std::uint32_t lanes = 0;
  };
  std::vector<Reads> reads;
  bool reads_wait_for_fence = false;
  unsigned reading_warp = 0;
  std::vector<std::uint64_t> shared_logs; // addresses of those that lie in this block's shared memory

  // Bytes of local memory that their threads have written, lane after lane. Empty of meaning until the block
  // uses any.
  std::vector<bool> local;
  bool local_is_used = false;
};

Checker::Checker(const machine::AddressSpace& memory, Recorder& recorder)
    : memory_(memory), written_(memory), recorder_(recorder), shadow_(memory) {}

void Checker::launch_begin(const machine::Grid& grid) {
  grid_ = &grid;
  shadow_.begin_launch(records_.begin_launch());
  histories_ = std::make_unique<BlockHistories>(grid.block_count());
  logs_.clear();
  reported_.clear();
  if (code_ == &grid.code) return;
  code_ = &grid.code;
  synchronises_ = false;
  has_guesses_ = std::ranges::any_of(grid.code.synchronising,
                                     [](const ptx::Synchronising& facts) { return facts.guesses; });
  memory_operations_ = 0;
  memory_operation_.assign(grid.code.operations.size(), 0);
  for (std::size_t i = 0; i < grid.code.operations.size(); ++i) {
    const std::string& name = grid.code.names[i];
    const bool may_release = static_cast<MemoryOrder>(grid.code.operations[i].order) >= MemoryOrder::release;
    if (name.starts_with("membar") || name.starts_with("fence") || (!name.empty() && may_release))
      synchronises_ = true;
    for (const char* opcode : {"ld", "st", "atom", "red", "mbarrier", "cp"})
      if (name.starts_with(opcode))
        memory_operation_[i] = memory_operations_ % most_recent, ++memory_operations_;
  }
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
  if (clock_began_anew) mine.recent.clear();
  mine.order.begin(block.warps.size());
  mine.recent_count = std::clamp<std::size_t>(memory_operations_, 1, most_recent);
  mine.recent.resize(block.warps.size() * mine.recent_count); // those left there are of a phase that is over
  for (Notes::Recent& recent : mine.recent) recent.made = 0;
  mine.reads.clear();
}

void Checker::block_end(const machine::Block& block) {
  Notes& mine = notes(block);
  for (std::uint64_t address : mine.shared_logs) logs_.retire(address);
  mine.shared_logs.clear();
}

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
  bool is_atomic = false, is_store = false, polls = false;
  Strength strength = Strength::weak;
  MemoryScope scope = MemoryScope::block;
  std::uint8_t place = 0; // AccessRecord::place
};

// The number of the record of what the actor does now; 0 where no numbers are left.
std::uint32_t Checker::record_for(Notes& mine, const Actor& actor) {
  const machine::Warp& warp = actor.warp;
  Notes::Recent& recent = mine.recent[warp.index * mine.recent_count + memory_operation_[actor.operation]];
  const bool again =
      recent.operation == actor.operation && recent.in_global == actor.in_global && recent.made;
  if (again && (actor.in_global || recent.number >= mine.records.first())) {
    // A loop that synchronises in each round would make records without end. After the first ones it makes
    // fewer and fewer; one that is used for longer looks older than it is, so that a race may be missed.
    constexpr std::uint32_t plenty = 1024, longest_pause = 1 << 16;
    const std::uint32_t pause =
        std::min(longest_pause, std::uint32_t{1} << std::min(31u, recent.made / plenty));
    if (recent.moment >= mine.order.phase_of(warp.index) || ++recent.passed_over < pause) {
      if (recent.place != actor.place && recent.place != AccessRecord::many_places) {
        recent.place = AccessRecord::many_places;
        (actor.in_global ? records_.at(recent.number) : mine.records[recent.number]).place = recent.place;
      }
      return recent.number;
    }
  }
  const std::uint32_t number = actor.in_global ? take_number(mine) : mine.records.next();
  if (!number) return 0;
  const AccessRecord record{.block = static_cast<std::uint32_t>(warp.block->linear_id),
                            .operation = actor.operation,
                            .moment = mine.order.clock,
                            .warp = static_cast<std::uint8_t>(warp.index),
                            .is_atomic = actor.is_atomic,
                            .polls = actor.polls,
                            .strength = actor.strength,
                            .is_store = actor.is_store,
                            .scope = actor.scope,
                            .width = static_cast<std::uint8_t>(actor.width),
                            .place = actor.place};
  if (actor.in_global) {
    records_.at(number) = record;
    // Other workers come to the record by way of a cell, and must not find the cell first.
    std::atomic_thread_fence(std::memory_order_release);
  } else {
    mine.records.add(record);
  }
  recent = {.operation = actor.operation,
            .in_global = actor.in_global,
            .place = actor.place,
            .moment = record.moment,
            .number = number,
            .made = (again ? recent.made : 0) + 1,
            .passed_over = 0};
  return number;
}

std::uint32_t Checker::take_number(Notes& mine) {
  if (mine.next_number == mine.chunk_end) {
    mine.next_number = records_.take_chunk();
    mine.chunk_end =
        mine.next_number ? (mine.next_number / GlobalRecords::chunk_size + 1) * GlobalRecords::chunk_size : 0;
    if (!mine.next_number) return 0;
  }
  return mine.next_number++;
}

bool Checker::row(const machine::RowAccess& access) {
  Notes& mine = notes(*access.warp.block);
  const bool stores = access.kind == AccessKind::store;
  const bool in_global = access.space == ptx::Space::global;
  if (has_guesses_ && grid_->code.synchronising[access.operation.index].guesses) return false;
  if (stores && in_global && reaches_input(access.first, std::uint64_t{warp_lanes} * access.width))
    return false;
  std::uint32_t record =
      record_for(mine, {access.warp, access.operation.index, in_global, access.width, false, stores});
  if (record == 0) return false;
  Cell me = cell(record, 0);
  if (!in_global)
    return access.width == 4 && detail::enter_shared_row(mine.shared, mine.records, access.first / 4, stores,
                                                         me, access.warp.lanes, synchronises_);
  if (!detail::enter_global_rows(shadow_, records_, mine.order, records_[record], access.first, stores, me,
                                 cell(records_.first(), 0), synchronises_))
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
  if (access.kind == AccessKind::atomic) check_grid_barrier(access);
  if (checks_.initialisation && access.space == ptx::Space::global) check_written(access);
}

namespace {

// How much an access promises. Volatile ones are strong by the letter of PTX, but a value that is read so is
// no newer than by a plain load.
Strength strength_of(const machine::Access& access) {
  if (access.kind == AccessKind::atomic || access.order >= MemoryOrder::relaxed) return Strength::strong;
  return access.order == MemoryOrder::unordered ? Strength::volatile_only : Strength::weak;
}

// Visits each word that the request's lanes synchronise at, with the lanes.
template <typename Visit>
void each_place(const machine::Access& access, Visit visit) {
  constexpr std::uint64_t word = 4;
  for (std::uint32_t rest = access.mask; rest;) {
    const std::uint64_t address = access.addresses[std::countr_zero(rest)] / word * word;
    std::uint32_t here = 0;
    for (std::uint32_t others = rest; others; others &= others - 1)
      if (access.addresses[std::countr_zero(others)] / word * word == address) here |= others & -others;
    visit(address, here);
    rest &= ~here;
  }
}

} // namespace

void Checker::check_races(Notes& mine, const machine::Access& access) {
  BlockOrder& order = mine.order;
  const unsigned warp = access.warp.index;
  const bool global = access.space == ptx::Space::global;
  const ptx::Synchronising facts = grid_->code.synchronising[access.operation.index];
  const Strength promised = strength_of(access);
  // What a guess finds is looked at again by an atomic, so that it may be as old as that of a poll.
  const bool only_guesses = facts.guesses && promised == Strength::weak;
  const Strength strength = only_guesses ? Strength::volatile_only : promised;
  if (!mine.reads.empty()) has_read(access.warp); // what is still open
  const std::uint32_t number = record_for(
      mine, {access.warp, access.operation.index, global, access.width, access.kind == AccessKind::atomic,
             access.kind == AccessKind::store, facts.polls || only_guesses, strength,
             only_guesses                 ? MemoryScope::system
             : promised == Strength::weak ? MemoryScope::block
                                          : access.scope,
             narrow_place(access)});
  if (number == 0) return;
  if (strength != Strength::weak && access.order >= MemoryOrder::release)
    order.fence(warp, access.mask, is_wide(access.scope));
  const AccessRecord record = global ? records_[number] : mine.records[number];
  const Accessor accessor{access, *histories_, order, logs_, number, record, synchronises_};
  auto report = [&](const Conflict& conflict) {
    if (checks_.races) report_race(access, conflict);
  };
  auto unwritten = [&](unsigned lane, std::uint64_t address) {
    if (checks_.initialisation && !overwrites(access)) report_uninitialised(access, lane, address);
  };
  if (global)
    check_global(shadow_, records_, accessor, report);
  else
    check_shared(mine.shared, mine.records, accessor, report, unwritten);
  if (promised != Strength::weak) synchronise(mine, access, facts);
}

// What a strong access releases and acquires.
void Checker::synchronise(Notes& mine, const machine::Access& access, ptx::Synchronising facts) {
  BlockOrder& order = mine.order;
  const unsigned warp = access.warp.index;
  const std::uint32_t block = static_cast<std::uint32_t>(access.warp.block->linear_id);
  const bool global = access.space == ptx::Space::global, writes = access.kind != AccessKind::load;
  const bool reads = access.kind == AccessKind::load ||
                     (access.kind == AccessKind::atomic && !facts.ignores_value && access.operation.d != 0);
  const bool releases = writes && order.has_fence(warp, access.mask);
  if (reads && (access.kind == AccessKind::atomic || access.order >= MemoryOrder::relaxed || facts.polls))
    order.has_read_strongly = true;
  if (writes && histories_->follows(block))
    histories_->of(block).published.store(order.clock, std::memory_order_relaxed);
  if (!releases && !reads && !logs_.any()) return;
  each_place(access, [&](std::uint64_t address, std::uint32_t lanes) {
    const std::uint64_t key = global ? address : ReleaseLogs::shared_address(block, address);
    if (reads) mine.reads.push_back({key, lanes});
    const bool is_flag = releases || facts.polls;
    std::shared_ptr<ReleaseLog> log = is_flag || writes ? logs_.find(key) : nullptr;
    if (!log && is_flag) {
      log = logs_.at(key);
      if (!global) mine.shared_logs.push_back(key);
    }
    if (!log) return;
    if (facts.polls) log->mark_polled();
    if (releases)
      release(mine, access, lanes, log);
    else if (access.kind == AccessKind::store)
      log->cut();
  });
  // The access itself comes next: who sees it must see the log, or would be told of a race that is none.
  std::atomic_thread_fence(std::memory_order_release);
  // What says `release` and no more does not acquire either.
  const bool acquires = access.order == MemoryOrder::acquire || access.order >= MemoryOrder::acquire_release;
  mine.reads_wait_for_fence = !acquires && (facts.takes_lock || access.order == MemoryOrder::release);
  mine.reading_warp = warp;
}

void Checker::release(Notes& mine, const machine::Access& access, std::uint32_t lanes,
                      const std::shared_ptr<ReleaseLog>& log) {
  BlockOrder::Released released = mine.order.release(access.warp.index, lanes, access.operation.index, log);
  const auto block = static_cast<std::uint32_t>(access.warp.block->linear_id);
  const bool wide = released.is_wide && is_wide(access.scope) && access.space == ptx::Space::global;
  if (histories_->follows(block)) {
    auto raise = [](std::atomic<std::uint32_t>& moment, const Reach& reach) {
      moment.store(std::max({moment.load(std::memory_order_relaxed), reach.own, reach.floor}),
                   std::memory_order_relaxed);
    };
    BlockHistories::History& history = histories_->of(block);
    if (released.is_narrow) raise(history.released, released.narrow);
    if (wide) raise(history.widely_released, released.wide);
  }
  log->release({.block = block,
                .is_wide = wide,
                .narrow = std::move(released.narrow),
                .wide = std::move(released.wide),
                .acquired = std::move(released.acquired)},
               access.kind == AccessKind::store, released.acquired_here);
}

void Checker::has_read(const machine::Warp& warp) {
  Notes& mine = notes(*warp.block);
  if (mine.reads.empty()) return;
  WarpOrder& order = mine.order.warps[mine.reading_warp];
  std::atomic_thread_fence(std::memory_order_acquire); // not before what the warp has just read
  for (const Notes::Reads& each : mine.reads) {
    const std::shared_ptr<ReleaseLog> log = logs_.find(each.address);
    if (!log) continue;
    const Acquired acquired = log->acquire(each.lanes, log);
    if (acquired.begin >= acquired.end) continue;
    mine.order.has_read_any = true;
    if (mine.reads_wait_for_fence)
      order.take(acquired);
    else
      order.acquired.add(acquired);
  }
  mine.reads.clear();
}

void Checker::fence(const machine::Warp& warp, const machine::Operation&, MemoryScope scope) {
  Notes& mine = notes(*warp.block);
  has_read(warp);
  mine.order.fence(warp.index, warp.mask, is_wide(scope));
}

void Checker::barrier(const machine::Block& block, const machine::Operation&, unsigned, bool) {
  Notes& mine = notes(block);
  mine.order.barrier();
  mine.records.forget();
  mine.shared.forget_more();
}

void Checker::warp_barrier(const machine::Warp& warp, const machine::Operation&, std::uint32_t members) {
  Notes& mine = notes(*warp.block);
  mine.order.warp_barrier(warp.index, members);
}

// A store, or an exchange that does not look at what it replaces.
bool Checker::overwrites(const machine::Access& access) const {
  if (access.kind != AccessKind::atomic) return access.kind == AccessKind::store;
  const std::uint32_t operation = access.operation.index;
  return grid_->code.synchronising[operation].ignores_value &&
         grid_->code.names[operation].find(".exch") != std::string::npos;
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

// A barrier of the whole grid, as cooperative groups make it, counts blocks: it does not miss threads that
// have left. All threads of the grid have to reach it (CUDA C++ Programming Guide, "Grid Synchronization").
void Checker::check_grid_barrier(const machine::Access& access) {
  constexpr std::uint64_t workspace_bytes = 8;
  const machine::Block& block = *access.warp.block;
  const std::uint64_t workspace = grid_->shape.grid_workspace;
  const std::uint64_t address = access.addresses[std::countr_zero(access.mask)];
  if (workspace == 0 || address < workspace || address >= workspace + workspace_bytes) return;
  if (block.alive == block.threads || !is_new(HazardKind::barrier, access.operation, ~1u)) return;
  Hazard hazard{HazardKind::barrier, HazardCause::left_grid_barrier};
  hazard.message =
      fmt::format("{} comes to a barrier of the whole grid, which {} threads of its block have left",
                  thread_name(*grid_, block.linear_id, access.warp.index,
                              static_cast<unsigned>(std::countr_zero(access.mask))),
                  block.threads - block.alive);
  hazard.where = grid_->code.line_of(access.operation);
  recorder_.add(std::move(hazard));
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

namespace {

// A store is judged before it is made. Where the other one is another worker's, that worker may not have made
// it yet either, and whether the two values are the same shows a moment later. Where they differ, waiting is
// in vain; each race is waited for once.
bool proves_harmless(const machine::Access& access, unsigned lane) {
  constexpr auto patience = std::chrono::milliseconds(20);
  const auto* memory = reinterpret_cast<const std::byte*>(access.addresses[lane]);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!detail::changes_nothing(access, lane, memory)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

} // namespace

bool Checker::is_reported(HazardKind kind, const machine::Operation& operation, std::uint32_t other,
                          int reach) {
  std::lock_guard lock(mutex_);
  return reported_.contains({kind, operation.index, other, reach});
}

void Checker::report_race(const machine::Access& access, Conflict conflict) {
  const AccessRecord& earlier = conflict.earlier;
  const machine::Block& block = *access.warp.block;
  bool shared = access.space == ptx::Space::shared, same_block = earlier.block == block.linear_id;
  const bool fence = conflict.missing == Missing::fence || conflict.missing == Missing::wide_fence ||
                     conflict.missing == Missing::acquire;
  const HazardKind kind = conflict.is_harmless ? HazardKind::equal_writes
                          : shared             ? HazardKind::race_shared
                          : fence              ? HazardKind::fence
                                               : HazardKind::race_global;
  const RaceScope scope = !same_block                         ? RaceScope::blocks
                          : earlier.warp == access.warp.index ? RaceScope::warp
                                                              : RaceScope::block;
  const int reach = static_cast<int>(scope) * 8 + static_cast<int>(conflict.missing);
  if (is_reported(kind, access.operation, earlier.operation, reach)) return;
  const bool both_store = conflict.earlier_wrote && access.kind == AccessKind::store && !earlier.is_atomic;
  if (!same_block && both_store && !conflict.is_harmless && proves_harmless(access, conflict.lane)) {
    conflict.is_harmless = true;
    if (earlier.operation != access.operation.index) report_race(access, conflict);
    return;
  }
  if (!is_new(kind, access.operation, earlier.operation, reach)) return;
  Race race{.kind = kind,
            .later = access.kind,
            .earlier_wrote = conflict.earlier_wrote,
            .earlier_atomic = earlier.is_atomic,
            .scope = scope,
            .missing = conflict.missing,
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
