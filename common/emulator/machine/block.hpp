// A block of warps on one host thread, and the host thread (worker) that runs blocks.
#pragma once

#include "cluster.hpp"
#include "lazy_array.hpp"
#include "standstill.hpp"
#include "warp.hpp"
#include "watcher.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace warpfold::machine {

// Thrown by handlers: the launch stops here.
struct LaunchStopped : std::runtime_error {
  explicit LaunchStopped(Fault why) : std::runtime_error(why.message), fault(std::move(why)) {}
  Fault fault;
};

// Windows of the generic address space (PTX ISA 5.1.7). No host address lies in them.
inline constexpr std::uint64_t shared_window = 1ull << 56, local_window = 2ull << 56,
                               parameter_window = 3ull << 56, function_window = 4ull << 56,
                               window_mask = 0xffull << 56;

// The state that all workers of a launch share.
struct Grid {
  const Code& code;
  const LaunchShape& shape;
  std::span<const std::byte> parameters;
  AddressSpace& memory;
  Watcher* watcher = nullptr;
  std::uint64_t step_limit = 0;
  std::chrono::steady_clock::time_point begin, deadline;
  const std::atomic<bool>* interrupt = nullptr;
  bool prints = true;
  std::uint64_t print_limit = 0; // lines of printf that are printed; 0: all
  std::uint32_t stack_bytes = 0; // of a thread, for calls
  unsigned workers = 1;
  Schedule schedule = {};
  std::uint64_t id = 0; // %gridid
  int device = 0;
  const PeerAccess* peers = nullptr; // null: there is one device
  std::shared_ptr<const Textures> textures = {};
  DeviceRuntime* device_runtime = nullptr;
  bool may_reach(int owner) const { return !peers || peers->allows(device, owner); }
  std::atomic<std::uint64_t> next_block = 0, blocks_done = 0;
  // Successive turns, of any block, in which no warp did anything but wait for a value in memory, and when
  // the first of them began, in ticks of the steady clock.
  std::atomic<std::uint64_t> turns_waited = 0;
  std::atomic<std::chrono::steady_clock::rep> waits_since = 0;
  std::chrono::milliseconds patience{}; // see LaunchOptions
  Standstill standstill = {};
  std::function<bool()> may_be_changed = {};              // by others than kernels
  std::function<void(Fault&)> complete = {};              // see LaunchOptions
  std::function<bool(std::int64_t)> points_to_bytes = {}; // likewise
  mutable std::atomic<std::uint64_t> printed = 0;         // lines of printf, those left out too
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::optional<Fault> fault; // the first one; under `mutex`
  // Where one of its blocks stood when it last stepped aside; null if none has. Only with several devices.
  std::atomic<const Operation*> stood_at = nullptr;
  mutable std::shared_ptr<void> notes =
      {}; // what a watcher keeps with the launch; the machine does not use it
  std::uint64_t block_count() const { return shape.grid.count(); }
  std::uint64_t blocks_to_run() const { // clusters all run
    return shape.cluster.count() > 1 ? block_count() : schedule.block_turns(block_count());
  }
  std::uint32_t shared_bytes() const { // of a block
    return shape.dynamic_shared ? code.dynamic_shared_offset + shape.dynamic_shared : code.static_shared;
  }
};

struct Barrier {
  std::uint32_t arrived = 0; // threads, of which `waiting` wait (the others used bar.arrive)
  std::uint32_t waiting = 0;
  std::uint32_t expected = 0;       // threads; 0: all threads of the block that have not exited
  const Operation* first = nullptr; // the first to arrive, for the report
  std::uint32_t population = 0;     // bar.red.popc: predicates that were true...
  std::uint32_t result_population = 0, result_threads = 0; // ...of the last completed round
};

// What is known of an mbarrier in a block's shared memory, beside its 64 bits.
struct MbarrierFacts {
  std::uint32_t phase = 0;                    // phases that are complete
  std::uint64_t expected_bytes = 0, came = 0; // in this phase
  const Operation* expects = nullptr;         // the last that raised `expected_bytes`
  std::uint32_t bulk_loads = 0;               // that complete here, and no thread has seen that they have
};

struct Block {
  static constexpr unsigned barrier_count = 16;
  static constexpr std::uint32_t shared_slack =
      warp_lanes * 16; // padding bytes that may be accessed but are never used
  enum class Progress : std::uint8_t { done, running, waits_for_cluster, stuck };

  Worker& worker;
  Dim3 id{0, 0, 0};
  std::uint64_t linear_id = 0;
  Cluster own_cluster; // of which it is the only block, or the first
  Cluster* cluster = &own_cluster;
  std::uint32_t rank = 0;          // in the cluster
  bool waits_for_cluster = false;  // no thread can go on before the cluster's barrier is complete
  std::uint64_t rounds_waited = 0; // of the cluster's barrier, that one of its threads has waited for
  std::uint32_t threads = 0, alive = 0;
  std::uint64_t steps = 0;  // warp instructions so far, updated once per slice; a first slice is not counted
  std::uint64_t rounds = 0; // in which each of its warps had a turn
  bool stepped_aside = false; // it has had a turn before this one
  bool only_waits = false;    // in its last round, no warp did anything but wait for a value in memory
  // Since they were last reset: it has changed memory that others may read, looked at such memory, and waited
  // there for a value.
  bool changed = false, looked = false, polled = false;
  Recurrence recurrence;
  std::vector<Warp> warps;
  std::vector<std::byte> shared;
  std::vector<std::byte> frames;             // storage of the warps' kernel frames
  std::optional<LazyArray<std::byte>> local; // and of their local memory, most of which is a stack's
  Barrier barriers[barrier_count];
  std::unordered_map<std::uint64_t, MbarrierFacts> mbarriers; // that are initialised, by offset
  std::uint32_t bulk_loads = 0, most_bulk_loads = 0;          // in flight: the sum of theirs
  mutable std::unique_ptr<BlockNotes> notes; // what a watcher keeps with the block; the block does not use it

  explicit Block(Worker& worker);
  void start(std::uint64_t linear_id); // it is in a cluster: Cluster::begin
  Progress run();                      // every warp once, until it waits or its slice is over
  // A divergent path of `warp` is at a barrier that `expected` threads must reach (0: all).
  void arrive(const Warp& warp, const Operation* op, unsigned barrier, std::uint32_t arriving,
              std::uint32_t expected, std::uint32_t true_predicates, bool waits);
  void left(std::uint32_t threads_leaving); // these will never reach a barrier
  const Operation* stands_at() const;       // one that has a line; null if there is none
  // Whether a warp whose time slice is over waited in it for what another thread writes.
  bool polls() const;
  std::string standing() const; // where its warps are, one line per place
  // Calls visit(place, path) for each path that waits or runs; `place` is where it stands.
  template <typename Visit>
  void each_waiting(Visit visit) const {
    for (const Warp& warp : warps)
      for (const DivergentPath& path : warp.paths)
        if (path.next)
          visit(path.state == DivergentPath::State::ready || path.runs_again() ? path.next : path.next - 1,
                path);
  }
  [[noreturn]] void stop_stuck() const;
  [[noreturn]] void stop_endless() const; // by the limit of steps
  // By a limit of time or patience, or from outside: `why` completes "block (0, 0, 0) "; `follows`: see
  // Fault.
  [[noreturn]] void stop_early(Fault::Kind kind, const std::string& why, bool follows = false) const;
  Dim3 thread_of(const Warp& warp, unsigned lane) const; // threadIdx

private:
  void include_readers(BusiestReaders& busiest) const;
  void check(unsigned barrier);
};

// The allocation that an operation accessed last, so that most accesses need no look-up.
struct KnownRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t last = 0; // address that it loaded from
  bool is_peers = false;  // it belongs to another device
};

// The gap in which an operation last accessed memory out of bounds. Otherwise a runaway loop would look it up
// again and again, and every worker would wait for the same lock.
struct KnownHole {
  std::uint64_t begin = 1, end = 0;
  std::uint64_t changes = 0; // AddressSpace::changes() at that time
};

// Requests with evenly spaced addresses often repeat the same pattern, so the cost of each pattern is cached.
struct Pattern {
  std::uint64_t stride = 0;
  std::uint32_t mask = 0, first = 0, width = 0; // first: of the address, modulo a row of banks
  std::uint16_t count = 0, ideal = 0;
};

// Bytes of the widest access that a lane makes as a whole.
inline constexpr unsigned widest_access = 32;

struct Worker {
  static constexpr std::size_t pattern_count = 256;
  Grid& grid;
  std::vector<OperationCounters> counters; // by operation
  BusiestReaders busiest;                  // of the blocks that have ended
  LinkTraffic links;
  std::vector<KnownRange> ranges; // by operation
  KnownHole hole;
  std::vector<std::uint32_t> refusals; // by operation: its bad accesses so far
  bool looked = false;                 // at what others may write
  const bool in_clusters;              // of several blocks
  bool compares_stores = false;        // one that leaves memory as it was is no change
  bool acted = false; // since it was last reset, it has done what neither memory nor a block's state shows
  std::uint32_t refused_lanes = 0; // of the current request: their accesses are not reported
  Pattern sector_patterns[pattern_count], bank_patterns[pattern_count];
  std::uint32_t local_stride = 0; // bytes of local memory per lane
  std::vector<std::unique_ptr<Block>> resident, spare;
  std::vector<std::unique_ptr<Block>> fresh; // of the cluster taken last: those that have not had a turn
  std::vector<std::unique_ptr<Block>> ended; // in clusters with others that have not

  // The target of accesses that must not happen: zeros, as long as the widest access (widest_access).
  std::byte* nowhere(std::uint32_t lanes) {
    refused_lanes |= lanes;
    return reinterpret_cast<std::byte*>(std::fill_n(nowhere_, std::size(nowhere_), 0) - std::size(nowhere_));
  }

  explicit Worker(Grid& grid);
  void run();                         // blocks until the grid has none left, or a fault
  std::uint64_t instructions() const; // warp instructions so far

private:
  const std::chrono::nanoseconds begin_; // of its thread's processor time
  alignas(16) std::uint64_t nowhere_[widest_access / sizeof(std::uint64_t)] = {};
  std::unique_ptr<Block> take_block();
  std::unique_ptr<Block> spare_block();
  std::unique_ptr<Block> take_cluster(std::uint64_t number);
  void keep(std::unique_ptr<Block> ended);
  enum class Turn : std::uint8_t {
    done,                    // the block came to its end
    over,                    // it has run for long
    waited,                  // no warp did anything but wait for a value in memory
    waits_for_cluster,       // no thread can go on before other blocks of its cluster
    reached_cluster_barrier, // the same, after the block has gone on
  };
  Turn run_turn(Block& block);
  bool is_out_of_time() const;
  void stop_if_out_of_time(const Block& block) const;
  void stop_if_too_many_blocks() const;
  void stop_if_at_a_standstill(Block& block);
  void stop_if_waits_in_vain(const Block& block) const;
};

// "thread 37 of block 0", or "thread (1, 2, 0) of block (0, 3, 0)" if the block or the grid has more than one
// dimension.
std::string thread_name(const LaunchShape& shape, std::uint64_t block, unsigned warp, unsigned lane);
// "block 3", likewise
std::string block_name(const LaunchShape& shape, std::uint64_t block);
// "sum.cu:12"
std::string file_and_line(const SourceLine& at);

// Stops the launch with a message that names the instruction, its line, and the lanes concerned.
[[noreturn]] void stop(const Warp& warp, const Operation* op, Fault::Kind kind, const std::string& message,
                       std::uint32_t lanes = 0);
// Stops it at an access, whose message goes on after the thread's name; but if there is a watcher, it
// reports the fault instead, and the launch continues.
void refuse_access(const Warp& warp, const Operation* op, Fault fault, std::uint32_t lanes);

// Fills a frame's constants and special registers for the warp. `local_base`: of the frame's local memory.
void fill_frame(const Warp& warp, const Frame& frame, std::byte* storage, std::uint32_t local_base);
// The part that changes from block to block.
void fill_block_specials(const Warp& warp, const Frame& frame, std::byte* storage);

} // namespace warpfold::machine
