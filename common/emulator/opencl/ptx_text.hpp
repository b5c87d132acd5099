// PTX as LLVM writes it.
#pragma once

#include <string>
#include <vector>

namespace warpfold::opencl {

// The functions that it calls and does not define, apart from printf.
std::vector<std::string> undefined_functions(const std::string& ptx);

} // namespace warpfold::opencl
