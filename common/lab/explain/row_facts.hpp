// What can be said of a row that a function of rows (RowFunction) got wrong, from its numbers alone.
#pragma once

#include "judge/case_judge.hpp"
#include "judge/check.hpp"

#include <optional>
#include <string_view>

namespace lab {

constexpr std::string_view unwritten_results = "unwritten-results"; // a kind

// The kind is empty if the numbers show nothing but that they are wrong.
Diagnosis facts_of_row(const Rung& rung, const Failure& failure, const Sequence& input);

// The first result of that row that is wrong: one that is infinite or NaN and should not be, if there is one.
std::optional<std::size_t> first_wrong_result(const Rung& rung, const Failure& failure,
                                              const Sequence& input);

} // namespace lab
