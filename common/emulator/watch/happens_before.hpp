// What is ordered before what, as far as the program has synchronised.
//
// Within a block, __syncthreads orders everything, __syncwarp orders the lanes of its mask, and a fence
// followed by a strong store or an atomic publishes a warp's accesses to warps that read strongly afterwards.
// Between blocks only the last of these orders. The address that a publication goes through is not followed:
// a program that publishes through one flag and reads another is taken to be right. So nothing that is
// ordered is reported, and little is missed.
#pragma once

#include "access_records.hpp"

#include <cstdint>
#include <mutex>
#include <vector>

namespace warpfold::watch {

// What each block has published to the others, and when. Time counts the launch's publications that follow a
// new fence, since only they can order another block.
class BlockHistories {
public:
  explicit BlockHistories(std::size_t blocks) : histories_(blocks < limit ? blocks : limit) {}

  // The block makes a strong store or an atomic; `fences` of its fences came before.
  void publish(std::uint64_t block, std::uint32_t fences);
  std::uint32_t now() const; // later than everything published so far

  enum class Order : std::uint8_t { ordered, unfenced, unordered };
  // Is the access ordered before what another block does now, whose last strong read was at `acquired`? A
  // strong access after a fence publishes itself; any other waits for the next fence and publication.
  Order order(const AccessRecord& earlier, std::uint32_t acquired) const;

private:
  static constexpr std::size_t limit = 1u << 22, lock_count = 64; // blocks beyond the limit count as ordered
  static constexpr std::size_t longest = 4096;                    // releases kept per block
  struct Release {
    std::uint32_t fences = 0, time = 0;
  };
  struct History {
    std::atomic<std::uint32_t> publications{0};
    std::vector<Release> releases; // publications that came after a new fence
  };
  std::vector<History> histories_;
  mutable std::mutex locks_[lock_count];
  std::atomic<std::uint32_t> clock_{0};
};

// The same inside one block, by the moments of access records.
struct WarpOrder {
  std::uint32_t lane_floor[32] = {}; // older records of this warp are ordered before the lane
  std::uint32_t seen[32] = {};       // by warp: its older records are ordered before this warp
  std::uint32_t released = 0;        // older records of this warp are published
  std::uint32_t fenced = 0;          // older records of this warp come before its last fence
  std::uint32_t fences = 0;          // how many the block had made at this warp's last
  std::uint32_t phase = 0;           // a record from here on serves the same operation again
};

struct BlockOrder {
  std::uint32_t floor = 0; // older records of the block are ordered before all of it
  std::uint32_t fences = 0, publications = 0;
  std::uint32_t acquired = 0; // time of its last strong read; 0: none
  bool acquiring = false;     // its last access read strongly; `acquired` is set at the next
  std::vector<WarpOrder> warps;

  // `next`: the moment of the access that comes next.
  void begin(std::size_t warp_count, std::uint32_t next);
  void barrier(std::uint32_t next);
  void warp_barrier(unsigned warp, std::uint32_t members, std::uint32_t next);
  void fence(unsigned warp, std::uint32_t next, bool beyond_block); // __threadfence_block() is not
  void acquire(unsigned warp, std::uint32_t time);                  // of the launch's publications
  void publish(unsigned warp, std::uint32_t next);
  // Is what `earlier_lane` of `earlier`, of this block, did ordered before what `lane` of `warp` does now?
  bool ordered(const AccessRecord& earlier, unsigned earlier_lane, unsigned warp, unsigned lane) const;
};

} // namespace warpfold::watch
