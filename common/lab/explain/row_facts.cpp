#include "explain/row_facts.hpp"

#include "judge/row_functions.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>

namespace lab {
namespace {

constexpr double near_enough = 1e-3;       // of factors: far more than rounding, far less than a mistake
constexpr double largest_argument = 88.7;  // of an exponential that is finite in float
constexpr double largest_vanishing = -104; // of one that is zero

bool is_near(double a, double b) {
  return std::abs(a - b) <= near_enough * std::abs(b);
}

class WrongRow {
public:
  WrongRow(const Rung& rung, const Failure& failure, const Sequence& input, std::size_t row)
      : rung_(rung), given_(failure.given), columns_(given_.n / given_.rows), row_(row),
        poison_(poison(failure.variant->result_type, given_.kind)),
        expected_(expect_row(rung, given_, input, row)),
        got_(std::span(failure.results).subspan(row * columns_, columns_)) {
    for (std::size_t column = 0; column < columns_; ++column)
      elements_.push_back(input[row * columns_ + column]);
  }

  bool is_wrong() const { return first_wrong(expected_, got_).has_value(); }

  Diagnosis facts() const {
    if (Diagnosis found = unwritten(); !found.kind.empty()) return found;
    if (Diagnosis found = not_a_number(); !found.kind.empty()) return found;
    if (Diagnosis found = missing_not_a_number(); !found.kind.empty()) return found;
    return rung_.row_function == RowFunction::softmax ? divisor() : factor();
  }

private:
  std::string the_row() const { return given_.rows == 1 ? "the row" : fmt::format("row {}", row_); }

  Diagnosis unwritten() const {
    const auto is_left = [this](double result) { return result == poison_; };
    const auto first = std::ranges::find_if(got_, is_left);
    if (first == got_.end()) return {};
    const auto count = std::ranges::count_if(got_, is_left);
    return {"unwritten-results",
            fmt::format("{} of {}'s {} results {} not been written, the first in column {}.", count,
                        the_row(), columns_, count == 1 ? "has" : "have", first - got_.begin()),
            true};
  }

  // Which of the steps makes a NaN is known where only one of them can.
  Diagnosis not_a_number() const {
    const auto is_odd = [this](std::size_t column) {
      return std::isnan(got_[column]) && !std::isnan(expected_.values[column]);
    };
    std::size_t column = 0;
    while (column < columns_ && !is_odd(column)) ++column;
    if (column == columns_ || rung_.row_function != RowFunction::softmax) return {};
    const bool has_masked = std::ranges::any_of(
        elements_, [](double x) { return x == -std::numeric_limits<double>::infinity(); });
    if (expected_.largest > largest_argument)
      return {
          "exponential-overflows",
          fmt::format("The largest element of {} is {:.6g}: exp({:.6g}) is infinite in float, and infinity "
                      "divided by infinity is NaN. Subtract the row's maximum first, and no exponential is "
                      "larger than 1.",
                      the_row(), expected_.largest, expected_.largest),
          true};
    if (expected_.largest < largest_vanishing)
      return {"exponential-vanishes",
              fmt::format("The largest element of {} is {:.6g}: all its exponentials are 0 in float, and 0 "
                          "divided by 0 is NaN. Subtract the row's maximum first, and one exponential is 1.",
                          the_row(), expected_.largest),
              true};
    if (!has_masked) return {};
    return {"masked-not-a-number",
            fmt::format("{} has masked elements (-inf). -inf - (-inf) is NaN: it "
                        "arises where a thread, a warp or a block has met nothing but masked elements, or "
                        "none at all, and its maximum of -inf is subtracted from -inf.",
                        given_.rows == 1 ? "The row" : fmt::format("Row {}", row_)),
            true};
  }

  Diagnosis missing_not_a_number() const {
    for (std::size_t column = 0; column < columns_; ++column)
      if (std::isnan(expected_.values[column]) && !std::isnan(got_[column]))
        return {"lost-not-a-number",
                fmt::format("The results of {} should be NaN, as 0 / 0 or an element that is NaN makes them; "
                            "column {} is {:.6g}.",
                            the_row(), column, got_[column]),
                true};
    return {};
  }

  // By what each result is too large, if it is the same for all columns that `of` puts together.
  using Group = std::function<std::size_t(std::size_t)>;
  std::vector<double> factors(const Group& of, std::size_t groups) const {
    std::vector<double> all(groups, 0);
    for (std::size_t column = 0; column < columns_; ++column) {
      if (expected_.values[column] < 1e-30 && expected_.values[column] > -1e-30) continue;
      const double factor = got_[column] / expected_.values[column];
      double& known = all[of(column)];
      if (!(std::abs(factor) > 0) || (known != 0 && !is_near(factor, known))) return {};
      known = factor;
    }
    return all;
  }

  Diagnosis factor() const {
    const std::vector<double> same = factors([](std::size_t) { return 0; }, 1);
    if (same.empty() || is_near(same[0], 1)) return {};
    return {"same-factor",
            fmt::format("Every result of {} is {:.6g} times what it should be: what it is divided by is the "
                        "same for all of them, and wrong.",
                        the_row(), same[0]),
            true};
  }

  double terms(const Group& of, std::size_t group) const {
    double sum = 0;
    for (std::size_t column = 0; column < columns_; ++column)
      if (of(column) == group) sum += std::exp(elements_[column] - expected_.largest);
    return sum;
  }

  Diagnosis divisor() const {
    const std::vector<double> same = factors([](std::size_t) { return 0; }, 1);
    if (!same.empty() && !is_near(same[0], 1)) return one_divisor(expected_.sum / same[0]);
    const std::size_t threads = std::min<std::size_t>(given_.block, columns_);
    const Group of_thread = [threads](std::size_t column) { return column % threads; };
    const std::vector<double> each = factors(of_thread, threads);
    if (each.empty() || same_for_all(each)) return {};
    const bool own = std::ranges::all_of(std::vector<std::size_t>{0, threads / 2, threads - 1}, [&](auto t) {
      return each[t] == 0 || is_near(expected_.sum / each[t], terms(of_thread, t));
    });
    return {
        "divisor-differs",
        fmt::format("The columns of different threads of {} are too large by different factors (the first "
                    "by {:.6g}, the next by {:.6g}): each thread divides by another number{}.",
                    the_row(), each[0], each[std::min<std::size_t>(1, threads - 1)],
                    own ? ", the sum of its own elements" : ""),
        true};
  }

  static bool same_for_all(const std::vector<double>& factors) {
    return std::ranges::all_of(factors,
                               [&](double each) { return each == 0 || is_near(each, factors.front()); });
  }

  // All results are right but for the number that they are divided by.
  Diagnosis one_divisor(double divisor) const {
    const std::string fact =
        fmt::format("Every result of {} is {:.6g} times what it should be: it is divided "
                    "by {:.6g}, and the row's sum of exponentials is {:.6g}.",
                    the_row(), expected_.sum / divisor, divisor, expected_.sum);
    if (is_near(divisor, 1) && !is_near(expected_.sum, 1))
      return {"not-divided",
              fmt::format("The results of {} are the exponentials themselves: they are not divided by their "
                          "sum, {:.6g}.",
                          the_row(), expected_.sum),
              true};
    const std::size_t threads = std::max<std::size_t>(std::min<std::size_t>(given_.block, columns_), 1);
    struct Candidate {
      const char* words;
      Group of;
    };
    const Candidate candidates[] = {
        {"the first thread's elements", [=](std::size_t column) { return column % threads; }},
        {"the first warp's elements", [=](std::size_t column) { return column % threads / 32; }},
        {"the first two threads' elements", [=](std::size_t column) { return column % threads / 2; }}};
    for (const Candidate& candidate : candidates)
      if (is_near(terms(candidate.of, 0), divisor))
        return {"part-of-the-sum", fmt::format("{} That is the sum over {}.", fact, candidate.words), true};
    return {"wrong-divisor", fact, true};
  }

  const Rung& rung_;
  const Case& given_;
  std::size_t columns_, row_;
  double poison_;
  ExpectedRow expected_;
  std::span<const double> got_;
  std::vector<double> elements_;
};

} // namespace

Diagnosis facts_of_row(const Rung& rung, const Failure& failure, const Sequence& input) {
  if (failure.results.size() != failure.given.n || failure.given.n == 0) return {};
  for (std::size_t row = 0; row < failure.given.rows; ++row) {
    const WrongRow looked_at(rung, failure, input, row);
    if (looked_at.is_wrong()) return looked_at.facts();
  }
  return {};
}

} // namespace lab
