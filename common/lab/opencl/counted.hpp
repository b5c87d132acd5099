// Which item does the work: a kernel's text, changed so that each item counts what it does.
#pragma once

#include <string>

namespace lab::opencl {

// The same kernels, each with one more parameter in front, `global uint* lab_uses`: within the student's
// regions, each time that an item names one of the kernel's arrays of floats it adds one to the element that
// bears its global id.
std::string with_counts(const std::string& source);

// The same kernels with `global uint* lab_met` in front: in place of each barrier, an item counts that it has
// come to one, and whether that names global and local memory, in the three elements of its global id. Nobody
// waits, so that a barrier which some items never reach does no harm; the sums are of no use then.
std::string with_barriers_counted(const std::string& source);

} // namespace lab::opencl
