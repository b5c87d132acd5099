// Whether a rung keeps its promises, by what the items count while it runs.
#pragma once

#include "judge/check.hpp"
#include "opencl/rung.hpp"
#include "program/command_line.hpp"

namespace lab::opencl {

// Runs once more with items that count, and compares the rung's promises with the counts: a check for each.
std::vector<Check> check_technique(const Rung& rung, const Options& options);

} // namespace lab::opencl
