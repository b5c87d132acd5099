#include "happens_before.hpp"

#include <algorithm>
#include <bit>

namespace warpfold::watch {

std::uint32_t BlockHistories::publish(std::uint64_t block, std::uint32_t fences) {
  std::uint32_t time = ++clock_;
  if (block >= histories_.size()) return time;
  History& history = histories_[block];
  ++history.publications;
  if (fences == 0) return time;
  std::lock_guard lock(locks_[block % lock_count]);
  std::uint32_t last = history.releases.empty() ? 0 : history.releases.back().fences;
  if (fences > last && history.releases.size() < longest) history.releases.push_back({fences, time});
  return time;
}

BlockHistories::Order BlockHistories::order(std::uint64_t block, std::uint32_t fences,
                                            std::uint32_t publications, std::uint32_t acquired) const {
  if (block >= histories_.size()) return Order::ordered;
  std::lock_guard lock(locks_[block % lock_count]);
  const History& history = histories_[block];
  auto release = std::find_if(history.releases.begin(), history.releases.end(),
                              [&](const Release& r) { return r.fences > fences; });
  if (release != history.releases.end() && release->time <= acquired) return Order::ordered;
  if (history.releases.size() == longest) return Order::ordered; // no longer followed
  bool published = history.publications > publications && acquired > 0;
  return published ? Order::unfenced : Order::unordered;
}

void BlockOrder::begin(std::size_t warp_count, std::uint32_t next_origin) {
  floor = next_origin;
  fences = publications = 0;
  acquired = 0;
  acquiring = false;
  warps.resize(warp_count); // numbers from a block before are older than the floor, and say nothing
  for (WarpOrder& warp : warps) {
    warp.fences = 0;
    warp.phase = next_origin;
  }
}

void BlockOrder::barrier(std::uint32_t next_origin) {
  floor = next_origin;
  for (WarpOrder& warp : warps) warp.phase = next_origin;
}

void BlockOrder::warp_barrier(unsigned warp, std::uint32_t members, std::uint32_t next_origin) {
  warps[warp].phase = next_origin;
  for (; members; members &= members - 1) warps[warp].lane_floor[std::countr_zero(members)] = next_origin;
}

void BlockOrder::fence(unsigned warp, std::uint32_t next_origin, bool beyond_block) {
  WarpOrder& self = warps[warp];
  self.fenced = self.phase = next_origin;
  if (beyond_block) self.fences = ++fences;
}

void BlockOrder::acquire(unsigned warp, std::uint32_t now) {
  acquired = now;
  for (std::size_t other = 0; other < warps.size(); ++other)
    warps[warp].seen[other] = std::max(warps[warp].seen[other], warps[other].released);
}

void BlockOrder::publish(unsigned warp, std::uint32_t next_origin) {
  WarpOrder& self = warps[warp];
  self.released = self.fenced;
  self.phase = next_origin;
  ++publications;
}

bool BlockOrder::ordered(Cell earlier, const Origin& origin, unsigned warp, unsigned lane) const {
  std::uint32_t number = origin_of(earlier);
  if (number < floor) return true;
  const WarpOrder& self = warps[warp];
  if (origin.warp != warp) return number < self.seen[origin.warp];
  unsigned other_lane = lane_of(earlier);
  return other_lane == lane || (number < self.lane_floor[lane] && number < self.lane_floor[other_lane]);
}

} // namespace warpfold::watch
