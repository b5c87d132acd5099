// The two processes of a graded lab program. One has the emulator, the student's PTX and the connection to
// the student's host code, and runs the cases that it is given. The other makes the inputs, keeps the
// expected values and the answer, and takes nothing but numbers from the first: whatever a mistake in the
// emulator lets a kernel write, it writes into the first.
#pragma once

#include "promises/rung.hpp"

#include <span>

namespace lab {

struct Options;

// Splits this process, which has an emulator and no student's code yet, in two. Returns in the one that
// judges, whose runner then is the other. That one ends with this one. Without a student's host functions (in
// OpenCL), the other one keeps the runner in use. Throws HostLost, and std::runtime_error if the PTX cannot
// be read.
void split_off_device(std::span<Rung> rungs, const Options& options, char** argv);

} // namespace lab
