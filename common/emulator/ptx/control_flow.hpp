// Basic blocks of a function and where diverged lanes reconverge.
#pragma once

#include "ptx/module.hpp"

#include <cstdint>
#include <vector>

namespace warpfold::ptx {

struct BasicBlock {
  std::uint32_t begin = 0, end = 0;      // instruction indices, [begin, end)
  std::vector<std::uint32_t> successors; // block indices
  // Index of the immediate post-dominator block; `none` if lanes reconverge only at the function's end.
  // Lanes that leave on the way (an early `ret`, a failed assertion) are not waited for: post_dominators.hpp
  // gives the rule.
  std::uint32_t post_dominator = none;
  static constexpr std::uint32_t none = 0xffffffff;
};

// Blocks in the order of the text. A block begins at each branch target and after each branch, return, exit,
// trap and call: what follows a call is a block of its own, since fewer lanes may come back. `bra`, `brx`,
// `ret`, `exit` and `trap` end one; a guarded `ret`/`exit`/`trap` falls through too.
std::vector<BasicBlock> basic_blocks(const Function& function);

} // namespace warpfold::ptx
