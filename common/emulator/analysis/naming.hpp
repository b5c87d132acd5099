// Names for addresses, in the program's own terms.
#pragma once

#include "machine/block.hpp"

#include <string>

namespace warpfold::analysis {

// "sdata[37]": the variable in shared memory at `offset`, its elements `width` bytes wide.
std::string shared_name(const machine::Code& code, std::uint64_t offset, unsigned width);
// "element 37 of allocation 2 (4096 bytes)".
std::string global_name(const machine::AddressSpace& memory, std::uint64_t address, unsigned width);
// As a string of JSON.
std::string quoted(const std::string& text);

} // namespace warpfold::analysis
