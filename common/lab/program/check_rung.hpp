// Whether a rung is right, and if not, why: all its cases are judged, and then the reason is looked for.
#pragma once

#include "input/options.hpp"
#include "judge/progress.hpp"
#include "run/recorded.hpp"

#include <vector>

namespace lab {

struct Checked {
  std::vector<Check> checks;
  std::vector<Hazard> hazards; // that the emulator recorded meanwhile
  bool device_lost = false;    // nothing more can be run in this process
  bool not_a_number = false;   // a result is a NaN, where the input and the sum's poison are none
};

Checked check_rung(const Rung& rung, const Options& options, Progress& progress);

// The same for a rung that is wrong on purpose: it must be right with one work-group, and with several either
// the emulator names the race, or some of many results are wrong. The last check says which.
Checked check_wrong_on_purpose(const Rung& rung, const Options& options, Progress& progress);

} // namespace lab
