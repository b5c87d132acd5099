#include "releases.hpp"

namespace warpfold::analysis {

void ReleaseLog::release(const Release& release, bool is_store) {
  std::lock_guard lock(mutex_);
  last_ = {release.by.block, release.warp, release.lanes};
  if (is_store) forget();
  const auto known = [&](Level level) -> const CausalClock& {
    return release.known[static_cast<std::size_t>(level)];
  };
  const CausalClock &near = known(Level::block), &near_done = release.done[0];
  if (release.level < Level::device || !near.is_same(known(Level::device))) block_has_more_ = true;
  std::vector<OfWarp>& by_block = for_block_[release.by.block];
  const auto same = std::ranges::find(by_block, release.warp, &OfWarp::warp);
  if (same == by_block.end()) {
    by_block.push_back({release.warp, near, near_done});
  } else {
    // What a warp has acquired it passes on with every release from then on.
    same->done.join(near_done);
    if (same->done.is_same(near_done))
      same->known = near;
    else
      same->known.join(near);
  }
  if (release.level >= Level::cluster && release.by.cluster != Place::alone)
    for_cluster_[release.by.cluster].join(known(Level::cluster));
  if (release.level >= Level::device) for_device_[release.by.device].join(known(Level::device));
  if (release.level >= Level::system) for_all_.join(known(Level::system));
}

void ReleaseLog::forget() {
  for_block_.clear(), for_cluster_.clear(), for_device_.clear(), for_all_ = {};
  block_has_more_ = false;
}

CausalClock ReleaseLog::joined_for_block(std::uint32_t block) {
  const auto own = for_block_.find(block);
  if (own == for_block_.end()) return {};
  std::vector<OfWarp>& warps = own->second;
  for (std::size_t i = 1; i < warps.size(); ++i) {
    warps[0].known.join(warps[i].known);
    warps[0].warp = OfWarp::several;
  }
  warps.resize(1);
  return warps[0].known;
}

void ReleaseLog::cut(const Releaser& by) {
  std::lock_guard lock(mutex_);
  // A thread's later strong write to the same place belongs to its release (PTX ISA, "Release and Acquire
  // Patterns").
  if (last_.block == by.block && last_.warp == by.warp && (by.lanes & ~last_.lanes) == 0) return;
  forget();
}

Acquired ReleaseLog::acquire(std::uint32_t lanes, const Place& by, bool at_once) {
  std::lock_guard lock(mutex_);
  Acquired acquired{.lanes = lanes};
  auto& [of_block, of_cluster, of_device, of_all] = acquired.from;
  if (block_has_more_ || !at_once) of_block = joined_for_block(by.block);
  if (const auto own = for_cluster_.find(by.cluster); own != for_cluster_.end()) of_cluster = own->second;
  if (const auto own = for_device_.find(by.device); own != for_device_.end()) of_device = own->second;
  of_all = for_all_;
  return acquired;
}

ReleaseLog* ReleaseLogs::find(std::uint64_t address) const {
  if (!any()) return nullptr;
  const Shard& shard = shards_[shard_of(address)];
  std::lock_guard lock(shard.mutex);
  const auto found = shard.logs.find(address);
  return found == shard.logs.end() ? nullptr : found->second.get();
}

ReleaseLog& ReleaseLogs::at(std::uint64_t address) {
  any_ = true;
  Shard& shard = shards_[shard_of(address)];
  std::lock_guard lock(shard.mutex);
  std::unique_ptr<ReleaseLog>& log = shard.logs[address];
  if (!log) log = std::make_unique<ReleaseLog>();
  return *log;
}

void ReleaseLogs::remove(std::uint64_t address) {
  Shard& shard = shards_[shard_of(address)];
  std::lock_guard lock(shard.mutex);
  shard.logs.erase(address);
}

void ReleaseLogs::clear() {
  if (!any_) return;
  for (Shard& shard : shards_) shard.logs.clear();
  any_ = false;
}

ReleaseLog* RecentLogs::find(const ReleaseLogs& all, std::uint64_t address) {
  Found& found = found_[(address * 0x9e3779b97f4a7c15ull >> 32) % found_.size()];
  if (found.address == address && found.log) return found.log;
  found = {address, all.find(address)};
  return found.log;
}

} // namespace warpfold::analysis
