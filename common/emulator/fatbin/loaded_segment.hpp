#pragma once

#include <cstddef>

namespace warpfold::fatbin {

// How many bytes may be read from `address` on, within the segment of the program or library that contains
// it: a damaged size must not lead past the segment. The greatest value if the address belongs to no loaded
// file (the heap).
std::size_t readable_bytes(const void* address);

} // namespace warpfold::fatbin
