// Loads of a vector that is only stored again, with other elements changed: Clang makes such a load and a
// store of `output[i].xy = ...`, which reads nothing in OpenCL C.
#pragma once

#include "ptx/module.hpp"

#include <vector>

namespace warpfold::ptx {

// By instruction of the body: whether it loads a vector of which some elements are stored where they came
// from, and nothing else happens to any of them.
std::vector<bool> restored_loads(const Function& function);

} // namespace warpfold::ptx
