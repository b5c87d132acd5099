// The order in which blocks, the warps of a block and the sides of a branch get their turn. The hardware
// guarantees none; a correct program gives the same result under each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace warpfold::machine {

struct Schedule {
  enum class Order : std::uint8_t { forwards, backwards, shuffled };
  Order order = Order::forwards;
  std::uint64_t seed = 0;  // of a shuffled one
  bool alternates = false; // each warp gives way when it has looked at what others may write
  // Only the blocks at the ends of a grid run, which may be too large for all of them: the first and the
  // last, and of more than a million blocks three in the middle as well.
  bool ends_only = false;

  // Which of `count` has turn number `turn`. `salt` makes one shuffle differ from the next.
  std::uint64_t at(std::uint64_t turn, std::uint64_t count, std::uint64_t salt = 0) const;
  // The same for blocks, and how many of them have a turn.
  std::uint64_t block_at(std::uint64_t turn, std::uint64_t count) const;
  std::uint64_t block_turns(std::uint64_t count) const;
  // At a branch at which lanes diverge, the side that is taken runs first.
  bool takes_branches_first(std::uint64_t salt) const;
};

// "forwards", "backwards", "shuffled:SEED" or "ends"; nothing for anything else.
std::optional<Schedule> parse_schedule(std::string_view text);

} // namespace warpfold::machine
