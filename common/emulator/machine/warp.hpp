// A warp: 32 lanes that execute operations together, and what happens when they diverge.
//
// Lanes that are at the same instruction form a *divergent path*; a warp without divergence has one. A branch
// at which a path's lanes diverge records a *reconvergence point*: where they rejoin (the immediate
// post-dominator), and which lanes are expected there. A path that gets there waits; the last one to arrive
// continues with all of the lanes. Paths take turns: by default one runs until it waits (which is what a
// reconvergence stack does), but a path that spins gives way, so that lanes that wait for each other make
// progress (PTX ISA 9.7.13; "Independent Thread Scheduling").
#pragma once

#include "coalescing.hpp"
#include "code.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace warpfold::machine {

struct Block;
struct Worker;

struct DivergentPath {
  enum class State : std::uint8_t { ready, at_barrier, at_rendezvous, at_cluster };
  const Operation* next = nullptr;
  std::byte* frame = nullptr;
  std::uint32_t mask = 0;
  std::int32_t reconvergence = -1; // index into Warp::reconvergence_points
  std::uint32_t local_base = 0;    // of the running function's local memory
  std::uint32_t frame_index = 0;   // Code::frames
  State state = State::ready;
  std::uint8_t barrier = 0;     // which, while at_barrier
  std::int32_t rendezvous = -1; // which, while at_rendezvous and until its results are collected
  // Whether the operation at which it waits is executed again when it goes on.
  bool runs_again() const { return state == State::at_rendezvous || state == State::at_cluster; }
};

struct ReconvergencePoint {
  const Operation* at = nullptr; // null: free
  std::uint32_t expected = 0, arrived = 0;
  std::int32_t parent = -1;
  std::byte* frame =
      nullptr; // where the lanes continue; for the reconvergence point of a call, in the caller
  std::uint32_t local_base = 0, frame_index = 0;
  const Operation* call = nullptr; // set: lanes come here by `ret`
  std::uint32_t callee_index = 0;  // Code::frames
  std::vector<std::byte> callee_frame;
  bool is_call() const { return call != nullptr; }
};

// Lanes of several paths that must execute a shuffle, vote or __syncwarp together (PTX: .sync with a member
// mask).
struct Rendezvous {
  std::uint32_t members = 0, arrived = 0, collected = 0;
  bool complete = false;
  std::uint64_t values[warp_lanes] = {};
};

// Bytes that plain loads of a warp have read from one kind of memory, and the range in which these lie.
struct BytesRead {
  std::uint64_t by_each = 0;                          // of the lanes: what all 32 read together
  std::uint64_t by_some = 0;                          // beyond that, by all lanes together...
  alignas(64) std::uint32_t by_lane[warp_lanes] = {}; // ...and by each of them
  std::uint64_t begin = ~0ull, end = 0;               // of global memory only

  void clear() {
    if (by_some != 0) std::fill_n(by_lane, warp_lanes, 0u);
    by_each = by_some = 0;
    begin = ~0ull, end = 0;
  }
  void reach(std::uint64_t first, std::uint64_t bytes) {
    begin = std::min(begin, first), end = std::max(end, first + bytes);
  }
  std::uint64_t total() const { return by_each * warp_lanes + by_some; }
  std::uint64_t most() const {
    return by_each + (by_some ? *std::max_element(by_lane, by_lane + warp_lanes) : 0);
  }
};

// What a look at memory that others may write takes of a time slice, in backward branches.
constexpr std::uint32_t spin_cost = 64, global_spin_cost = 1024;

struct Warp {
  // Of the path that runs.
  std::byte* frame = nullptr;
  std::uint32_t mask = 0;
  std::uint32_t slice = 0; // backward branches until others get their turn
  bool spins = false;      // in this slice, it has looked at memory that others may write
  bool polls = false;      // in this slice, and it waits for a value there: ptx/synchronising.hpp
  bool changes = false;    // in this slice, it has changed memory that others may read
  // What the mbarrier that it found incomplete in this slice still waits for; both 0: there was none.
  std::uint32_t missing_arrivals = 0;
  std::int64_t missing_bytes = 0;     // negative: more have come than were expected
  std::uint32_t expected_bytes = 0;   // of which `missing_bytes` have not come
  const Operation* expects = nullptr; // the operation that says so
  std::uint32_t phases_over = 0;      // of this mbarrier
  const Operation* reconvergence_at = nullptr;
  std::int32_t reconvergence = -1;
  std::uint32_t local_base = 0, frame_index = 0;
  std::int32_t rendezvous = -1; // its results wait to be collected
  OperationCounters* counters = nullptr;
  Worker* worker = nullptr;
  bool watched = false;    // there is a watcher
  bool followed = false;   // and it follows values
  bool kept_apart = false; // the end of a time slice, not the program, keeps lanes apart
  alignas(64) std::int32_t lanes[warp_lanes] = {}; // `mask` spread out: -1 where the lane is active

  // Of the warp.
  Block* block = nullptr;
  std::uint32_t index = 0; // in its block
  std::uint32_t alive = 0; // lanes that have not left
  // Lanes that have arrived at the cluster's barrier and not waited there since: others have yet to arrive,
  // or not.
  std::uint32_t cluster_arrived = 0, cluster_released = 0;
  std::uint32_t has_bulk_groups = 0; // lanes that have committed bulk copies
  std::uint32_t carry = 0;           // the condition-code register, one bit per lane (add.cc)
  std::vector<DivergentPath> paths;  // those that do not run
  std::vector<ReconvergencePoint> reconvergence_points;
  std::vector<Rendezvous> rendezvouses;
  std::byte* kernel_frame = nullptr;
  std::byte* local_memory = nullptr; // 32 x Worker::local_stride bytes
  BytesRead from_global, from_shared;
  bool done() const { return alive == 0; }
  // In its last slice, it has waited for a value in memory, and changed none.
  bool waits_for_memory() const { return !done() && slice == 0 && polls && !changes; }

  template <typename T>
  T* row(std::uint32_t offset) {
    return reinterpret_cast<T*>(frame + offset);
  }

  void set_mask(std::uint32_t active) {
    mask = active;
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
      lanes[lane] = -static_cast<std::int32_t>(active >> lane & 1);
  }

  // Counts `width` bytes for each active lane.
  void count_read(BytesRead& read, unsigned width) const {
    if (mask == all_lanes) {
      read.by_each += width;
      return;
    }
    read.by_some += static_cast<unsigned>(std::popcount(mask)) * width;
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
      read.by_lane[lane] += width & static_cast<std::uint32_t>(lanes[lane]);
  }

  // Starts all `active` lanes at the kernel's entry.
  void start(std::uint32_t active, const Operation* entry);
  // Runs until the warp can go no further for now. Returns true if it executed anything.
  bool run();
  bool has_ready_path() const;

  // For the handlers of control flow. Each returns the operation to continue with, or null.
  const Operation* diverge(const Operation* taken, std::uint32_t taken_mask, const Operation* not_taken,
                           const Operation* together_at);
  const Operation* arrive(); // the running path is at its reconvergence point
  const Operation* leave(std::uint32_t lanes_leaving, const Operation* next); // exit
  const Operation* call(const Operation* op,
                        std::uint32_t callee_index); // continues after `op` when all have returned
  const Operation* return_from_call();
  void wait_at_barrier(unsigned barrier, const Operation* next); // Block::arrive wakes the path
  const Operation* slice_over(const Operation* next);            // a path that has run for long gives way
  // Lanes that wait at a reconvergence point of the path stop waiting. True if there were any.
  bool release_waiting(std::int32_t index);
  bool release_all_waiting();
  // Gathers the members of a .sync operation. True: all are here (`values` of each in `met->values`, if they
  // came by several paths; null if this path has all of them). False: the path waits and the operation runs
  // again later.
  bool gather(const Operation* op, std::uint32_t members, const std::uint64_t* own_values, Rendezvous*& met);
  void collected(Rendezvous& met);

  const Operation* next_path(); // loads a ready path; null if there is none
  void save(const Operation* next, DivergentPath::State state);

private:
  const Operation* run_followed(const Operation* op);
  ReconvergencePoint& point(std::int32_t index) {
    return reconvergence_points[static_cast<std::size_t>(index)];
  }
  void load(const DivergentPath& path);
  std::int32_t new_reconvergence_point(const Operation* at);
  void set_reconvergence(std::int32_t index);
  const Operation* complete(std::int32_t index); // all expected lanes are here
  const Operation* settle(std::int32_t index);   // after some lanes are no longer expected
  void check_rendezvouses();
};

} // namespace warpfold::machine
