// printf in kernels: CUDA's vprintf(format, arguments), and OpenCL's printf(format, ...).
#pragma once

#include "warp.hpp"

namespace warpfold::machine {

// vprintf: the arguments lie one behind the other in memory, each aligned to its size.
const Operation* print_from_memory(Warp& warp, const Operation* op);

// printf: each argument is a parameter; vectors are printed by "%v4d" and the like (OpenCL C 1.2,
// section 6.12.13.2).
const Operation* print_parameters(Warp& warp, const Operation* op);

} // namespace warpfold::machine
