// Names for addresses and threads, in the program's own terms.
#pragma once

#include "machine/block.hpp"

#include <string>

namespace warpfold::watch {

// "sdata[37]": the variable in shared memory at `offset`, its elements `width` bytes wide.
std::string shared_name(const machine::Code& code, std::uint64_t offset, unsigned width);
// "element 37 of allocation 2 (4096 bytes)".
std::string global_name(const machine::AddressSpace& memory, std::uint64_t address, unsigned width);
// "thread 37 of block 0", or "thread (1, 2, 0) of block (0, 3, 0)" if the block or the grid has more than one
// dimension.
std::string thread_name(const machine::LaunchShape& shape, std::uint64_t block, unsigned warp, unsigned lane);

// As a string of JSON.
std::string quoted(const std::string& text);

} // namespace warpfold::watch
