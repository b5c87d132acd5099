// Runs a rung on one input in this process, with everything around it that can show a mistake.
#pragma once

#include "run/runner.hpp"

namespace lab {

// The message for a run that does not end.
std::string no_end();

// Calls a rung's host function. What it throws would otherwise end the program without a verdict; of what is
// no std::exception, std::terminate makes a crash.
void call_host_function(const Variant& variant, const Arguments& arguments);

// From now on, a variant's invocation runs no student's code in this process: what it throws is no verdict on
// the student, but the grader's own failure.
void host_functions_run_elsewhere();

// The rung's launches and nothing else, on memory that is already there; returns when the device has
// finished, or all of these. Throws DeviceError.
void launch_and_wait(const Variant& variant, const Arguments& arguments, Shards devices = {nullptr, 0});

} // namespace lab
