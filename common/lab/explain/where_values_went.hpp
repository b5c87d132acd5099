// Why a result is wrong, from where its values came from and went: which elements count how often in it, and
// the events that made it so.
#pragma once

#include "explain/diagnosis.hpp"
#include "run/runner.hpp"

#include <string_view>

namespace lab {

// The kind of a diagnosis: such a call needs no elements to be wrong.
constexpr std::string_view library_told_another_type = "library-type", host_adds_wrongly = "host-adds";

// The results of `outcome` are those of a run with values followed, and that of `row` is wrong. Its kind is
// empty if they do not show why: the graph must explain the result to the bit.
Diagnosis from_values(const Outcome& outcome, const Case& given, const Sequence& input, std::size_t row = 0);

// Which elements of its row a result of a function of rows has nothing of, in a sentence; "" if there are
// none.
std::string unreached_elements(const Outcome& outcome, const Case& given, const Sequence& input,
                               std::size_t result);

// The first step on the way to a result that makes an infinity or a NaN of what is none; "" if there is none.
std::string first_not_finite(const Outcome& outcome, const Case& given, const Sequence& input,
                             std::size_t result);

} // namespace lab
