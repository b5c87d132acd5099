// Which item does the work: a kernel's text, changed so that each item counts what it does.
#pragma once

#include <string>

namespace lab::opencl {

// The same kernels, each with one more parameter in front, `global uint* lab_uses`: within the student's
// regions, each time that an item names one of the kernel's arrays of floats it adds one to the element that
// bears its global id.
std::string with_counts(const std::string& source);

} // namespace lab::opencl
