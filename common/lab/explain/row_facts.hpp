// What can be said of a row that a function of rows (RowFunction) got wrong, from its numbers alone.
#pragma once

#include "judge/case_judge.hpp"
#include "judge/check.hpp"

#include <string_view>

namespace lab {

constexpr std::string_view infinite_result = "infinite-result"; // the kind of a diagnosis

// The kind is empty if the numbers show nothing but that they are wrong.
Diagnosis facts_of_row(const Rung& rung, const Failure& failure, const Sequence& input);

} // namespace lab
