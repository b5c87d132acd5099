// Loads of values that are copied as a whole, as those of a structure are: with the bytes between its
// members, which are never set and never read.
#pragma once

#include "ptx/module.hpp"

#include <vector>

namespace warpfold::ptx {

// By instruction of the body: whether it loads a register that is only stored, passed on, or cut off to fewer
// bits.
std::vector<bool> copied_loads(const Function& function);

} // namespace warpfold::ptx
