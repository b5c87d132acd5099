// Whether a rung is right: it is tried case by case, and if it is wrong, the reason is looked for.
#pragma once

#include "judge/progress.hpp"
#include "opencl/context.hpp"
#include "opencl/rung.hpp"
#include "program/command_line.hpp"

namespace lab::opencl {

// Each check goes to `progress`. A rung that is wrong on purpose is tried until it is.
void check_rung(const Rung& rung, const Device& device, const Options& options, Progress& progress);

// A rung that is right for only one order of a group's items is right by luck. Says so, or returns "".
std::string luck_of(const Rung& rung, const Device& device, const Options& options);

} // namespace lab::opencl
