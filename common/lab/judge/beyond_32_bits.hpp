// Whether a rung's indices hold beyond 2^32 elements, where a number of 32 bits starts again at 0.
#pragma once

#include "input/options.hpp"
#include "judge/check.hpp"
#include "run/runner.hpp"

#include <optional>

namespace lab {

// To run all blocks would take the emulator hours, so only those at the ends of each launch run
// (machine/schedule.hpp), on zeros with some numbers where a rung that keeps its promises has these blocks
// look. Nothing is said of a rung that has not been found right with fewer elements.
std::optional<FurtherCheck> check_beyond_32_bits(const Rung& rung, const Options& options);

} // namespace lab
