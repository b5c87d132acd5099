// Runs rungs whose kernels are in OpenCL C.
#pragma once

#include "opencl.hpp"
#include "run/runner.hpp"

namespace lab::opencl {

// `kernels`: the path of the .cl file.
std::unique_ptr<Runner> make_runner(std::string kernels);

// A rung's host function, for that runner.
Variant variant_of(void (*reduce)(Run& run));

} // namespace lab::opencl
