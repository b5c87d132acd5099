#include "happens_before.hpp"

#include "launches.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace warpfold::analysis {

void BlockOrder::begin(std::size_t warp_count, const Place& at, const CausalClock& known) {
  place = at;
  begun = floor = floor_in_shared = ++clock;
  acquired = known;
  warps.resize(warp_count); // moments of earlier blocks are older than the floor and have no effect
  for (WarpOrder& warp : warps) warp.has_read_strongly = false;
  has_read_any = has_read_any || !known.empty();
  for (WarpOrder& warp : warps) {
    if (!has_read_any) break;
    warp.acquired = known;
    warp.of_lanes.clear();
    warp.taken.clear();
  }
  has_read_any = !known.empty();
  for (CausalClock& each : fenced) each = {};
  last_releasing = {};
}

void WarpOrder::acquire(const CausalClock& now, std::uint32_t lanes) {
  if (now.empty()) return;
  if (of_lanes.empty()) of_lanes.push_back({~0u, acquired});
  const CausalClock before = acquired;
  acquired.join(now);
  const bool is_all = acquired.is_same(now);
  std::uint32_t changed = 0;
  for (std::size_t i = 0; i < of_lanes.size() && changed != lanes; ++i) {
    const std::uint32_t here = of_lanes[i].lanes & lanes & ~changed;
    if (!here) continue;
    CausalClock after = is_all || of_lanes[i].clock.is_same(before) ? acquired : of_lanes[i].clock;
    after.join(now);
    of_lanes[i].lanes &= ~here;
    changed |= here;
    const auto same =
        std::ranges::find_if(of_lanes, [&](const Knowing& each) { return each.clock.is_same(after); });
    if (same != of_lanes.end())
      same->lanes |= here;
    else if (!of_lanes[i].lanes)
      of_lanes[i] = {here, std::move(after)};
    else
      of_lanes.push_back({here, std::move(after)});
  }
  std::erase_if(of_lanes, [](const Knowing& each) { return !each.lanes; });
}

// What reaches further mostly includes the rest.
void WarpOrder::acquire(const std::array<CausalClock, level_count>& from, Level up_to, std::uint32_t lanes) {
  for (std::size_t level = static_cast<std::size_t>(up_to) + 1; level-- > 0;)
    if (level == 0 || !from[level].is_same(from[level - 1])) acquire(from[level], lanes);
}

const CausalClock& WarpOrder::acquired_by(unsigned lane) const {
  const auto found =
      std::ranges::find_if(of_lanes, [&](const Knowing& each) { return each.lanes >> lane & 1; });
  return found == of_lanes.end() ? acquired : found->clock;
}

void WarpOrder::take(Acquired now) {
  for (Acquired& before : taken)
    if (before.lanes == now.lanes && before.by == now.by && before.fenced == now.fenced) {
      for (std::size_t level = 0; level < level_count; ++level) before.from[level].join(now.from[level]);
      return;
    }
  taken.push_back(std::move(now));
}

void BlockOrder::barrier(ptx::Space orders) {
  const bool has_read_strongly = std::ranges::any_of(warps, &WarpOrder::has_read_strongly);
  for (WarpOrder& warp : warps) warp.has_read_strongly = has_read_strongly;
  if (orders == ptx::Space::local) { // which no other thread sees
    last_without_order = ++clock;
    return;
  }
  if (orders == ptx::Space::shared) {
    floor_in_shared = ++clock;
    return;
  }
  for (std::size_t level = 0; level < level_count; ++level) {
    if (last_fence <= floor) break;
    for (std::size_t warp = 0; warp < warps.size(); ++warp) {
      std::uint32_t latest = 0;
      for (const LaneFence& fence : warps[warp].fences[level]) {
        if (fence.at <= floor) continue;
        latest = std::max(latest, fence.at);
        fenced[level].raise(CausalClock::Key::of_block(place.block), fence.floor);
      }
      fenced[level].raise(
          CausalClock::Key::of_thread(place.block, static_cast<unsigned>(warp), CausalClock::every_lane),
          latest);
    }
  }
  floor = ++clock;
  if (orders != ptx::Space::global) floor_in_shared = clock;
  last_releasing = {};
  if (has_read_any) {
    for (const WarpOrder& warp : warps) acquired.join(warp.acquired);
    for (WarpOrder& warp : warps) {
      warp.acquired = acquired;
      warp.of_lanes.clear();
    }
  }
  hand_on_taken();
}

// What a thread has seen before the barrier, a fence by any thread after it acquires for that thread.
void BlockOrder::hand_on_taken() {
  WarpOrder all;
  for (const WarpOrder& warp : warps)
    for (Acquired each : warp.taken) {
      each.lanes = ~0u;
      all.take(each);
    }
  if (all.taken.empty()) return;
  for (WarpOrder& warp : warps) warp.taken = all.taken;
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

bool BlockOrder::has_synced_since(const AccessRecord& earlier, unsigned earlier_lane, unsigned warp,
                                  unsigned lane) const {
  const auto& floors = warps[warp].lane_floors;
  return floors && std::max((*floors)[lane][lane], (*floors)[earlier_lane][earlier_lane]) > earlier.moment;
}

BlockOrder::Fences BlockOrder::begin_release(unsigned warp, std::uint32_t lanes, Level level) {
  WarpOrder& self = warps[warp];
  const Fences before = self.fences;
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
  return before;
}

void BlockOrder::fence(unsigned warp, std::uint32_t lanes, Level level) {
  WarpOrder& self = warps[warp];
  begin_release(warp, lanes, level);
  for (std::size_t first = 0; first < self.taken.size(); ++first) {
    if (!(self.taken[first].lanes & lanes) || self.taken[first].empty()) continue;
    Acquired together = self.taken[first]; // by lanes that took the same
    for (Acquired& each : std::span(self.taken).subspan(first)) {
      if (!(each.lanes & lanes) || !each.is_same(together)) continue;
      together.lanes |= each.lanes;
      each.fenced = true;
      for (std::size_t reached = 0; reached <= static_cast<std::size_t>(level); ++reached)
        each.from[reached] = {};
    }
    self.acquire(together.from, level, together.lanes);
  }
  std::erase_if(self.taken, [](const Acquired& each) { return each.empty(); });
}

bool BlockOrder::has_fence(unsigned warp, std::uint32_t lanes) const {
  if (!fenced[0].empty()) return true;
  for (; lanes; lanes &= lanes - 1)
    if (warps[warp].fences[0][std::countr_zero(lanes)].at > begun) return true;
  return false;
}

namespace {

// The fence after which these lanes release; the last of several.
const LaneFence& last_of(const std::array<LaneFence, 32>& fences, std::uint32_t lanes) {
  const LaneFence* last = nullptr;
  for (; lanes; lanes &= lanes - 1)
    if (const LaneFence& fence = fences[std::countr_zero(lanes)]; !last || fence.at > last->at) last = &fence;
  return *last;
}

// What comes before a release by these lanes after the fence. The operation that releases is itself covered.
CausalClock covered_by(const LaneFence& fence, std::uint32_t block, const BlockOrder::Releasing& by,
                       std::uint32_t lanes) {
  using Key = CausalClock::Key;
  CausalClock::Entries entries;
  const auto add = [&](unsigned lane, std::uint32_t moment) {
    const Key key = Key::of_thread(block, by.warp, lane);
    entries.push_back({key, moment});
    entries.push_back({key.by(by.operation), by.at + 1});
  };
  const bool all = lanes == ~0u;
  for (std::uint32_t rest = all ? 0 : lanes; rest; rest &= rest - 1)
    add(static_cast<unsigned>(std::countr_zero(rest)), fence.at);
  if (all)
    add(CausalClock::every_lane, std::max(fence.at, fence.synced));
  else
    entries.push_back({Key::of_thread(block, by.warp, CausalClock::every_lane), fence.synced});
  entries.push_back({Key::of_block(block), fence.floor});
  return CausalClock::of_one_block(std::move(entries));
}

} // namespace

// What was acquired after the fence is passed on too, although the model does not require it.
void BlockOrder::know(const Releasing& by) {
  const CausalClock& passed_on = warps[by.warp].acquired;
  const bool has_done_more = by != last_releasing;
  if (!has_done_more && acquired_by_last.is_same(passed_on)) return;
  last_releasing = by;
  acquired_by_last = passed_on;
  for (std::size_t which = 0; which < level_count; ++which) {
    CausalClock &done = done_by_last[which], &known = known_to_last[which];
    const LaneFence& last = by.fences[which];
    const bool is_as_near =
        which > 0 && last == by.fences[which - 1] && fenced[which].is_same(fenced[which - 1]);
    if (has_done_more) {
      done = is_as_near ? done_by_last[which - 1] : fenced[which];
      if (!is_as_near && last.at) done.join(covered_by(last, place.block, by, by.covered[which]));
    }
    if (which > 0 && done.is_same(done_by_last[which - 1])) {
      known = known_to_last[which - 1];
    } else {
      known = passed_on;
      known.join(done);
    }
  }
}

Release BlockOrder::release(unsigned warp, std::uint32_t lanes, std::uint32_t operation) {
  WarpOrder& self = warps[warp];
  // Releases after the same fence cover the same accesses, so records need not tell them apart.
  if (self.published <= last_fence) self.phase = self.published = ++clock;
  Release released{.by = place, .warp = warp, .lanes = lanes, .known = known_to_last, .done = done_by_last};
  Releasing by{.warp = warp, .operation = operation, .at = clock};
  for (std::size_t which = 0; which < level_count; ++which) {
    const LaneFence last = last_of(self.fences[which], lanes);
    const bool has_fence = last.at > begun;
    if (has_fence || !fenced[which].empty()) released.level = static_cast<Level>(which);
    released.moment[which] = has_fence ? last.at : fenced[which].at(CausalClock::Key::of_block(place.block));
    // Lanes that differ at no fence release the same.
    if (has_fence) by.fences[which] = last, by.covered[which] = lanes | last.lanes;
  }
  know(by);
  return released;
}

bool BlockOrder::ordered(const AccessRecord& earlier, unsigned earlier_lane, unsigned warp, unsigned lane,
                         ptx::Space space) const {
  const std::uint32_t moment = earlier.moment;
  if (moment < (space == ptx::Space::shared ? floor_in_shared : floor)) return true;
  const WarpOrder& self = warps[warp];
  if (earlier.warp != warp) return false;
  return earlier_lane == lane || moment < self.floor_of(lane, earlier_lane);
}

bool BlockOrder::is_released(const AccessRecord& earlier, unsigned earlier_lane, unsigned warp, unsigned lane,
                             const Launches& launches) const {
  const WarpOrder& self = warps[warp];
  const auto covered_by = [&](const CausalClock& known) {
    return !known.empty() &&
           (known.covers(earlier, earlier_lane) ||
            (launches.several() &&
             known.at(CausalClock::Key::of_launch(launches.of(earlier.block).first_block))));
  };
  // What a lane has acquired counts for its whole warp, but not between the warp's own lanes.
  const bool same_warp = earlier.block == place.block && earlier.warp == warp;
  return covered_by(same_warp ? self.acquired_by(lane) : self.acquired);
}

const Acquired* BlockOrder::not_acquired(const AccessRecord& earlier, unsigned earlier_lane,
                                         unsigned warp) const {
  const std::vector<Acquired>& taken = warps[warp].taken;
  const auto found = std::ranges::find_if(taken, [&](const Acquired& each) {
    return std::ranges::any_of(each.from,
                               [&](const CausalClock& clock) { return clock.covers(earlier, earlier_lane); });
  });
  return found == taken.end() ? nullptr : &*found;
}

} // namespace warpfold::analysis
