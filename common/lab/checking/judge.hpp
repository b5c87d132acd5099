// Whether what came of a run is right, in numbers and in words.
#pragma once

#include "checking/run.hpp"
#include "result.hpp"

namespace lab {

// What a row (or the one array) should give, and how far from it is still right: 0 where it must be exact.
struct Expectation {
  Reference reference;
  double tolerance = 0;
  double depth = 0; // roundings on the longest path from an element to the result
};
Expectation expect(const Rung& rung, const Case& given, const Sequence& input, std::size_t row);

// Sets `ok` and the message of the check by the first thing that is wrong: an error, a result, what was
// written where nothing must be.
void judge(const Rung& rung, const Case& given, const Sequence& input, const Outcome& outcome, Check& check);

// The same bits from three runs on the same input.
Check check_same_bits(const Variant& variant, const Case& given, const Sequence& input);

// The same bits with any number of threads per block: two numbers of them may give the same by chance.
Check check_any_block(const Rung& rung, const Variant& variant, Case given, const Sequence& input);

} // namespace lab
