// PTX as LLVM writes it.
#pragma once

#include <string>
#include <vector>

namespace warpfold::opencl {

// LLVM puts labels of debug information into the middle of calls, where PTX has none. This moves them before
// the call.
std::string with_labels_before_calls(const std::string& ptx);

// The functions that it calls and does not define, apart from printf.
std::vector<std::string> undefined_functions(const std::string& ptx);

} // namespace warpfold::opencl
