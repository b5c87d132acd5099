#include "releases.hpp"

namespace warpfold::watch {

void ReleaseLog::release(const Release& release, bool is_store) {
  std::lock_guard lock(mutex_);
  last_ = {release.by.block, release.warp, release.lanes};
  if (is_store) for_block_.clear(), for_device_.clear(), for_all_ = {};
  const auto& [near, of_device, everywhere] = release.known;
  for_block_[release.by.block].join(near);
  if (release.level >= Level::device) for_device_[release.by.device].join(of_device);
  if (release.level >= Level::system) for_all_.join(everywhere);
}

void ReleaseLog::cut(const Releaser& by) {
  std::lock_guard lock(mutex_);
  // A thread's later strong write to the same place belongs to its release (PTX ISA, "Release and Acquire
  // Patterns").
  if (last_.block == by.block && last_.warp == by.warp && (by.lanes & ~last_.lanes) == 0) return;
  for_block_.clear(), for_device_.clear(), for_all_ = {};
}

Acquired ReleaseLog::acquire(std::uint32_t lanes, const Place& by) const {
  std::lock_guard lock(mutex_);
  Acquired acquired{.lanes = lanes};
  auto& [of_block, of_device, of_all] = acquired.from;
  if (const auto own = for_block_.find(by.block); own != for_block_.end()) of_block = own->second;
  if (const auto own = for_device_.find(by.device); own != for_device_.end()) of_device = own->second;
  of_all = for_all_;
  return acquired;
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
  if (!log) log = std::make_shared<ReleaseLog>();
  return log;
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

} // namespace warpfold::watch
