// Runs rungs whose kernels are in OpenCL C.
#pragma once

#include "opencl.hpp"
#include "run/runner.hpp"

namespace lab::opencl {

std::unique_ptr<Runner> make_runner();

// A rung's host function, for that runner.
Variant variant_of(void (*reduce)(Run& run));

} // namespace lab::opencl
