// Loads for a printf alone, as when a program is being debugged: they are no part of what a kernel does.
#pragma once

#include "ptx/module.hpp"

#include <vector>

namespace warpfold::ptx {

// By instruction of the body: whether it loads values that go nowhere but into a printf's arguments, which
// lie in local memory.
std::vector<bool> printed_loads(const Module& module, const Function& function);

} // namespace warpfold::ptx
