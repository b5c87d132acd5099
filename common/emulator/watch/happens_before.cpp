#include "happens_before.hpp"

#include <algorithm>
#include <bit>

namespace warpfold::watch {

void BlockHistories::publish(std::uint64_t block, std::uint32_t fences) {
  if (block >= histories_.size()) return;
  History& history = histories_[block];
  // Only this block's worker writes it: no need of an atomic addition.
  history.publications.store(history.publications.load(std::memory_order_relaxed) + 1,
                             std::memory_order_release);
  if (fences != 0) {
    std::lock_guard lock(locks_[block % lock_count]);
    std::uint32_t last = history.releases.empty() ? 0 : history.releases.back().fences;
    if (fences > last && history.releases.size() < longest) history.releases.push_back({fences, ++clock_});
  }
  // The access itself comes next: who sees it must see the time, or would be told of a race that is none.
  std::atomic_thread_fence(std::memory_order_release);
}

std::uint32_t BlockHistories::now() const {
  std::atomic_thread_fence(std::memory_order_acquire); // not before what the block has just read
  return clock_ + 1;
}

BlockHistories::Order BlockHistories::order(const AccessRecord& earlier, std::uint32_t acquired) const {
  if (earlier.block >= histories_.size()) return Order::ordered;
  std::lock_guard lock(locks_[earlier.block % lock_count]);
  const History& history = histories_[earlier.block];
  const std::uint32_t needed = earlier.fences + (earlier.is_strong ? 0 : 1);
  auto release = std::find_if(history.releases.begin(), history.releases.end(),
                              [=](const Release& r) { return r.fences >= needed; });
  if (release != history.releases.end() && release->time < acquired) return Order::ordered;
  if (history.releases.size() == longest) return Order::ordered; // no longer followed
  bool published = history.publications > earlier.publications && acquired > 0;
  return published ? Order::unfenced : Order::unordered;
}

void BlockOrder::begin(std::size_t warp_count, std::uint32_t next) {
  floor = next;
  fences = publications = 0;
  acquired = 0;
  acquiring = false;
  warps.resize(warp_count); // moments of a block before are older than the floor, and say nothing
  for (WarpOrder& warp : warps) {
    warp.fences = 0;
    warp.phase = next;
  }
}

void BlockOrder::barrier(std::uint32_t next) {
  floor = next;
  for (WarpOrder& warp : warps) warp.phase = next;
}

void BlockOrder::warp_barrier(unsigned warp, std::uint32_t members, std::uint32_t next) {
  warps[warp].phase = next;
  for (; members; members &= members - 1) warps[warp].lane_floor[std::countr_zero(members)] = next;
}

void BlockOrder::fence(unsigned warp, std::uint32_t next, bool beyond_block) {
  WarpOrder& self = warps[warp];
  self.fenced = self.phase = next;
  if (beyond_block) self.fences = ++fences;
}

void BlockOrder::acquire(unsigned warp, std::uint32_t time) {
  acquired = time;
  for (std::size_t other = 0; other < warps.size(); ++other)
    warps[warp].seen[other] = std::max(warps[warp].seen[other], warps[other].released);
}

void BlockOrder::publish(unsigned warp, std::uint32_t next) {
  WarpOrder& self = warps[warp];
  self.released = self.fenced;
  self.phase = next;
  ++publications;
}

bool BlockOrder::ordered(const AccessRecord& earlier, unsigned earlier_lane, unsigned warp,
                         unsigned lane) const {
  const std::uint32_t moment = earlier.moment;
  if (moment < floor) return true;
  const WarpOrder& self = warps[warp];
  if (earlier.warp != warp) return moment < self.seen[earlier.warp];
  return earlier_lane == lane || (moment < self.lane_floor[lane] && moment < self.lane_floor[earlier_lane]);
}

} // namespace warpfold::watch
