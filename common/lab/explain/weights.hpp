// How often each element counts in a wrong sum.
//
// A sum that is wrong in the same way whatever the elements are is a weighted sum: element i counts w(i)
// times, and a constant may be added. The weights are found by runs on inputs that are 0 except in a few
// places, and are believed only if they reproduce the wrong results on other inputs to the bit. They are
// facts about the rung, whichever mistake is behind them.
#pragma once

#include "explain/diagnosis.hpp"

#include <functional>
#include <optional>

namespace lab {

struct Weights {
  std::vector<double> of; // each element's
  double constant = 0;
};

// Nothing if the results are not a weighted sum or depend on the order of the threads, or if `result_on` has
// run out of time.
std::optional<Weights> find_weights(const Symptom& symptom,
                                    const std::function<std::optional<double>(const Sequence&)>& result_on);

// In words: "elements 256 to 999 count twice".
Diagnosis describe(const Weights& weights, const Symptom& symptom);

} // namespace lab
