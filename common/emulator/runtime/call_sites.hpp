// Where in the program's source a call of this library stands.
#pragma once

#include "machine/machine.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace warpfold::runtime {

// The return addresses of those who called this library, the nearest first, as far as they are outside of it.
std::vector<std::uint64_t> callers();

// The line of the nearest of them that the program's authors wrote; none where it was built without -g.
// `kernel`: the function that starts it, as the compiler made it, is passed over ("scale(float*, int)").
// Takes long: asks addr2line.
machine::SourceLine line_of(const std::vector<std::uint64_t>& frames, const std::string& kernel);

} // namespace warpfold::runtime
