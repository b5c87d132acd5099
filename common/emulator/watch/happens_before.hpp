// What is ordered before what, as far as the program has synchronised.
//
// Within a block: __syncthreads orders everything; __syncwarp orders the lanes of its mask; a fence and then
// a strong store or an atomic publishes a warp's accesses to warps that read strongly afterwards. Between
// blocks: only fence, publication and strong read do. Which address was published through is not followed: a
// program that orders through one flag and reads through another is taken for right. So nothing is reported
// that is ordered, and little is missed.
#pragma once

#include "origins.hpp"

#include <cstdint>
#include <mutex>
#include <vector>

namespace warpfold::watch {

// What one block has published to others, and when. Times count the publications of the whole launch.
class BlockHistories {
public:
  explicit BlockHistories(std::size_t blocks) : histories_(blocks < limit ? blocks : limit) {}

  // The block makes a strong store or an atomic; `fences` of its fences came before. Returns the time.
  std::uint32_t publish(std::uint64_t block, std::uint32_t fences);
  std::uint32_t now() const { return clock_; }

  enum class Order : std::uint8_t { ordered, unfenced, unordered };
  // Is an access that `block` made after `fences` fences and `publications` publications ordered before what
  // another block does that has last read strongly at `acquired`?
  Order order(std::uint64_t block, std::uint32_t fences, std::uint32_t publications,
              std::uint32_t acquired) const;

private:
  static constexpr std::size_t limit = 1u << 22, lock_count = 64; // blocks beyond the limit count as ordered
  static constexpr std::size_t longest = 4096;                    // releases kept of a block
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

// What is ordered before what inside one block, by the numbers of origins.
struct WarpOrder {
  std::uint32_t lane_floor[32] = {}; // older origins of the own warp are ordered before this lane
  std::uint32_t seen[32] = {};       // older origins of that warp are ordered before this one
  std::uint32_t released = 0;        // older ones of this warp are published
  std::uint32_t fenced = 0;          // older ones come before its last fence
  std::uint32_t fences = 0;          // the block's fences at its last one
  std::uint32_t phase = 0;           // origins from here on may be used again
};

struct BlockOrder {
  std::uint32_t floor = 0; // older origins of the block are ordered before all of it
  std::uint32_t fences = 0, publications = 0;
  std::uint32_t acquired = 0; // time of its last strong read
  bool acquiring = false;     // it reads strongly just now, and `acquired` is set at what it does next
  std::vector<WarpOrder> warps;

  void begin(std::size_t warp_count, std::uint32_t next_origin);
  void barrier(std::uint32_t next_origin);
  void warp_barrier(unsigned warp, std::uint32_t members, std::uint32_t next_origin);
  void fence(unsigned warp, std::uint32_t next_origin, bool beyond_block); // __threadfence_block() is not
  void acquire(unsigned warp, std::uint32_t now);
  void publish(unsigned warp, std::uint32_t next_origin);
  // Is `earlier`, of this block, ordered before what `lane` of `warp` does now?
  bool ordered(Cell earlier, const Origin& origin, unsigned warp, unsigned lane) const;
};

} // namespace warpfold::watch
