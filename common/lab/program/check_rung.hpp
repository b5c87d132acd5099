// Whether a rung is right: it is tried case by case, and if it is wrong, the reason is looked for.
#pragma once

#include "judge/progress.hpp"
#include "program/command_line.hpp"

namespace lab {

struct Checked {
  std::vector<Check> checks;
  bool device_lost = false;  // nothing more can be run in this process
  bool not_a_number = false; // a result is a NaN, where the input and the sum's poison are none
};

// Small inputs come first. Once one gives a wrong result, larger ones are tried only if they help to find the
// reason, and only for a few seconds.
Checked check_rung(const Rung& rung, const Options& options, Progress& progress);

// Tries a rung whose kernel must take the operator from its caller with another operator.
std::vector<Check> check_other_operators(const Rung& rung, const Options& options);

} // namespace lab
