// Whether a rung is right: on which inputs it is tried, and what is said about each.
#pragma once

#include "checking/run.hpp"
#include "command_line.hpp"
#include "result.hpp"

namespace lab {

struct Checked {
  std::vector<Check> checks;
  bool device_lost = false; // nothing more can be run in this process
};
Checked check_rung(const Rung& rung, const Options& options);

// A rung whose kernel is to leave the operator to its caller, tried with another one.
std::vector<Check> check_other_operators(const Rung& rung, const Options& options);

// The cases that a variant is tried on, smallest first (tests look at them).
std::vector<Case> cases_for(const Rung& rung, const Variant& variant, const Options& options);

} // namespace lab
