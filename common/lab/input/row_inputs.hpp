// The inputs of rungs whose results are rows (RowFunction), and of all others.
//
// Scores: numbers from -8 to 8, as a model's scores may be; the results round. A special case in each row:
// rows of equal elements, of very large and very negative ones, with one element far above the others, with
// masked elements (-inf) here, at the front or everywhere but at one place, all masked, and with a NaN.
// Masked: in each row a power of two of equal elements, the others masked, so that each step of a softmax is
// exact.
#pragma once

#include "input/case.hpp"

namespace lab {

// What a rung is counted and timed with.
inline Kind usual_kind(const Rung& rung) {
  return rung.row_function == RowFunction::none ? Kind::exact : Kind::scores;
}

Sequence make_input(const Rung& rung, const Variant& variant, const Case& given, std::uint64_t seed);

// What is special about a row of Kind::special_rows, in words.
std::string_view special_case(RowFunction function, std::size_t row);
// How many such cases there are.
std::size_t special_cases(RowFunction function);

} // namespace lab
