// Finds out which item does the work: changes a kernel's text so that each item counts what it does.
#pragma once

#include <string>

namespace lab::opencl {

// The same kernels, each with one more parameter in front, `global uint* lab_uses`. Within the student's
// regions, an item that uses one of the kernel's arrays of floats adds one to the element of lab_uses with
// its global id.
std::string with_counts(const std::string& source);

// The same kernels with `global uint* lab_met` in front: in place of waiting at a barrier, an item counts it,
// and whether it names global and local memory, in the three elements of lab_met that belong to its global
// id. No item waits, so a barrier that some items never reach does no harm; the sums are meaningless then.
std::string with_barriers_counted(const std::string& source);

} // namespace lab::opencl
