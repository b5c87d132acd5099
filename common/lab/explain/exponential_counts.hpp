// How often the exponential of each element counts in the sum that a softmax divides by.
#pragma once

#include "explain/value_graph.hpp"
#include "input/case.hpp"
#include "run/runner.hpp"

#include <string>

namespace lab {

// In a sentence, if not each counts once; "" if they do, or if the values that were followed do not make that
// sum. `result`: one that is wrong by its divisor alone.
std::string counts_of_exponentials(const ValueGraph& graph, const Outcome& outcome, const Case& given,
                                   const Sequence& input, std::size_t result);

// Whether one thread has made both results.
bool are_of_one_thread(const ValueGraph& graph, std::size_t result, std::size_t other);

} // namespace lab
