// Why a result is wrong, from where its values came from and went: which elements count how often in it, and
// the events that made it so.
#pragma once

#include "explain/diagnosis.hpp"
#include "explain/value_graph.hpp"
#include "run/runner.hpp"

#include <string_view>

namespace lab {

// The kind of a diagnosis: such a call needs no elements to be wrong.
constexpr std::string_view library_told_another_type = "library-type", host_adds_wrongly = "host-adds";

// The results of `outcome` are those of a run with values followed, and that of `row` is wrong. Its kind is
// empty if they do not show why: the graph must explain the result to the bit.
Diagnosis from_values(const Outcome& outcome, const Case& given, const Sequence& input, std::size_t row = 0);

// The following four are of one result, and of a complete graph that has it.
//
// Which elements of its row a result of a function of rows has nothing of, in a sentence; "" if there are
// none.
std::string unreached_elements(const ValueGraph& graph, const Outcome& outcome, const Case& given,
                               const Sequence& input, std::size_t result);
// The first use on the way to it of a result in which nothing has been stored; "" if there is none.
std::string unwritten_result_read(const ValueGraph& graph, const Outcome& outcome, const Case& given,
                                  const Sequence& input, std::size_t result);
// The first conversion to an integer on the way to it that changes the number; "" if there is none.
std::string cut_off_on_the_way(const ValueGraph& graph, const Outcome& outcome, const Case& given,
                               const Sequence& input, std::size_t result);
// The first step on the way to it that makes an infinity or a NaN of what is none; "" if there is none.
std::string first_not_finite(const ValueGraph& graph, const Outcome& outcome, const Case& given,
                             const Sequence& input, std::size_t result);

} // namespace lab
