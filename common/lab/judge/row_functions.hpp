// What a function of rows (RowFunction) should give, and how far a result may be from it.
#pragma once

#include "input/row_inputs.hpp"
#include "judge/check.hpp"

#include <optional>
#include <span>
#include <vector>

namespace lab {

// For each element of a row: what it should become, and by how much it may be off: 0 if it must be exact. A
// NaN should become a NaN. The bounds are derived in docs/handouts/13_softmax.md.
struct ExpectedRow {
  std::vector<double> values, tolerances;
  double largest = 0; // of a softmax: the row's maximum, and the sum of the exponentials
  double sum = 0;
};
ExpectedRow expect_row(const Rung& rung, const Case& given, const Sequence& input, std::size_t row);

// The first column that is wrong.
std::optional<std::size_t> first_wrong(const ExpectedRow& expected, std::span<const double> results);

// Sets the check's `ok` and message by the first result that is wrong.
void judge_rows(const Rung& rung, const Case& given, const Sequence& input, std::span<const double> results,
                Check& check);

} // namespace lab
