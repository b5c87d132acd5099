// Which accesses of a kernel belong to one step of its work, as far as its text tells.
#pragma once

#include "machine/code.hpp"

namespace warpfold::analysis {

// Whether two threads that execute these two with no barrier in between are in the same step: a load and the
// first store after it in the same line and the same round of a loop, with no way back to the load without a
// barrier. `of_warp`: with no barrier of the block or of a warp.
bool are_in_one_step(const machine::Code& code, const machine::Operation& load,
                     const machine::Operation& store, bool of_warp);

} // namespace warpfold::analysis
