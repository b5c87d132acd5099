// Finds out which item does the work: changes a kernel's text so that each item counts what it does.
#pragma once

#include <string>

namespace lab::opencl {

// The same kernels, each with one more parameter in front, `global uint* lab_uses`. Within the student's
// regions, an item that uses one of the kernel's arrays of floats adds one to the element of lab_uses with
// its global id.
std::string with_counts(const std::string& source);

} // namespace lab::opencl
