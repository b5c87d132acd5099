// Why a result is wrong, from where its values came from and went: which elements count how often in it, and
// the events that made it so.
#pragma once

#include "explain/diagnosis.hpp"
#include "run/runner.hpp"

#include <string_view>

namespace lab {

// The kind of a diagnosis: such a call needs no elements to be wrong.
constexpr std::string_view library_type_differs = "library-type", host_adds_wrongly = "host-adds";

// The results of `outcome` are those of a run with values followed, and that of `row` is wrong. Its kind is
// empty if they do not show why: the graph must explain the result to the bit.
Diagnosis from_values(const Outcome& outcome, const Case& given, const Sequence& input, std::size_t row = 0);

} // namespace lab
