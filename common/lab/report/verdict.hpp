// What was found about a rung, and the state that follows from it.
#pragma once

#include "report/result.hpp"

namespace lab {

struct Findings {
  std::vector<Check> checks; // of its results
  std::vector<Hazard> hazards;
  std::vector<Check> technique; // of its promises
  std::string slow;             // "", or how far it stays below the bandwidth that it promises
  std::optional<Profile> profile;
  std::optional<Timing> timing;
  bool device_lost = false; // nothing more can be run in this process
};

// Null if none has.
const Check* first_failed(const std::vector<Check>& checks);

// The first of these that applies decides: a wrong result, a hazard, a broken promise, too little bandwidth.
Result verdict_on(std::string rung, Findings findings);

} // namespace lab
