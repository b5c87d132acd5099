// A launch in words: the call, its arguments, and which of them explains a fault.
#pragma once

#include "runtime/launches/launch.hpp"

namespace warpfold::runtime {

// "sum(float const*, unsigned long)" as "sum<<<4, 256>>>(input (4000 bytes), 1000)": a pointer by the array
// it points to.
std::string call_in_words(const PreparedLaunch& launch);

// The argument of this launch without which the fault would not be, if there is one: a null pointer; the
// number of blocks, where the index is the block's number and the array has fewer elements; or a number that
// is larger than the array, where the index beyond its end is smaller than that number. Swapped: so it is,
// and another array, passed for a parameter of the same type, has that many elements. Overflowed: the access
// is before an array, at an index of 32 bits, and 2^32 elements further on it would be within.
machine::Fault::Argument argument_behind(const machine::Fault& fault, const PreparedLaunch& launch);

// Whether the argument at this byte of the parameters is a pointer to char, so that an index counts bytes.
bool points_to_bytes(const PreparedLaunch& launch, std::int64_t at);

} // namespace warpfold::runtime
