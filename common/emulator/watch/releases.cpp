#include "releases.hpp"

#include "launches.hpp"

#include <algorithm>
#include <unordered_set>

namespace warpfold::watch {

void AcquiredSet::add(const Acquired& acquired) {
  auto same = std::find_if(items_.begin(), items_.end(), [&](const Acquired& known) {
    return known.log == acquired.log && known.lanes == acquired.lanes;
  });
  if (same != items_.end()) {
    same->begin = std::min(same->begin, acquired.begin);
    same->end = std::max(same->end, acquired.end);
  } else if (items_.size() < longest) {
    items_.push_back(acquired);
  } else {
    everything_ = true;
  }
}

void AcquiredSet::add(const AcquiredSet& other) {
  everything_ |= other.everything_;
  for (const Acquired& each : other.items_) add(each);
}

void ReleaseLog::release(Release release, bool is_store, std::uint32_t acquired_here) {
  std::lock_guard lock(mutex_);
  std::vector<Entry>& own = of_block_[release.block];
  const auto same = [](const Reach& a, const Reach& b) {
    return a.own == b.own && a.floor == b.floor && a.others == b.others && a.lanes == b.lanes &&
           a.warp == b.warp && a.operation == b.operation;
  };
  const bool says_nothing_new =
      !is_store && !release.acquired && !own.empty() && own.back().level == release.level &&
      std::ranges::equal(own.back().reach, release.reach, same) && own.back().index >= begin_;
  if (says_nothing_new) return;
  const std::uint32_t index = length_++;
  begin_ = std::min(is_store ? index : begin_, acquired_here);
  if (release.acquired) {
    further_.push_back({index, release.block, release.level, std::move(release.acquired)});
    if (further_.size() > kept_further) {
      has_forgotten_ = true;
      forgotten_ = further_.front().index + 1;
      further_.pop_front();
    }
  }
  if (own.size() == kept_per_block) {
    // Of each pair of neighbours, the later one stands for both, because it covers more.
    for (std::size_t i = 0; i < kept_per_block / 2; ++i) {
      const std::uint32_t first = own[2 * i].index;
      own[i] = std::move(own[2 * i + 1]);
      own[i].index = first;
    }
    own.resize(kept_per_block / 2);
  }
  own.push_back({index, release.level, std::move(release.reach)});
}

void ReleaseLog::cut() {
  std::lock_guard lock(mutex_);
  begin_ = length_;
}

Acquired ReleaseLog::acquire(std::uint32_t lanes, std::shared_ptr<ReleaseLog> self) {
  std::lock_guard lock(mutex_);
  return {std::move(self), begin_, length_, lanes};
}

void ReleaseLog::forget() {
  std::deque<Further> dropped;
  std::lock_guard lock(mutex_);
  std::swap(dropped, further_);
}

bool ReleaseLog::covers(const AccessRecord& access, unsigned lane, const Acquired& range,
                        std::uint32_t acquirer, const Launches& launches) const {
  std::lock_guard lock(mutex_);
  // Of a block's releases in the range, the newest first.
  const auto any_of = [&](const std::vector<Entry>& entries, auto&& is_enough) {
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (entry->index >= range.end) continue;
      if (entry->index < range.begin) return false;
      if (is_enough(*entry)) return true;
    }
    return false;
  };
  if (const auto found = of_block_.find(access.block); found != of_block_.end()) {
    const Level needed = launches.between(access.block, acquirer);
    // Releases of one warp cover more and more; those of different warps each cover something else.
    if (any_of(found->second, [&](const Entry& entry) {
          return entry.level >= needed && entry.reach[static_cast<std::size_t>(needed)].covers(access, lane);
        }))
      return true;
  }
  if (!launches.several()) return false;
  return std::ranges::any_of(of_block_, [&](const auto& item) {
    const Level needed = launches.between(item.first, acquirer);
    return launches.precedes(access.block, item.first) &&
           any_of(item.second, [&](const Entry& entry) { return entry.level >= needed; });
  });
}

std::shared_ptr<ReleaseLog> ReleaseLogs::find(std::uint64_t address) const {
  if (!any()) return nullptr;
  const Shard& shard = shards_[shard_of(address)];
  std::lock_guard lock(shard.mutex);
  const auto found = shard.logs.find(address);
  return found == shard.logs.end() ? nullptr : found->second;
}

std::shared_ptr<ReleaseLog> ReleaseLogs::at(std::uint64_t address) {
  any_ = true;
  Shard& shard = shards_[shard_of(address)];
  std::lock_guard lock(shard.mutex);
  std::shared_ptr<ReleaseLog>& log = shard.logs[address];
  if (!log) log.reset(new ReleaseLog); // not make_shared: weak pointers may outlive it
  return log;
}

void ReleaseLogs::retire(std::uint64_t address) {
  Shard& shard = shards_[shard_of(address)];
  std::lock_guard lock(shard.mutex);
  const auto found = shard.logs.find(address);
  if (found == shard.logs.end()) return;
  const std::weak_ptr<ReleaseLog> log = found->second;
  shard.logs.erase(found);
  if (!log.expired()) shard.retired.push_back(log);
}

void ReleaseLogs::clear() {
  if (!any_) return;
  for (Shard& shard : shards_) {
    // Two logs may hold each other, through what their releases had acquired.
    for (auto& [address, log] : shard.logs) log->forget();
    for (auto& retired : shard.retired)
      if (const auto log = retired.lock()) log->forget();
    shard.logs.clear();
    shard.retired.clear();
  }
  any_ = false;
}

bool is_released_to(const AccessRecord& access, unsigned access_lane, const AcquiredSet& acquired,
                    const Acquirer& acquirer, const Launches& launches, Follow follow) {
  constexpr std::size_t patience = 512; // sets to search; beyond this, the access counts as ordered
  struct Step {
    const AcquiredSet* set;
    std::uint32_t block;
  };
  std::vector<Step> steps{{&acquired, acquirer.block}};
  std::unordered_set<std::shared_ptr<const AcquiredSet>> held; // logs may drop theirs meanwhile
  const bool same_warp = access.block == acquirer.block && access.warp == acquirer.warp;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto [set, block] = steps[i];
    if (set->everything() || i == patience) return true;
    for (const Acquired& range : set->items()) {
      const bool counts = i != 0 || !same_warp || (range.lanes >> acquirer.lane & 1);
      if (counts && range.log->covers(access, access_lane, range, block, launches)) return true;
    }
    if (follow == Follow::direct) return false;
    for (const Acquired& range : set->items()) {
      if (i == 0 && same_warp && !(range.lanes >> acquirer.lane & 1)) continue;
      const bool all_known = range.log->each_acquired(
          range,
          [&, block = block](std::uint32_t by, Level level) { return level >= launches.between(by, block); },
          [&](const std::shared_ptr<const AcquiredSet>& further, std::uint32_t by) {
            if (held.insert(further).second) steps.push_back({further.get(), by});
            return steps.size() <= patience;
          });
      if (!all_known && steps.size() <= patience) return true;
    }
  }
  return false;
}

} // namespace warpfold::watch
