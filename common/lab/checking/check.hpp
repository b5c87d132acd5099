// Whether a rung is right: it is tried case by case, and where it is wrong the reason is looked for.
#pragma once

#include "checking/progress.hpp"
#include "command_line.hpp"

namespace lab {

struct Checked {
  std::vector<Check> checks;
  bool device_lost = false; // nothing more can be run in this process
};

// Small inputs come first. Where one gives a wrong result, larger ones are tried only as long as they help to
// find the reason, and not for longer than a few seconds.
Checked check_rung(const Rung& rung, const Options& options, Progress& progress);

// A rung whose kernel is to leave the operator to its caller, tried with another one.
std::vector<Check> check_other_operators(const Rung& rung, const Options& options);

} // namespace lab
