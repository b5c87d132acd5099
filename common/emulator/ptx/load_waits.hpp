// Which loads a warp waits for apart, as far as the text of the program tells.
#pragma once

#include "ptx/control_flow.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace warpfold::ptx {

// For each instruction of the body: 1 for a load of global memory with which a wait begins, 0 for one that is under
// way together with a load before it, and for everything else.
//
// NVIDIA's assembler moves loads up within a basic block, so that they wait together, unless the address (or the
// guard) of one comes out of the value of another, or something between them orders memory: a store, an atomic, a
// barrier, a fence or a call. It has been seen to do so; it is not written down. Across blocks it moves nothing.
std::vector<std::uint8_t> load_waits(const Function& function, std::span<const BasicBlock> blocks);

}  // namespace warpfold::ptx
