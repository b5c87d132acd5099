// Loads that a compiler has moved up before the question whether their value is needed.
#pragma once

#include "ptx/control_flow.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace warpfold::ptx {

// A thread needs what it loads only if this predicate register holds `!negated`; -1: always.
struct Chooser {
  std::int32_t predicate = -1;
  bool negated = false;
};

// By instruction of the body. `x = found ? place : 0`, and a branch like it, becomes a load of the place and
// then a selp, where the compiler knows that the load does no harm. All that uses the loaded value is that
// selp, in the same basic block, and its predicate is known before the load.
std::vector<Chooser> choosers(const Function& function, std::span<const BasicBlock> blocks);

} // namespace warpfold::ptx
