// Which loads a warp waits for separately, as far as the PTX shows.
#pragma once

#include "ptx/control_flow.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace warpfold::ptx {

// For each instruction of the body: 1 for a load from global memory with which a wait begins, 0 for a load
// that is in flight together with an earlier one, and for everything else.
//
// NVIDIA's assembler moves loads up within a basic block, so that they wait together, unless the address (or
// the guard) of one depends on the value of another, or something between them orders memory: a store, an
// atomic, a barrier, a fence or a call. This is observed, not documented. It moves nothing across basic
// blocks; but a warp goes on with a load in flight until something uses its value, so loads under a condition
// each wait together too, unless the block of one uses it before the next. A mov is no use: it mostly only
// names the register that a value is in behind the branch.
std::vector<std::uint8_t> load_waits(const Function& function, std::span<const BasicBlock> blocks);

} // namespace warpfold::ptx
