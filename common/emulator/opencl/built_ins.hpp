// OpenCL C that is linked to programs beside libclc, for what that has not or has in a form that does not
// suit.
#pragma once

#include <string>

namespace warpfold::opencl {

// Ids and sizes of launches with an offset, or whose number of dimensions matters; libclc's know neither.
// They read the variable `launch_values_name`, which the driver sets before a launch: ulong [4], the global
// offset and the number of dimensions.
constexpr const char* launch_values_name = "warpfold_launch_values";
std::string launch_values_source();

// The native_ functions, which LLVM translates for no GPU in libclc's form; what libclc lacks, such as
// mad_hi; and what it or LLVM makes something wrong of, such as ldexp of doubles.
std::string own_functions_source();
// Whether a program in LLVM's language may call one of them.
bool may_need_own_functions(const std::string& llvm);

} // namespace warpfold::opencl
