// Releases and acquires (PTX ISA, "Memory Consistency Model"): what a thread did before a fence is ordered
// before what another thread does after it has read, at the same address, a value that the first thread wrote
// after the fence.
//
// Each address at which something was released has a record of what a thread acquires that reads there now. A
// release adds what the releasing thread did before, and what it had itself acquired. A read-modify-write
// continues the releases before it; a plain store starts afresh, because a thread that reads its value reads
// nothing of the earlier ones.
#pragma once

#include "causal_clock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace warpfold::analysis {

// How far a fence or a strong access reaches: to the threads of its own block, of its cluster, of its device,
// or to all.
enum class Level : std::uint8_t { block, cluster, device, system };
inline constexpr std::size_t level_count = 4;
inline Level level_of(machine::MemoryScope scope) {
  return static_cast<Level>(scope); // declared in the same order
}
static_assert(static_cast<Level>(machine::MemoryScope::cluster) == Level::cluster &&
              static_cast<Level>(machine::MemoryScope::system) == Level::system);

// Where a thread is.
struct Place {
  std::uint32_t block = 0;
  int device = 0;
  static constexpr std::uint32_t alone = ~0u;
  std::uint32_t cluster = alone; // its first block's number; or the block is alone in its cluster
};

// What a thread releases.
struct Release {
  Place by;
  std::uint32_t warp = 0, lanes = 0; // of the block
  Level level = Level::block;        // how far it reaches
  // By Level, for those who are as far away: what comes before, what of it the releasing block has done
  // itself, and when the last fence was.
  std::span<const CausalClock, level_count> known, done;
  std::array<std::uint32_t, level_count> moment = {};
};

struct Releaser {
  std::uint32_t block = 0, warp = 0, lanes = 0;
};

// What some lanes of a warp acquire.
struct Acquired {
  // What threads of their own block, cluster and device, and all threads have released: a fence of that level
  // acquires it.
  std::array<CausalClock, level_count> from = {};
  std::uint32_t lanes = 0;
  enum class By : std::uint8_t {
    release,
    lock,
    poll
  } by = By::release;  // release: an update that only releases
  bool fenced = false; // by a fence that was too narrow for what is left
  bool empty() const {
    return std::ranges::all_of(from, [](const CausalClock& each) { return each.empty(); });
  }
  bool is_same(const Acquired& other) const {
    return std::ranges::equal(from, other.from, [](const CausalClock& mine, const CausalClock& theirs) {
      return mine.is_same(theirs);
    });
  }
};

class ReleaseLog {
public:
  void release(const Release& release, bool is_store); // `is_store`: not a read-modify-write
  // A strong store without a release, unless what it follows is the thread's own.
  void cut(const Releaser& by);
  // `at_once`: all levels, not at a fence. Then `from` may lack what another level has.
  Acquired acquire(std::uint32_t lanes, const Place& by, bool at_once = false);
  void mark_polled() { is_polled_ = true; }
  bool is_polled() const { return is_polled_; }

private:
  void forget();
  CausalClock joined_for_block(std::uint32_t block);
  std::mutex mutex_;
  // For the threads of one block, of one cluster, of one device, and for all. Most threads that a block's own
  // releases could matter to acquire those of the device as well, so these are joined when they are asked
  // for.
  struct OfWarp {
    static constexpr std::uint32_t several = ~0u;
    std::uint32_t warp = several;
    CausalClock known, done;
  };
  std::unordered_map<std::uint32_t, std::vector<OfWarp>> for_block_;
  bool block_has_more_ = false;                      // than its device
  std::map<std::uint32_t, CausalClock> for_cluster_; // of several blocks
  std::map<int, CausalClock> for_device_;
  CausalClock for_all_;
  Releaser last_;
  std::atomic<bool> is_polled_{false};
};

// The logs of a launch, by address. Logs of shared memory use an address that is unique to the block.
class ReleaseLogs {
public:
  static std::uint64_t shared_address(std::uint64_t block, std::uint64_t offset) {
    return 1ull << 63 | block << 20 | offset;
  }
  ReleaseLog* find(std::uint64_t address) const; // null if there is none
  ReleaseLog& at(std::uint64_t address);         // created if there is none
  void remove(std::uint64_t address);
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void clear();

private:
  static constexpr std::size_t shard_count = 64;
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::uint64_t, std::unique_ptr<ReleaseLog>> logs;
  };
  Shard shards_[shard_count];
  std::atomic<bool> any_{false};
  static std::size_t shard_of(std::uint64_t address) {
    return (address * 0x9e3779b97f4a7c15ull >> 32) % shard_count;
  }
};

// Those that a block has found lately; they are there as long as the block is.
class RecentLogs {
public:
  ReleaseLog* find(const ReleaseLogs& all, std::uint64_t address);
  void forget() { found_ = {}; }

private:
  struct Found {
    std::uint64_t address = 0;
    ReleaseLog* log = nullptr;
  };
  std::array<Found, 256> found_;
};

} // namespace warpfold::analysis
