// Releases and acquires (PTX ISA, "Memory Consistency Model"): what a thread did before a fence is ordered
// before what another thread does after it has read, at the same address, a value that the first thread wrote
// after the fence.
//
// Each address at which something was released has a log. A release enters what it covers; a thread that
// reads there with a strong access acquires the log up to its current length. A read-modify-write continues
// the releases before it; a plain store starts a new sequence, because a thread that reads its value reads
// nothing of the earlier ones. So the question "is this access ordered before mine?" is answered by looking
// in the acquired logs for a release by the access's block that covers it, and then in the logs that the
// releasing blocks had themselves acquired.
#pragma once

#include "access_records.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace warpfold::watch {

// How far a fence or a strong access reaches: to the threads of its own block, of its device, or to all.
enum class Level : std::uint8_t { block, device, system };
inline constexpr std::size_t level_count = 3;
// A cluster holds one block.
inline Level level_of(machine::MemoryScope scope) {
  return scope >= machine::MemoryScope::system   ? Level::system
         : scope >= machine::MemoryScope::device ? Level::device
                                                 : Level::block;
}

// Which accesses of a block come before one of its releases: those before a certain moment of the block's
// clock.
struct Reach {
  std::uint32_t floor = 0;     // of every warp
  std::uint32_t own = 0;       // of the lanes `lanes` in the releasing warp
  std::uint32_t published = 0; // of the same lanes, by the operation that releases: it is itself covered
  std::uint32_t operation = 0;
  std::uint32_t synced = 0; // of the releasing warp's other lanes
  std::uint32_t lanes = 0;
  std::uint8_t warp = 0;
  std::shared_ptr<const std::vector<std::uint32_t>> others; // of each warp; null: no other warp's

  // `lane`: the lane of the access, or every_lane to ask for all lanes at once.
  static constexpr unsigned every_lane = 32;
  bool covers(const AccessRecord& access, unsigned lane) const {
    if (access.moment < floor) return true;
    if (others && access.moment < (*others)[access.warp]) return true;
    if (access.warp != warp) return false;
    if (lane == every_lane) return access.moment < (lanes == ~0u ? own : std::min(own, synced));
    if (!(lanes >> lane & 1)) return access.moment < synced;
    return access.moment < own || (access.operation == operation && access.moment < published);
  }
};

class ReleaseLog;
class Launches;

// A log up to a certain length, as some lanes of a warp have read it.
struct Acquired {
  std::shared_ptr<ReleaseLog> log;
  std::uint32_t begin = 0, end = 0;
  std::uint32_t lanes = 0;
};

// What a warp or a block has acquired.
class AcquiredSet {
public:
  static constexpr std::size_t longest = 256;
  void add(const Acquired& acquired);
  void add(const AcquiredSet& other);
  void clear() { *this = {}; }
  bool empty() const { return items_.empty() && !everything_; }
  // There is more than can be followed: from here on, everything counts as ordered.
  bool everything() const { return everything_; }
  const std::vector<Acquired>& items() const { return items_; }

private:
  std::vector<Acquired> items_;
  bool everything_ = false;
};

// A release by one block.
struct Release {
  std::uint32_t block = 0;
  Level level = Level::block;                  // how far it reaches
  std::array<Reach, level_count> reach = {};   // by Level: for those who are as far away
  std::shared_ptr<const AcquiredSet> acquired; // at other addresses, before this release; null: nothing
};

class ReleaseLog {
public:
  // `is_store`: not a read-modify-write. `acquired_here`: how far back the releasing warp had itself acquired
  // this log.
  void release(Release release, bool is_store, std::uint32_t acquired_here);
  void cut(); // a strong store by a thread that has released nothing
  Acquired acquire(std::uint32_t lanes, std::shared_ptr<ReleaseLog> self);
  // Does the range contain a release by the access's block that covers the access, and that reaches
  // `acquirer`? Or one by a block of a later launch?
  bool covers(const AccessRecord& access, unsigned lane, const Acquired& range, std::uint32_t acquirer,
              const Launches& launches) const;
  // Visits what the releases in the range had acquired, the newest first, with visit(AcquiredSet, block), as
  // long as it returns true; only releases that reach(block, level) says to reach the acquirer.
  template <typename Reaches, typename Visit>
  bool each_acquired(const Acquired& range, Reaches reaches, Visit visit) const {
    std::lock_guard lock(mutex_);
    for (auto further = further_.rbegin(); further != further_.rend(); ++further) {
      if (further->index >= range.end) continue;
      if (further->index < range.begin) break;
      if (reaches(further->block, further->level) && !visit(further->acquired, further->block)) return false;
    }
    return !(has_forgotten_ && range.begin < forgotten_);
  }
  void forget(); // what the releases had acquired
  void mark_polled() { is_polled_ = true; }
  bool is_polled() const { return is_polled_; }

private:
  static constexpr std::size_t kept_per_block = 64, kept_further = 4096;
  struct Entry {
    std::uint32_t index = 0;
    Level level = Level::block;
    std::array<Reach, level_count> reach;
  };
  struct Further {
    std::uint32_t index = 0, block = 0;
    Level level = Level::block;
    std::shared_ptr<const AcquiredSet> acquired;
  };
  mutable std::mutex mutex_;
  std::uint32_t length_ = 0, begin_ = 0;
  std::unordered_map<std::uint32_t, std::vector<Entry>> of_block_; // by index
  std::deque<Further> further_;
  bool has_forgotten_ = false;
  std::uint32_t forgotten_ = 0; // entries of `further_` before this index are no longer kept
  std::atomic<bool> is_polled_{false};
};

// The logs of a launch, by address. Logs of shared memory use an address that is unique to the block.
class ReleaseLogs {
public:
  static std::uint64_t shared_address(std::uint64_t block, std::uint64_t offset) {
    return 1ull << 63 | block << 20 | offset;
  }
  std::shared_ptr<ReleaseLog> find(std::uint64_t address) const; // null if there is none
  std::shared_ptr<ReleaseLog> at(std::uint64_t address);         // created if there is none
  void retire(std::uint64_t address); // those who have acquired it keep its contents
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void clear();

private:
  static constexpr std::size_t shard_count = 64;
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::uint64_t, std::shared_ptr<ReleaseLog>> logs;
    std::vector<std::weak_ptr<ReleaseLog>> retired;
  };
  Shard shards_[shard_count];
  std::atomic<bool> any_{false};
  static std::size_t shard_of(std::uint64_t address) {
    return (address * 0x9e3779b97f4a7c15ull >> 32) % shard_count;
  }
};

// Is the access ordered before an operation by the thread that has acquired this? `block`, `warp`, `lane`:
// that thread's.
struct Acquirer {
  std::uint32_t block = 0;
  unsigned warp = 0, lane = 0;
};
// How far to follow what the releasing blocks had acquired themselves. `direct`: not at all, where a wrong no
// does no harm and the question is asked often.
enum class Follow { direct, far };
bool is_released_to(const AccessRecord& access, unsigned access_lane, const AcquiredSet& acquired,
                    const Acquirer& acquirer, const Launches& launches, Follow follow = Follow::far);

} // namespace warpfold::watch
