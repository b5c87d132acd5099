// Whether a rung is right, and if not, why: all its cases are judged, and then the reason is looked for.
#pragma once

#include "input/options.hpp"
#include "judge/progress.hpp"

namespace lab {

struct Checked {
  std::vector<Check> checks;
  bool device_lost = false;  // nothing more can be run in this process
  bool not_a_number = false; // a result is a NaN, where the input and the sum's poison are none
};

Checked check_rung(const Rung& rung, const Options& options, Progress& progress);

} // namespace lab
