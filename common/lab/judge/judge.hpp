// Whether the outcome of a run is right, in numbers and in words.
#pragma once

#include "judge/check.hpp"
#include "run/runner.hpp"

namespace lab {

// A check of this case, still to be made.
Check check_for(const Case& given, const std::string& prefix = "");

// What a row (or the one array) should give, and how far from that a result may be: 0 if it must be exact.
struct Expectation {
  Reference reference;
  double tolerance = 0;
  double depth = 0; // roundings on the longest path from an element to the result
};
Expectation expect(const Rung& rung, const Case& given, const Sequence& input, std::size_t row);
bool is_right(const Expectation& expected, double got);

// Sets the check's `ok` and message by the first thing that is wrong: an error, a result, or a write where
// nothing may be written.
void judge(const Rung& rung, const Case& given, const Sequence& input, const Outcome& outcome, Check& check);

// The same bits from three runs on the same input.
// `device_lost` is set if a run loses the device.
Check check_same_bits(const Variant& variant, const Case& given, const Sequence& input, bool& device_lost);

// The same bits with any number of threads per block: several are tried, since two may agree by chance.
Check check_any_block(const Rung& rung, const Variant& variant, Case given, const Sequence& input,
                      bool& device_lost);

} // namespace lab
