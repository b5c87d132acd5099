// Runs a rung on one input in this process, with everything around it that can show a mistake.
#pragma once

#include "run/runner.hpp"

namespace lab {

// The message for a run that does not end.
std::string no_end();

// The rung's launches and nothing else, on memory that is already there; returns when the device has
// finished, or all of these. Throws CudaError.
void launch_and_wait(const Variant& variant, const Arguments& arguments, Shards devices = {nullptr, 0});

} // namespace lab
