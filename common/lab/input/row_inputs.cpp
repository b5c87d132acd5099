#include "input/row_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>

namespace lab {
namespace {

constexpr double masked = -std::numeric_limits<double>::infinity();

// A row of a special case: its element in a column, of so many, from a score.
struct SpecialCase {
  std::string_view words;
  double (*element)(std::size_t column, std::size_t columns, double score);
};

double with_a_nan(std::size_t column, std::size_t columns, double score) {
  return column == columns / 3 ? std::numeric_limits<double>::quiet_NaN() : score;
}
double with_a_peak(std::size_t column, std::size_t columns, double score) {
  return column == columns / 2 ? 64 : score;
}

constexpr SpecialCase softmax_cases[] = {
    {"equal elements", [](std::size_t, std::size_t, double) { return 3.25; }},
    {"equal elements of 10^30", [](std::size_t, std::size_t, double) { return 1e30; }},
    {"elements near 10,000", [](std::size_t, std::size_t, double score) { return 10'000 + score; }},
    {"elements near -10,000", [](std::size_t, std::size_t, double score) { return -10'000 + score; }},
    {"one element far above the others", with_a_peak},
    {"every second element masked (-inf)",
     [](std::size_t column, std::size_t, double score) { return column % 2 != 0 ? masked : score; }},
    {"the first half masked (-inf)", [](std::size_t column, std::size_t columns,
                                        double score) { return column < columns / 2 ? masked : score; }},
    {"all elements masked (-inf) but the first",
     [](std::size_t column, std::size_t, double score) { return column == 0 ? score : masked; }},
    {"all elements masked (-inf)", [](std::size_t, std::size_t, double) { return masked; }},
    {"a NaN", with_a_nan},
};
constexpr SpecialCase rms_norm_cases[] = {
    {"equal elements", [](std::size_t, std::size_t, double) { return 3.25; }},
    {"elements near 10,000", [](std::size_t, std::size_t, double score) { return 10'000 + score; }},
    {"elements as small as 10^-5", [](std::size_t, std::size_t, double score) { return 1e-6 * score; }},
    {"one element far above the others", with_a_peak},
    {"zeros", [](std::size_t, std::size_t, double) { return 0.0; }},
    {"a NaN", with_a_nan},
};

std::span<const SpecialCase> cases_of(RowFunction function) {
  if (function == RowFunction::rms_norm) return rms_norm_cases;
  return softmax_cases;
}

// All columns in an order by chance, of which the first so many are the equal elements of a masked row.
std::vector<std::size_t> shuffled(std::size_t columns, std::mt19937_64& chance) {
  std::vector<std::size_t> order(columns);
  for (std::size_t i = 0; i < columns; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), chance);
  return order;
}

class Rows {
public:
  Rows(Sequence& to, std::size_t columns, std::uint64_t seed) : to_(to), columns_(columns), chance_(seed) {}

  void scores(std::size_t row, RowFunction function) {
    for (std::size_t column = 0; column < columns_; ++column) {
      const double value = score();
      if (to_.kind == Kind::scores)
        put(row, column, value);
      else
        put(row, column, cases_of(function)[row % special_cases(function)].element(column, columns_, value));
    }
  }

  void equal_among_masked(std::size_t row) {
    const double value = std::floor(score() * 1000);
    const auto powers = static_cast<std::size_t>(std::log2(static_cast<double>(columns_)));
    const std::size_t equal = std::size_t{1} << chance_() % (powers + 1);
    const std::vector<std::size_t> order = shuffled(columns_, chance_);
    for (std::size_t i = 0; i < columns_; ++i) put(row, order[i], i < equal ? value : masked);
  }

private:
  double score() { return static_cast<double>(chance_() >> 11) * 0x1p-49 - 8; }
  void put(std::size_t row, std::size_t column, double value) {
    store_value(to_.type, value, to_.values.to_change() + (row * columns_ + column) * size_of(to_.type));
  }
  Sequence& to_;
  std::size_t columns_;
  std::mt19937_64 chance_;
};

// Rows are repeated from here on: a whole matrix of them would take long to make.
constexpr std::size_t enough_elements = std::size_t{1} << 22;

} // namespace

std::size_t special_cases(RowFunction function) {
  return cases_of(function).size();
}
std::string_view special_case(RowFunction function, std::size_t row) {
  return cases_of(function)[row % special_cases(function)].words;
}

Sequence make_input(const Rung& rung, const Variant& variant, const Case& given, std::uint64_t seed) {
  if (rung.row_function == RowFunction::none)
    return make_sequence(variant.type, rung.operator_of(variant), given.kind, given.n, seed);
  const std::size_t columns = given.rows ? given.n / given.rows : 0;
  if (columns == 0) return {variant.type, given.kind, rung.op, 0, 0, seed, {}};
  const std::size_t rows = std::min(given.rows, ceil_div(enough_elements, columns));
  std::vector<std::byte> values(rows * columns * size_of(variant.type));
  Sequence input{variant.type, given.kind, rung.op, given.n, rows * columns, seed, std::move(values)};
  Rows made(input, columns, seed);
  for (std::size_t row = 0; row < rows; ++row) {
    if (given.kind == Kind::masked)
      made.equal_among_masked(row);
    else
      made.scores(row, rung.row_function);
  }
  return input;
}

} // namespace lab
