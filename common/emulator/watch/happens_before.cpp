#include "happens_before.hpp"

#include <algorithm>
#include <bit>

namespace warpfold::watch {

void BlockOrder::begin(std::size_t warp_count) {
  begun = floor = ++clock;
  has_read_strongly = false;
  acquired.clear();
  warps.resize(warp_count); // moments of earlier blocks are older than the floor and have no effect
  for (WarpOrder& warp : warps) {
    if (!has_read_any) break;
    warp.acquired.clear();
    warp.own_taken.clear();
    warp.taken.clear();
  }
  has_read_any = false;
  for (std::size_t level = 0; level < level_count; ++level) fenced[level].reset(), fenced_floor[level] = 0;
}

void WarpOrder::take(const Acquired& now) {
  for (Acquired& before : taken)
    if (before.log == now.log && before.lanes == now.lanes) {
      before.end = std::max(before.end, now.end);
      return;
    }
  if (taken.size() == AcquiredSet::longest) taken.erase(taken.begin());
  taken.push_back(now);
}

void BlockOrder::barrier() {
  for (std::size_t level = 0; level < level_count; ++level) {
    if (last_fence <= floor) break;
    std::shared_ptr<std::vector<std::uint32_t>> by_warp;
    for (std::size_t warp = 0; warp < warps.size(); ++warp)
      for (const LaneFence& fence : warps[warp].fences[level]) {
        if (fence.at <= floor) continue;
        if (!by_warp) by_warp = std::make_shared<std::vector<std::uint32_t>>(warps.size());
        (*by_warp)[warp] = std::max((*by_warp)[warp], fence.at);
        fenced_floor[level] = std::max(fenced_floor[level], fence.floor);
      }
    if (by_warp) fenced[level] = std::move(by_warp);
  }
  floor = ++clock;
  for (WarpOrder& warp : warps) {
    if (!has_read_any) break;
    if (warp.acquired.empty()) continue;
    acquired.add(warp.acquired);
    warp.acquired.clear();
  }
}

void BlockOrder::warp_barrier(unsigned warp, std::uint32_t members) {
  WarpOrder& self = warps[warp];
  self.phase = ++clock;
  if (members == ~0u) {
    self.floor = clock;
    return;
  }
  if (!self.lane_floors) self.lane_floors = std::make_unique<WarpOrder::LaneFloors>();
  // Each member now comes after everything that any member came after.
  std::array<std::uint32_t, 32> together{};
  for (std::uint32_t rest = members; rest; rest &= rest - 1) {
    const auto& one = (*self.lane_floors)[static_cast<unsigned>(std::countr_zero(rest))];
    for (unsigned other = 0; other < 32; ++other) together[other] = std::max(together[other], one[other]);
  }
  for (unsigned other = 0; other < 32; ++other)
    if (members >> other & 1) together[other] = clock;
  for (std::uint32_t rest = members; rest; rest &= rest - 1)
    (*self.lane_floors)[static_cast<unsigned>(std::countr_zero(rest))] = together;
}

void BlockOrder::fence(unsigned warp, std::uint32_t lanes, Level level) {
  const bool wide = level >= Level::device;
  WarpOrder& self = warps[warp];
  self.phase = last_fence = ++clock;
  for (std::uint32_t rest = lanes; rest; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::uint32_t synced = self.floor;
    for (unsigned other = 0; self.lane_floors && other < 32; ++other)
      if (other != lane) synced = std::max(synced, self.floor_of(lane, other));
    const LaneFence fence{clock, lanes, floor, synced};
    for (std::size_t each = 0; each <= static_cast<std::size_t>(level); ++each)
      self.fences[each][lane] = fence;
  }
  if (self.taken.empty()) return;
  for (const Acquired& each : self.taken)
    if (each.lanes & lanes) (wide ? self.acquired : self.own_taken).add(each);
  if (wide) std::erase_if(self.taken, [=](const Acquired& each) { return each.lanes & lanes; });
}

bool BlockOrder::has_fence(unsigned warp, std::uint32_t lanes) const {
  if (fenced[0]) return true;
  for (; lanes; lanes &= lanes - 1)
    if (warps[warp].fences[0][std::countr_zero(lanes)].at > begun) return true;
  return false;
}

BlockOrder::Released BlockOrder::release(unsigned warp, std::uint32_t lanes, std::uint32_t operation,
                                         const std::shared_ptr<ReleaseLog>& log) {
  WarpOrder& self = warps[warp];
  Released released;
  // Releases after the same fence cover the same accesses, so records need not tell them apart.
  if (self.published <= last_fence) self.phase = self.published = ++clock;
  for (std::size_t which = 0; which < level_count; ++which) {
    const LaneFence* last = nullptr;
    for (std::uint32_t rest = lanes; rest; rest &= rest - 1)
      if (const LaneFence& fence = self.fences[which][std::countr_zero(rest)]; !last || fence.at > last->at)
        last = &fence;
    Reach& reach = released.reach[which];
    reach = {.floor = fenced_floor[which], .warp = static_cast<std::uint8_t>(warp), .others = fenced[which]};
    const bool has_fence = last->at > begun;
    if (has_fence || reach.others) released.level = static_cast<Level>(which);
    if (!has_fence) continue;
    reach.floor = std::max(reach.floor, last->floor);
    reach.own = last->at;
    reach.published = clock + 1;
    reach.operation = operation;
    reach.synced = last->synced;
    reach.lanes = lanes | last->lanes;
  }
  // What was acquired after the fence is passed on too, although the model does not require it.
  std::shared_ptr<AcquiredSet> elsewhere;
  for (const AcquiredSet* set : {&acquired, &self.acquired}) {
    if (set->everything() && !elsewhere) elsewhere = std::make_shared<AcquiredSet>();
    if (set->everything()) elsewhere->add(*set);
    for (const Acquired& each : set->items()) {
      if (each.log == log) {
        released.acquired_here = std::min(released.acquired_here, each.begin);
        continue;
      }
      if (!elsewhere) elsewhere = std::make_shared<AcquiredSet>();
      elsewhere->add(each);
    }
  }
  released.acquired = std::move(elsewhere);
  return released;
}

bool BlockOrder::ordered(const AccessRecord& earlier, unsigned earlier_lane, unsigned warp,
                         unsigned lane) const {
  const std::uint32_t moment = earlier.moment;
  if (moment < floor) return true;
  const WarpOrder& self = warps[warp];
  if (earlier.warp != warp) return false;
  return earlier_lane == lane || moment < self.floor_of(lane, earlier_lane);
}

bool BlockOrder::is_released(const AccessRecord& earlier, unsigned earlier_lane, const Acquirer& acquirer,
                             const Launches& launches, Follow follow) const {
  const WarpOrder& self = warps[acquirer.warp];
  const auto found_in = [&](const AcquiredSet& set) {
    return !set.empty() && is_released_to(earlier, earlier_lane, set, acquirer, launches, follow);
  };
  return found_in(self.acquired) || (earlier.block == acquirer.block && found_in(self.own_taken)) ||
         found_in(acquired);
}

bool BlockOrder::lacks_acquire(const AccessRecord& earlier, unsigned earlier_lane, const Acquirer& acquirer,
                               const Launches& launches) const {
  const std::vector<Acquired>& taken = warps[acquirer.warp].taken;
  if (taken.empty()) return false;
  AcquiredSet set;
  for (const Acquired& each : taken) set.add(each);
  return is_released_to(earlier, earlier_lane, set, acquirer, launches);
}

} // namespace warpfold::watch
