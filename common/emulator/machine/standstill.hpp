// Finds launches that never end although their threads do not just wait for a value in memory.
//
// A launch is at a standstill if no memory changes any more, and each of its blocks has come back to a state
// in which it was before: the same registers, at the same places in the program. What a thread does next
// follows from these, so each of them repeats what it has done since then, whatever the order of their turns.
// Threads may go on to store what is there already, and to pass barriers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace warpfold::machine {

struct Block;
struct Grid;

// A block's state, as a hash of 128 bits: everything but memory that other threads may read.
struct Digest {
  std::uint64_t first = 0, second = 0;
  bool operator==(const Digest&) const = default;
};
Digest digest_of(const Block& block);

// Whether a state comes again: each is compared with one that is replaced after 1, 2, 4, ... others (Brent,
// "An improved Monte Carlo factorization algorithm", section 2).
struct Recurrence {
  std::uint64_t period = 0; // of the launch, in which these were seen
  Digest seen;
  std::uint64_t others = 0, limit = 0;
  bool found = false;

  bool meets(std::uint64_t now, const Digest& digest); // true if it comes again for the first time
};

// The periods in which no memory changes, one after another.
class Standstill {
public:
  // After a part of a block's turn. `moves`: in it, the block has changed memory, or done what its state does
  // not show, such as to print. `compares`: whether its stores of what is there already were distinguished
  // from others; on return, whether they must be. True if the launch never ends, and has not moved for as
  // long as `grid` is patient.
  bool continues(Grid& grid, Block& block, bool moves, bool& compares);
  // A block has begun or ended.
  void ends();

private:
  using Clock = std::chrono::steady_clock;
  void begin_period(Clock::time_point now);

  std::atomic<bool> looks_ = false;
  std::mutex mutex_; // of what follows
  Clock::time_point since_{}, next_look_{};
  std::uint64_t period_ = 0, blocks_that_recur_ = 0;
};

} // namespace warpfold::machine
