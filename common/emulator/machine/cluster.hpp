// A thread block cluster: blocks that start together, reach each other's shared memory and share a barrier
// (PTX ISA, "Cluster of Cooperative Thread Arrays"). Without clusters, each block is a cluster of its own.
//
// The blocks of a cluster belong to one worker, which gives each of them its turn. So what they share needs
// no lock, and their shared memory is ordinary memory of one host thread.
#pragma once

#include "code.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace warpfold::machine {

struct Block;
struct Warp;

// An address in .shared::cluster, in the shared window: an offset alone means the thread's own block, and
// (rank + 1) << rank_shift | offset the block of that rank. PTX leaves the form open; `mapa` makes it, except
// for a block that is alone in its cluster: there, an offset that is 16 MiB too large must not pass for a
// name.
inline constexpr unsigned rank_shift = 24;
inline constexpr std::uint64_t cluster_offset_mask = (1ull << rank_shift) - 1;
inline constexpr std::uint32_t most_blocks_in_cluster = 16, portable_blocks_in_cluster = 8;

inline std::uint64_t cluster_address(std::uint32_t rank, std::uint64_t offset) {
  constexpr std::uint64_t no_rank = 0xff; // any rank that no cluster has, and that 32 bits hold
  const std::uint64_t number = rank < no_rank ? rank + 1 : no_rank;
  return number << rank_shift | (offset & cluster_offset_mask);
}
// Whether an address in the shared window names a rank; if it does, which.
inline bool names_rank(std::uint64_t address) {
  return address >> rank_shift != 0;
}
inline std::uint64_t named_rank(std::uint64_t address) {
  return (address >> rank_shift) - 1;
}

struct Cluster {
  std::vector<Block*> blocks;       // by rank
  std::uint64_t rounds = 0;         // of its barrier, that are complete
  std::uint32_t arrived = 0;        // threads that have arrived in this round and not exited since
  std::uint32_t ended = 0;          // blocks
  const Operation* first = nullptr; // the arrival that came first in this round

  mutable std::shared_ptr<void> notes; // what a watcher keeps with the cluster; the machine does not use it

  void begin(std::vector<Block*> members); // before its blocks start
  void restart();                          // the same, with the same blocks
  std::uint32_t size() const { return static_cast<std::uint32_t>(blocks.size()); }
  // The barrier (PTX ISA, "barrier.cluster"): every thread that has not exited arrives, and then waits for
  // the others. Each lane does the two in turn, which Warp::cluster_arrived and cluster_released keep.
  void arrive(Warp& warp, const Operation* op);
  void left(std::uint32_t threads_that_had_arrived) {
    if (arrived == 0) return;
    arrived -= threads_that_had_arrived;
    check();
  }
  // Whether none of its blocks can go on: each has ended or waits.
  bool is_stuck() const;
  [[noreturn]] void stop_stuck() const;

private:
  void check();
};

} // namespace warpfold::machine
