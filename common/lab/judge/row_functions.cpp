#include "judge/row_functions.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace lab {
namespace {

constexpr double unit = 0x1p-24; // every step is in float, whatever the elements are
constexpr double least_normal = 0x1p-126;
constexpr double second_order = 1.01; // products of errors

// An element of a bfloat16 matrix is rounded once more, at the end.
double with_last_rounding(Type type, double value, double relative) {
  const double of_type = type == Type::bfloat16 ? unit_roundoff(type) : 0;
  return std::abs(value) * (second_order * relative + of_type) + 4 * least_normal;
}

// The roundings on the longest path from an element to the row's sum.
double depth_of(const Rung& rung, const Case& given, std::size_t columns) {
  const double most = columns > 0 ? static_cast<double>(columns) - 1 : 0;
  return rung.error_depth ? std::min(most, rung.error_depth(rung.size(given.n, given.block, 0, given.rows)))
                          : most;
}

ExpectedRow softmax(std::span<const double> row, Type type, bool is_exact, double depth) {
  ExpectedRow expected;
  expected.largest = -std::numeric_limits<double>::infinity();
  for (const double x : row) expected.largest = std::max(expected.largest, x);
  double far = 0; // the mean distance from the maximum, weighted as the sum is
  for (const double x : row) {
    const double below = expected.largest - x, term = std::exp(-below);
    expected.sum += term;
    if (term > 0) far += term * below;
  }
  far /= expected.sum;
  for (const double x : row) {
    const double below = expected.largest - x, value = std::exp(-below) / expected.sum;
    // An exponential is off by (4 + 4 below) units, a join of two partial sums by 6.
    const double relative = unit * (4 + 4 * below + 6 * (depth + 2) + 4 * far);
    expected.values.push_back(value);
    expected.tolerances.push_back(is_exact ? 0 : with_last_rounding(type, value, value > 0 ? relative : 0));
  }
  return expected;
}

ExpectedRow rms_norm(std::span<const double> row, Type type, double depth) {
  ExpectedRow expected;
  for (const double x : row) expected.sum += x * x;
  const double root = std::sqrt(expected.sum / static_cast<double>(row.size()) + rms_norm_epsilon);
  for (const double x : row) {
    expected.values.push_back(x / root);
    // The root halves the error of what is under it, and its reciprocal may be off by two more.
    expected.tolerances.push_back(with_last_rounding(type, x / root, unit * (depth / 2 + 8)));
  }
  return expected;
}

bool is_right(double expected, double tolerance, double got) {
  if (std::isnan(expected)) return std::isnan(got);
  return got == expected || std::abs(got - expected) <= tolerance;
}

int digits_that_differ(double a, double b) {
  int digits = 6;
  while (digits < 17 && fmt::format("{:.{}g}", a, digits) == fmt::format("{:.{}g}", b, digits)) ++digits;
  return digits;
}

// "row 3, column 17", and what is special about the row.
std::string place(const Rung& rung, const Case& given, std::size_t row, std::size_t column) {
  std::string text =
      given.rows == 1 ? fmt::format("column {}", column) : fmt::format("row {}, column {}", row, column);
  if (given.kind == Kind::special_rows)
    text += fmt::format("; the row has {}", special_case(rung.row_function, row));
  return text;
}

} // namespace

ExpectedRow expect_row(const Rung& rung, const Case& given, const Sequence& input, std::size_t row) {
  const std::size_t columns = given.n / given.rows;
  std::vector<double> elements(columns);
  for (std::size_t column = 0; column < columns; ++column) elements[column] = input[row * columns + column];
  const double depth = depth_of(rung, given, columns);
  if (rung.row_function == RowFunction::rms_norm) return rms_norm(elements, input.type, depth);
  return softmax(elements, input.type, given.kind == Kind::masked, depth);
}

std::optional<std::size_t> first_wrong(const ExpectedRow& expected, std::span<const double> results) {
  for (std::size_t column = 0; column < results.size(); ++column)
    if (!is_right(expected.values[column], expected.tolerances[column], results[column])) return column;
  return std::nullopt;
}

void judge_rows(const Rung& rung, const Case& given, const Sequence& input, std::span<const double> results,
                Check& check) {
  if (given.n == 0) return;
  const std::size_t columns = given.n / given.rows;
  double most = 0; // of the bound
  std::string where;
  for (std::size_t row = 0; row < given.rows; ++row) {
    const ExpectedRow expected = expect_row(rung, given, input, row);
    const std::span<const double> got = results.subspan(row * columns, columns);
    if (const auto column = first_wrong(expected, got)) {
      const double tolerance = expected.tolerances[*column];
      check.ok = false;
      const int digits = digits_that_differ(expected.values[*column], got[*column]);
      check.message = fmt::format("expected {:.{}g}{}, got {:.{}g} ({})", expected.values[*column], digits,
                                  tolerance > 0 ? fmt::format(" within {:.2g}", tolerance) : "", got[*column],
                                  digits, place(rung, given, row, *column));
      return;
    }
    for (std::size_t column = 0; column < columns; ++column) {
      const double bound = expected.tolerances[column],
                   error = std::abs(got[column] - expected.values[column]);
      if (!(bound > 0) || !(error / bound > most)) continue;
      most = error / bound;
      where = fmt::format("largest error: {:.3g}, {:.0f} % of its bound {:.3g} ({})", error, 100 * most,
                          bound, place(rung, given, row, column));
    }
  }
  check.message = where;
}

} // namespace lab
