// What the checker derives from fences, barriers and strong accesses: who acquires what from whom.
#include "checker_notes.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

namespace warpfold::analysis {

using machine::AccessKind;
using machine::MemoryOrder;
using machine::MemoryScope;

namespace {

// Visits each word at which lanes of the request synchronise, with those lanes.
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

// What a strong access releases and acquires.
void Checker::synchronise(Notes& mine, const machine::Access& access, ptx::Synchronising facts) {
  BlockOrder& order = mine.order;
  const unsigned warp = access.warp.index;
  const std::uint32_t block = mine.block;
  const bool global = access.space == ptx::Space::global, writes = access.kind != AccessKind::load;
  const bool reads = access.kind == AccessKind::load ||
                     (access.kind == AccessKind::atomic && !facts.ignores_value && access.operation.d != 0);
  const bool releases = writes && order.has_fence(warp, access.mask);
  if (reads && (access.kind == AccessKind::atomic || access.order >= MemoryOrder::relaxed || facts.polls))
    order.warps[warp].has_read_strongly = true;
  const std::uint32_t written_at = order.clock;
  const auto publish = [&] { // after release(): who sees that this was published also sees how far
    if (!writes) return;
    BlockHistories::History& history = launches_.history_of(block);
    history.published_at.store(access.addresses[std::countr_zero(access.mask)], std::memory_order_relaxed);
    history.published_by.store(access.operation.index, std::memory_order_relaxed);
    history.published.store(written_at, std::memory_order_release);
  };
  if (!releases && !reads && !logs_.any()) return publish();
  each_place(access, [&](std::uint64_t address, std::uint32_t lanes) {
    const std::uint64_t key = global ? address : shared_log(mine, *access.warp.block, address);
    if (reads) mine.reads.push_back({key, lanes});
    const bool is_flag = releases || facts.polls;
    ReleaseLog* log = is_flag || writes ? mine.recent_logs.find(logs_, key) : nullptr;
    if (!log && is_flag) {
      log = &logs_.at(key);
      if (!global) (mine.cluster ? mine.cluster->logs : mine.shared_logs).push_back(key);
    }
    if (!log) return;
    if (facts.polls) log->mark_polled();
    if (releases)
      release(mine, access, lanes, *log);
    else if (access.kind == AccessKind::store)
      log->cut({block, warp, lanes});
  });
  publish();
  // The access itself comes next: a thread that sees it must also see the log, or a false race would be
  // reported.
  std::atomic_thread_fence(std::memory_order_release);
  // An access that is only a `release` does not acquire.
  const bool acquires = access.order == MemoryOrder::acquire || access.order >= MemoryOrder::acquire_release;
  mine.reads_wait_for_fence =
      !acquires && (facts.takes_lock || facts.polls || access.order == MemoryOrder::release);
  mine.read_by = facts.takes_lock ? Acquired::By::lock
                 : facts.polls    ? Acquired::By::poll
                                  : Acquired::By::release;
  mine.reading_warp = warp;
}

void Checker::release(Notes& mine, const machine::Access& access, std::uint32_t lanes, ReleaseLog& log) {
  Release released = mine.order.release(access.warp.index, lanes, access.operation.index);
  if (access.space != ptx::Space::global && !mine.cluster) released.level = Level::block;
  released.level = std::min(released.level, level_of(access.scope));
  BlockHistories::History& history = launches_.history_of(mine.block);
  for (std::size_t each = 0; each <= static_cast<std::size_t>(released.level); ++each) {
    std::atomic<std::uint32_t>& moment = history.released[each];
    moment.store(std::max(moment.load(std::memory_order_relaxed), released.moment[each]),
                 std::memory_order_relaxed);
  }
  log.release(released, access.kind == AccessKind::store);
}

void Checker::has_read(const machine::Warp& warp) {
  Notes& mine = notes(*warp.block);
  if (mine.reads.empty()) return;
  WarpOrder& order = mine.order.warps[mine.reading_warp];
  std::atomic_thread_fence(std::memory_order_acquire); // not before what the warp has just read
  Acquired together;                                   // by lanes that acquire the same
  for (const Notes::Reads& each : mine.reads) {
    ReleaseLog* const log = mine.recent_logs.find(logs_, each.address);
    if (!log) continue;
    Acquired acquired = log->acquire(each.lanes, mine.order.place, !mine.reads_wait_for_fence);
    acquired.by = mine.read_by;
    if (acquired.empty()) continue;
    mine.order.has_read_any = true;
    if (mine.reads_wait_for_fence) {
      order.take(std::move(acquired));
    } else if (acquired.is_same(together)) {
      together.lanes |= acquired.lanes;
    } else {
      order.acquire(together.from, Level::system, together.lanes);
      together = std::move(acquired);
    }
  }
  order.acquire(together.from, Level::system, together.lanes);
  mine.reads.clear();
}

void Checker::fence(const machine::Warp& warp, const machine::Operation&, MemoryScope scope) {
  Notes& mine = notes(*warp.block);
  has_read(warp);
  mine.order.fence(warp.index, warp.mask, level_of(scope));
}

void Checker::barrier(const machine::Block& block, const machine::Operation& operation, unsigned, bool) {
  Notes& mine = notes(block);
  if (block.alive < block.threads) report_left(block, operation);
  const ptx::Space orders = mine.facts->code->facts[operation.index].orders;
  mine.order.barrier(orders);
  if (orders == ptx::Space::global || orders == ptx::Space::local) return;
  mine.records.forget();
  mine.shared.forget_more();
}

void Checker::warp_barrier(const machine::Warp& warp, const machine::Operation&, std::uint32_t members) {
  Notes& mine = notes(*warp.block);
  mine.order.warp_barrier(warp.index, members);
}

} // namespace warpfold::analysis
