// How often each element counts in a wrong sum.
//
// A sum that is wrong in the same way whatever the elements are is a weighed one: element i counts w(i)
// times, and a constant may be added. The weights are found by runs on inputs that are 0 but for a few
// places, and are believed only where they give the wrong results on other inputs to the bit. What is said of
// them is a fact about the rung, whichever mistake is behind it.
#pragma once

#include "diagnosis/diagnosis.hpp"

#include <functional>
#include <optional>

namespace lab {

struct Weights {
  std::vector<double> of; // each element's
  double constant = 0;
};

// Nothing where the results are no weighed sum, or depend on who came first, or `result_on` has no more time.
std::optional<Weights> find_weights(const Symptom& symptom,
                                    const std::function<std::optional<double>(const Sequence&)>& result_on);

// In words: "elements 256 to 999 count twice".
Diagnosis describe(const Weights& weights, const Symptom& symptom);

} // namespace lab
