// The launches whose accesses are compared with each other. On one device that is one launch: the next one
// begins after it. With several devices, kernels run at the same time, and a launch belongs to the same group
// as all that nothing orders before it, even if they happened to end before it began.
#pragma once

#include "happens_before.hpp"
#include "host_order.hpp"
#include "machine/block.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <functional>
#include <memory>
#include <mutex>

namespace warpfold::analysis {

class Launches {
public:
  static constexpr std::size_t most = 2048;

  struct Launch {
    explicit Launch(std::size_t blocks) : histories(blocks) {}

    const machine::Code* code = nullptr;
    machine::LaunchShape shape;
    int device = 0;
    std::uint32_t first_block = 0; // the numbers of its blocks in the group begin here
    BlockHistories histories;
    std::bitset<most> after; // launches of the group that are over before it begins
    std::uint32_t place = 0; // among those of the group

    // What orders it: its operation in analysis::HostOrder.
    std::uint32_t actor = 0, number = 0;
    bool runs = true;
    bool forgets = false; // launches that nothing orders before it: there was no room for more

    std::mutex mutex;
    CausalClock acquired; // by any of its blocks, and by launches before it
  };

  // Adds a launch; null if there is no room. `order`: null if nothing is known, and all is over before it. If
  // it begins a group, begins_group() is called before any other launch can join it.
  Launch* begin(const machine::Grid& grid, const Operation* order, const std::function<void()>& begins_group);
  void end(Launch& launch);

  // Of a block, by its number in the group. Only who began a launch changes it.
  const Launch& of(std::uint32_t block) const { return *launches_[place_of(block)]; }
  bool several() const { return count_.load(std::memory_order_acquire) > 1; }
  // Is the first block's launch over before the second's begins?
  bool precedes(std::uint32_t earlier, std::uint32_t later) const {
    return several() && of(later).after[of(earlier).place];
  }
  Level between(std::uint32_t block, std::uint32_t other) const {
    if (block == other) return Level::block;
    if (const std::uint32_t cluster = cluster_of(block);
        cluster != Place::alone && cluster == cluster_of(other))
      return Level::cluster;
    return !several() || of(block).device == of(other).device ? Level::device : Level::system;
  }
  // The number of the first block of its cluster; Place::alone if there is no other one in it.
  std::uint32_t cluster_of(std::uint32_t block) const;
  // For the block itself, which writes it, and for others, which read it meanwhile.
  BlockHistories::History& history_of(std::uint32_t block) {
    Launch& launch = *launches_[place_of(block)];
    return launch.histories.of(block - launch.first_block);
  }
  const BlockHistories::History& history_of(std::uint32_t block) const {
    const Launch& launch = of(block);
    return launch.histories.of(block - launch.first_block);
  }

private:
  std::size_t place_of(std::uint32_t block) const {
    const auto end = launches_.begin() + static_cast<std::ptrdiff_t>(count_.load(std::memory_order_acquire));
    const auto after =
        std::upper_bound(launches_.begin() + 1, end, block,
                         [](std::uint32_t b, const auto& each) { return b < each->first_block; });
    return static_cast<std::size_t>(after - launches_.begin()) - 1;
  }

  std::mutex mutex_;
  std::array<std::unique_ptr<Launch>, most> launches_;
  std::atomic<std::size_t> count_ = 0;
  std::atomic<bool> has_clusters_ = false; // of several blocks, in any launch so far
};

} // namespace warpfold::analysis
