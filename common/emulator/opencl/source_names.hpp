// Which file a source text comes from: OpenCL takes text alone, and reports should name lines of a file.
#pragma once

#include <string>

namespace warpfold::opencl {

// The source, after a #line that names the .cl file that holds exactly this text: among the program's
// arguments, in the working folder or beside the executable. Without such a file, the source itself.
std::string with_name(const std::string& source);

} // namespace warpfold::opencl
