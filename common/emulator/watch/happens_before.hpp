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

// What one block has published to others, and when. Times count the launch's publications that came after a
// new fence: the only ones that another block can be ordered by.
class BlockHistories {
public:
  explicit BlockHistories(std::size_t blocks) : histories_(blocks < limit ? blocks : limit) {}

  // The block makes a strong store or an atomic; `fences` of its fences came before.
  void publish(std::uint64_t block, std::uint32_t fences);
  std::uint32_t now() const; // later than all that was published so far

  enum class Order : std::uint8_t { ordered, unfenced, unordered };
  // Is the access ordered before what another block does that has last read strongly at `acquired`? A strong
  // access after a fence publishes itself; any other waits for the next fence and publication.
  Order order(const Origin& earlier, std::uint32_t acquired) const;

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

// What is ordered before what inside one block, by the moments of origins.
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
  std::uint32_t acquired = 0; // time of its last strong read; 0: none
  bool acquiring = false;     // it reads strongly just now, and `acquired` is set at what it does next
  std::vector<WarpOrder> warps;

  // `next`: the moment of the access that comes next.
  void begin(std::size_t warp_count, std::uint32_t next);
  void barrier(std::uint32_t next);
  void warp_barrier(unsigned warp, std::uint32_t members, std::uint32_t next);
  void fence(unsigned warp, std::uint32_t next, bool beyond_block); // __threadfence_block() is not
  void acquire(unsigned warp, std::uint32_t time);                  // of the launch's publications
  void publish(unsigned warp, std::uint32_t next);
  // Is what `earlier_lane` of `earlier`, of this block, did ordered before what `lane` of `warp` does now?
  bool ordered(const Origin& earlier, unsigned earlier_lane, unsigned warp, unsigned lane) const;
};

} // namespace warpfold::watch
