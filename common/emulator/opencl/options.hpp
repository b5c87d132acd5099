// The options of clBuildProgram, clCompileProgram and clLinkProgram (OpenCL 1.2, section 5.6.4).
#pragma once

#include <string>
#include <vector>

namespace warpfold::opencl {

// The options as words for Clang. Throws Refusal with `error`, and names the option that it does not know.
std::vector<std::string> parse_options(const char* options, int error);

// Those of them that also matter when the program is translated from LLVM's language.
std::vector<std::string> options_of_linking(const std::vector<std::string>& options);

} // namespace warpfold::opencl
