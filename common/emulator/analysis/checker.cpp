#include "checker_notes.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>

namespace warpfold::analysis {

using machine::AccessKind;
using machine::MemoryOrder;
using machine::MemoryScope;
using machine::warp_lanes;
using machine::Work;

// The number of operations of a warp whose records may be reused.
constexpr std::size_t most_recent = 256;

Checker::Checker(const machine::AddressSpace& memory, Recorder& recorder)
    : memory_(memory), written_(memory), recorder_(recorder), shadow_(memory) {}

Checker::CodeFacts::CodeFacts(const machine::Code& kernel)
    : code(&kernel), is_bulk(kernel.operations.size()), takes_read_only_path(kernel.operations.size()),
      memory_operation(kernel.operations.size()) {
  for (std::size_t i = 0; i < kernel.operations.size(); ++i) {
    const machine::OperationFacts& facts = kernel.facts[i];
    const bool releases = static_cast<MemoryOrder>(kernel.operations[i].order) >= MemoryOrder::release;
    has_guesses |= facts.synchronising.guesses;
    is_bulk[i] = kernel.names[i].starts_with("cp.async.bulk") || kernel.names[i].starts_with("cp.reduce");
    has_bulk |= is_bulk[i];
    takes_read_only_path[i] = facts.work == Work::load && kernel.names[i].find(".nc") != std::string::npos;
    synchronises |= facts.work == Work::fence || (releases && facts.work != Work::other);
    if (facts.work == Work::load || facts.work == Work::store || facts.work == Work::atomic ||
        facts.work == Work::memory_barrier || facts.work == Work::texture || facts.work == Work::surface)
      memory_operation[i] = memory_operations % most_recent, ++memory_operations;
  }
}

std::shared_ptr<const Checker::CodeFacts> Checker::facts_of(const machine::Code& code) {
  constexpr std::size_t kept = 16;
  std::lock_guard lock(mutex_);
  for (const auto& known : facts_)
    if (known->code == &code) return known;
  if (facts_.size() == kept) facts_.pop_front();
  return facts_.emplace_back(std::make_shared<CodeFacts>(code));
}

namespace {

thread_local std::optional<Operation> order_of_next;

} // namespace

void Checker::next_launch(const Operation& order) {
  order_of_next.emplace();
  order_of_next->actor = order.actor, order_of_next->number = order.number;
  order_of_next->view = order.view;
}

void Checker::launch_begin(const machine::Grid& grid) {
  auto mine = std::make_shared<GridNotes>();
  mine->facts = facts_of(grid.code);
  mine->launch = launches_.begin(grid, order_of_next ? &*order_of_next : nullptr, [&] {
    shadow_.begin_launch(records_.begin_launch());
    logs_.clear();
    atomic_widths_ = 0;
    std::lock_guard lock(mutex_);
    reported_.clear();
  });
  order_of_next.reset();
  {
    std::lock_guard lock(mutex_);
    mine->restrictions = restrictions_;
  }
  if (!mine->launch || mine->launch->forgets)
    recorder_.add({HazardKind::not_checked, HazardCause::too_many_launches,
                   "races between this launch and those before it are not checked"});
  grid.notes = mine;
}

void Checker::launch_end(const machine::Grid& grid) {
  const auto& mine = *static_cast<const GridNotes*>(grid.notes.get());
  if (mine.launch) launches_.end(*mine.launch);
}

void Checker::block_begin(const machine::Block& block) {
  if (!block.notes) block.notes = std::make_unique<Notes>();
  Notes& mine = notes(block);
  const machine::Grid& grid = block.worker.grid;
  const auto& of_grid = *static_cast<const GridNotes*>(grid.notes.get());
  mine.grid = &grid, mine.facts = of_grid.facts.get(), mine.launch = of_grid.launch;
  mine.restrictions = of_grid.restrictions.get();
  mine.block = static_cast<std::uint32_t>(block.linear_id) + (mine.launch ? mine.launch->first_block : 0);
  mine.local_is_used = false;
  if (block.rank == 0 && mine.launch) begin_cluster(block, *mine.launch);
  mine.orders_less = false;
  mine.cluster = mine.launch && block.cluster->size() > 1 ? &cluster_notes(*block.cluster) : nullptr;
  const bool clock_began_anew = mine.records.begin_block();
  mine.shared.reset((grid.shared_bytes() + 3) / 4, clock_began_anew);
  if (mine.facts->has_bulk)
    mine.bulk.begin_block(block.warps.size() * warp_lanes, (grid.shared_bytes() + 3) / 4);
  mine.copies.begin_block(block.warps.size() * warp_lanes, (grid.shared_bytes() + 3) / 4);
  if (clock_began_anew) mine.recent.clear();
  mine.history = mine.launch ? &launches_.history_of(mine.block) : nullptr;
  if (mine.history) mine.history->worker = &block.worker;
  CausalClock before;
  if (mine.launch && launches_.several()) {
    std::lock_guard lock(mine.launch->mutex);
    before = mine.launch->acquired;
  }
  mine.order.begin(block.warps.size(),
                   {mine.block, grid.device, mine.cluster ? launches_.cluster_of(mine.block) : Place::alone},
                   before);
  mine.recent_count = std::clamp<std::size_t>(mine.facts->memory_operations, 1, most_recent);
  mine.recent.resize(block.warps.size() * mine.recent_count); // those left there are of an earlier phase
  for (Notes::Recent& recent : mine.recent) recent.made = 0;
  mine.reads.clear();
  mine.recent_logs.forget();
}

void Checker::block_end(const machine::Block& block) {
  Notes& mine = notes(block);
  if (checks_.races && mine.facts->has_bulk) check_bulk_at_end(mine, block);
  for (std::uint64_t address : mine.shared_logs) logs_.remove(address);
  mine.shared_logs.clear();
  if (mine.cluster && checks_.races) check_end(mine, block);
  if (mine.history) mine.history->accesses.store(BlockHistories::History::ended, std::memory_order_release);
  if (!mine.launch || !launches_.several() || !mine.order.has_read_any) return;
  std::lock_guard lock(mine.launch->mutex);
  mine.launch->acquired.join(mine.order.acquired);
  for (const WarpOrder& warp : mine.order.warps) {
    mine.launch->acquired.join(warp.acquired);
    for (const Acquired& seen : warp.taken) // the end of a kernel is a fence
      for (const CausalClock& each : seen.from) mine.launch->acquired.join(each);
  }
}

struct Checker::Actor {
  const machine::Warp& warp;
  std::uint32_t operation;
  bool in_global = false;
  std::uint32_t width;
  bool is_atomic = false, is_store = false, polls = false;
  Strength strength = Strength::weak;
  MemoryScope scope = MemoryScope::block;
};

// The number of the record for what the actor does now; 0 if no numbers are left.
std::uint32_t Checker::record_for(Notes& mine, const Actor& actor) {
  const machine::Warp& warp = actor.warp;
  if (actor.in_global)
    mine.history->accesses.store(mine.history->accesses.load(std::memory_order_relaxed) + 1,
                                 std::memory_order_release);
  Notes::Recent& recent =
      mine.recent[warp.index * mine.recent_count + mine.facts->memory_operation[actor.operation]];
  const bool again = recent.operation == actor.operation && recent.in_global == actor.in_global &&
                     recent.is_store == actor.is_store && recent.is_atomic == actor.is_atomic && recent.made;
  if (again && (actor.in_global || recent.number >= mine.records.first())) {
    // A loop that synchronises in each iteration would create records without end. After the first ones, new
    // records become rarer and rarer. A record that is used for longer looks older than it is, so a race may
    // be missed.
    constexpr std::uint32_t plenty = 1 << 16, longest_pause = 1 << 16;
    const std::uint32_t pause =
        std::min(longest_pause, std::uint32_t{1} << std::min(31u, recent.made / plenty));
    if (recent.moment >= mine.order.phase_of(warp.index)) return recent.number;
    if (++recent.passed_over < pause) {
      if (!actor.polls) // how often a thread polls depends on this machine, and says nothing about the kernel
        report_not_checked(HazardCause::too_many_steps, mine, mine.grid->code.operations[actor.operation]);
      return recent.number;
    }
  }
  const std::uint32_t number = actor.in_global ? take_number(mine) : mine.records.next();
  if (!number) {
    report_not_checked(HazardCause::too_many_accesses, mine, mine.grid->code.operations[actor.operation]);
    return 0;
  }
  const AccessRecord record{.block = mine.block,
                            .operation = actor.operation,
                            .moment = mine.order.clock,
                            .warp = static_cast<std::uint8_t>(warp.index),
                            .is_atomic = actor.is_atomic,
                            .polls = actor.polls,
                            .strength = actor.strength,
                            .is_store = actor.is_store,
                            .scope = actor.scope,
                            .width = static_cast<std::uint8_t>(actor.width)};
  if (actor.in_global) {
    records_.at(number) = record;
    // Other workers reach the record through a cell and must not find the cell first.
    std::atomic_thread_fence(std::memory_order_release);
  } else {
    mine.records.add(record);
  }
  recent = {.operation = actor.operation,
            .in_global = actor.in_global,
            .is_store = actor.is_store,
            .is_atomic = actor.is_atomic,
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
  if (!mine.launch) return false;
  if (mine.cluster && access.warp.cluster_arrived) return false;
  if (mine.facts->has_guesses && mine.facts->code->facts[access.operation.index].synchronising.guesses)
    return false;
  if (in_global && mine.facts->takes_read_only_path[access.operation.index]) return false;
  if (!in_global && (mine.facts->has_bulk || mine.copies.any() || mine.cluster)) return false;
  if (in_global && restriction_on(mine, access.first, std::uint64_t{warp_lanes} * access.width, access.kind))
    return false;
  std::uint32_t record =
      record_for(mine, {access.warp, access.operation.index, in_global, access.width, false, stores});
  if (record == 0) return false;
  Cell me = cell(record, 0);
  if (!in_global)
    return access.width == 4 && detail::enter_shared_row(mine.shared, mine.records, access.first / 4, stores,
                                                         me, access.warp.lanes, mine.facts->synchronises);
  if (!detail::enter_global_rows(shadow_, records_, mine.order, launches_, records_[record], access.first,
                                 stores, me, cell(records_.first(), 0), mine.facts->synchronises))
    return false;
  if (!checks_.initialisation) return true;
  std::uint64_t bytes = std::uint64_t{warp_lanes} * access.width;
  if (stores) written_.written(access.first, bytes);
  return stores || written_.is_written(access.first, bytes);
}

void Checker::access(const machine::Access& access) {
  Notes& mine = notes(*access.warp.block);
  if (const MemoryScope scope = scope_in(mine, access.operation, access.scope); scope != access.scope) {
    machine::Access wider = access;
    wider.scope = scope;
    return this->access(wider);
  }
  if (access.space == ptx::Space::local) {
    if (checks_.initialisation) check_local(mine, access);
    return;
  }
  if (checks_.races && access.space == ptx::Space::shared && !access.remote && mine.copies.any())
    check_copies(mine, access);
  if (checks_.races && access.space == ptx::Space::shared && !access.remote && mine.facts->has_bulk)
    check_bulk(mine, access);
  if (mine.launch) check_races(mine, access);
  if (access.space == ptx::Space::global && mine.restrictions) check_restrictions(access);
  if (access.kind == AccessKind::atomic) check_grid_barrier(access);
  if (checks_.initialisation && access.space == ptx::Space::global) check_written(access);
}

namespace {

// How much an access guarantees. PTX counts volatile accesses as strong, but a volatile read need not return
// a newer value than a plain load.
Strength strength_of(const machine::Access& access) {
  if (access.kind == AccessKind::atomic || access.order >= MemoryOrder::relaxed) return Strength::strong;
  return access.order == MemoryOrder::unordered ? Strength::volatile_only : Strength::weak;
}

} // namespace

void Checker::check_races(Notes& mine, const machine::Access& access) {
  BlockOrder& order = mine.order;
  mine.orders_less |= (access.warp.cluster_arrived & access.mask) != 0;
  const unsigned warp = access.warp.index;
  const bool global = access.space == ptx::Space::global;
  const bool in_cluster = !global && mine.cluster;
  const ptx::Synchronising facts = mine.facts->code->facts[access.operation.index].synchronising;
  const Strength promised = strength_of(access);
  // An atomic checks again what a guess reads, so the value may be as old as that of a poll.
  const bool only_guesses = facts.guesses && promised == Strength::weak;
  const Strength strength = only_guesses ? Strength::volatile_only : promised;
  if (!mine.reads.empty()) has_read(access.warp); // reads that are still pending
  const std::uint32_t number =
      record_for(mine, {access.warp, access.operation.index, global || in_cluster, access.width,
                        access.kind == AccessKind::atomic, access.kind == AccessKind::store,
                        facts.polls || only_guesses, strength,
                        only_guesses                 ? MemoryScope::system
                        : promised == Strength::weak ? MemoryScope::block
                                                     : access.scope});
  if (number == 0) return;
  const AccessRecord record = global || in_cluster ? records_[number] : mine.records[number];
  if (record.is_atomic && !(atomic_widths_.load(std::memory_order_relaxed) & access.width))
    atomic_widths_ |= access.width;
  Accessor accessor{access,         launches_, order, logs_, number, record, mine.facts->synchronises,
                    &atomic_widths_};
  accessor.by_read_only_path = mine.facts->takes_read_only_path[access.operation.index];
  auto report = [&](const Conflict& conflict) {
    if (checks_.races) report_race(access, conflict);
  };
  auto unwritten = [&](unsigned lane) {
    if (checks_.initialisation && !overwrites(access)) report_uninitialised(access, lane);
  };
  const auto check = [&] {
    if (in_cluster)
      check_in_cluster(mine, accessor);
    else if (global)
      check_global(shadow_, records_, accessor, report);
    else
      check_shared(mine.shared, mine.records, accessor, report, unwritten);
    if (promised != Strength::weak) synchronise(mine, access, facts);
  };
  if (strength == Strength::weak || access.order < MemoryOrder::release) return check();
  const BlockOrder::Fences before = order.begin_release(warp, access.mask, level_of(access.scope));
  check();
  order.end_release(warp, before);
}

} // namespace warpfold::analysis
