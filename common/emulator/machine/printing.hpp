// printf in kernels: CUDA's vprintf(format, arguments), and OpenCL's printf(format, ...).
#pragma once

#include "warp.hpp"

namespace warpfold::machine {

// The arguments lie one behind the other in memory, each aligned to its size: vprintf, and OpenCL's printf as
// newer Clangs call it (19 does, 15 does not). OpenCL prints vectors by "%v4d" and the like (OpenCL C 1.2,
// section 6.12.13.2).
template <bool InOpenCL>
const Operation* print_from_memory(Warp& warp, const Operation* op);

// OpenCL's printf as older Clangs call it: each argument is a parameter.
const Operation* print_parameters(Warp& warp, const Operation* op);

// As Clang 18 calls it: all arguments are in one parameter.
const Operation* print_packed(Warp& warp, const Operation* op);

} // namespace warpfold::machine
