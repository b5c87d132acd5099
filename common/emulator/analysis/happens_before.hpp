// What is ordered before what, as far as the program has synchronised (PTX ISA, "Memory Consistency Model";
// docs/reference/races.md explains it rule by rule).
//
// Within a block, __syncthreads orders everything, and __syncwarp orders the lanes of its mask. A fence
// followed by a strong write releases, and a strong read at the same address acquires (releases.hpp); this
// holds between lanes, warps and blocks alike, as far as both scopes reach. A thread that takes a lock
// acquires only at its next fence; every other strong read acquires at once, although the model requires a
// fence there too.
#pragma once

#include "access_records.hpp"
#include "releases.hpp"

#include "machine/lazy_array.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace warpfold::analysis {

class Launches;

// What each block has published: used only to say what is missing where a race was found.
class BlockHistories {
public:
  explicit BlockHistories(std::size_t blocks) : histories_(blocks) {}

  struct History {
    // Moments of the block's clock up to which it had made a strong write, and a strong write after a fence:
    // by how far the two reach.
    std::atomic<std::uint32_t> published{0}, released[level_count] = {};
    std::atomic<std::uint64_t> published_at{0};   // the address of the last of them
    std::atomic<std::uint32_t> published_by{~0u}; // and its operation; ~0: none
    // How many of its accesses to global memory have been judged; all before the last one have been
    // performed.
    std::atomic<std::uint32_t> accesses{0};
    static constexpr std::uint32_t ended = ~0u; // accesses: all have been performed
    std::atomic<const void*> worker{nullptr};   // which runs it
  };
  History& of(std::uint32_t block) { return histories_[block]; }
  const History& of(std::uint32_t block) const { return histories_[block]; }

private:
  machine::LazyArray<History> histories_;
};

// The last fence that a lane executed.
struct LaneFence {
  std::uint32_t at = 0;     // when; 0: none
  std::uint32_t lanes = 0;  // that executed it together
  std::uint32_t floor = 0;  // the block's last barrier before the fence
  std::uint32_t synced = 0; // the lane's last __syncwarp before the fence
  bool operator==(const LaneFence&) const = default;
};

struct WarpOrder {
  std::uint32_t floor = 0; // older records of this warp are ordered before all of it
  // By lane and other lane: older records of the other lane are ordered before the lane. Null until only some
  // of the lanes synchronise.
  using LaneFloors = std::array<std::array<std::uint32_t, 32>, 32>;
  std::unique_ptr<LaneFloors> lane_floors;
  std::uint32_t floor_of(unsigned lane, unsigned other) const {
    return lane_floors ? std::max(floor, (*lane_floors)[lane][other]) : floor;
  }
  std::array<std::array<LaneFence, 32>, level_count> fences{}; // by how far they reach
  std::uint32_t phase = 0;                                     // when it last synchronised on its own
  std::uint32_t published = 0;                                 // when it last released
  bool has_read_strongly = false;                              // or another warp has, before a barrier
  CausalClock acquired;                                        // by the whole block or by any lane
  // By lanes, as lanes of one warp may acquire from each other. Empty until one has acquired something that
  // the block has not.
  struct Knowing {
    std::uint32_t lanes = 0;
    CausalClock clock;
  };
  std::vector<Knowing> of_lanes;
  std::vector<Acquired> taken; // without acquiring it: no fence since then reaches as far
  void acquire(const CausalClock& clock, std::uint32_t lanes);
  void acquire(const std::array<CausalClock, level_count>& from, Level up_to, std::uint32_t lanes);
  void take(Acquired acquired);
  const CausalClock& acquired_by(unsigned lane) const;
};

struct BlockOrder {
  Place place;
  std::uint32_t clock = 1;              // advances with each synchronisation, and from block to block
  std::uint32_t begun = 0;              // when the block began
  std::uint32_t floor = 0;              // older records of the block are ordered before all of it
  std::uint32_t floor_in_shared = 0;    // the same for records of shared memory
  std::uint32_t last_without_order = 0; // the last barrier that orders no memory
  std::uint32_t last_fence = 0;         // of any warp
  bool has_read_any = true;             // some warp may have acquired something
  CausalClock acquired;                 // by the whole block
  std::vector<WarpOrder> warps;
  // What fences before the last barrier cover: any thread that releases after the barrier releases it.
  CausalClock fenced[level_count];

  // A release, as far as it decides what comes before.
  struct Releasing {
    std::uint32_t warp = 0, operation = 0, at = 0;
    std::array<LaneFence, level_count> fences{};
    std::array<std::uint32_t, level_count> covered{}; // lanes
    bool operator==(const Releasing&) const = default;
  };
  // The lanes of an operation mostly release the same, each at its own address; and a thread that polls has
  // only acquired something since its last release.
  Releasing last_releasing;
  std::array<CausalClock, level_count> done_by_last, known_to_last; // by Level: by itself, and all
  CausalClock acquired_by_last;
  void know(const Releasing& by);

  // `known`: what comes before the block.
  void begin(std::size_t warp_count, const Place& at, const CausalClock& known = {});
  // It orders all memory, or in OpenCL what its flags name.
  void barrier(ptx::Space orders = ptx::Space::generic);
  std::uint32_t last_barrier() const { return std::max({floor, floor_in_shared, last_without_order}); }
  void hand_on_taken();
  void warp_barrier(unsigned warp, std::uint32_t members);
  void fence(unsigned warp, std::uint32_t lanes, Level level);
  // An operation of release order is a fence only for what it writes itself (PTX ISA, "Release and Acquire
  // Patterns"): begun before it, and taken back after it.
  using Fences = std::array<std::array<LaneFence, 32>, level_count>;
  Fences begin_release(unsigned warp, std::uint32_t lanes, Level level);
  void end_release(unsigned warp, const Fences& before) { warps[warp].fences = before; }
  // What a strong write by these lanes would release now; valid until the next one.
  Release release(unsigned warp, std::uint32_t lanes, std::uint32_t operation);
  bool has_fence(unsigned warp, std::uint32_t lanes) const;

  // Do barriers order what `earlier_lane` did in `earlier`, a record of this block, before what `lane` of
  // `warp` does now?
  bool ordered(const AccessRecord& earlier, unsigned earlier_lane, unsigned warp, unsigned lane,
               ptx::Space space = ptx::Space::global) const;
  // Has one of these two lanes executed a __syncwarp since then, whose mask leaves the other out?
  bool has_synced_since(const AccessRecord& earlier, unsigned earlier_lane, unsigned warp,
                        unsigned lane) const;
  // A record made at this moment or later can be reused for the same operation.
  std::uint32_t phase_of(unsigned warp) const { return std::max(last_barrier(), warps[warp].phase); }
  bool has_acquired(unsigned warp) const { return !warps[warp].acquired.empty(); }
  // Do releases and acquires order anyone's access before what `lane` of `warp` does now? `earlier_lane` may
  // be CausalClock::every_lane.
  bool is_released(const AccessRecord& earlier, unsigned earlier_lane, unsigned warp, unsigned lane,
                   const Launches& launches) const;
  // What would have ordered them, had it acquired at once; null if nothing.
  const Acquired* not_acquired(const AccessRecord& earlier, unsigned earlier_lane, unsigned warp) const;
};

} // namespace warpfold::analysis
