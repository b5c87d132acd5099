// What a wrong number looks like. A sentence is given only where the evidence holds, and with the evidence.
#pragma once

#include "run.hpp"

namespace lab {

struct Symptom {
  const Case& given;
  const Sequence& input;
  double expected = 0, tolerance = 0;
  double got = 0;
  std::vector<double> again; // results of further runs on the same input
};

// "" where nothing fits.
std::string diagnose(const Symptom& symptom);

} // namespace lab
