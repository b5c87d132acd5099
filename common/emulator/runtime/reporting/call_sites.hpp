// Finds where in the program's source this library was called.
#pragma once

#include "machine/machine.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace warpfold::runtime {

// The return addresses of this library's callers that are outside of it, the nearest first.
std::vector<std::uint64_t> callers();

// The line of the nearest of them that the program's authors wrote; none if it was built without -g.
// `kernel`: the function that the compiler made to start it is skipped ("scale(float*, int)").
// This is slow, because it runs addr2line.
machine::SourceLine line_of(const std::vector<std::uint64_t>& frames, const std::string& kernel);

// The function that the program called of another library, if it is that which called this one: "ncclReduce".
std::string library_function(const std::vector<std::uint64_t>& frames);

} // namespace warpfold::runtime
