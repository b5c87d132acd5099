#include "explain/row_facts.hpp"

#include "judge/row_functions.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>

namespace lab {
namespace {

constexpr double near_enough = 1e-3;       // of factors: far more than rounding, far less than a mistake
constexpr double largest_argument = 88.7;  // of an exponential that is finite in float
constexpr double largest_vanishing = -104; // of one that is zero
constexpr std::size_t warp = 32;

bool is_near(double a, double b) {
  return std::abs(a - b) <= near_enough * std::abs(b);
}

class WrongRow {
public:
  WrongRow(const Rung& rung, const Failure& failure, const Sequence& input, std::size_t row)
      : rung_(rung), given_(failure.given), type_(input.type), columns_(given_.n / given_.rows), row_(row),
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

  std::optional<std::size_t> not_finite() const {
    for (std::size_t column = 0; column < columns_; ++column)
      if (!std::isfinite(got_[column]) && std::isfinite(expected_.values[column]))
        return row_ * columns_ + column;
    return std::nullopt;
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
    if (has_masked)
      return {
          "masked-not-a-number",
          fmt::format("{} has masked elements (-inf). -inf - (-inf) is NaN: it arises where a thread, a "
                      "warp or a block that has met nothing but masked elements, or none at all, subtracts "
                      "its maximum of -inf from -inf.",
                      given_.rows == 1 ? "The row" : fmt::format("Row {}", row_)),
          true};
    if (expected_.largest > largest_argument)
      return {
          "exponential-overflows",
          fmt::format("The largest element of {} is {:.6g}: exp({:.6g}) is infinite in float, and infinity "
                      "divided by infinity is NaN. With the row's maximum subtracted first, no exponential "
                      "is larger than 1.",
                      the_row(), expected_.largest, expected_.largest),
          true};
    if (expected_.largest < largest_vanishing)
      return {
          "exponential-vanishes",
          fmt::format("All elements of {} are below {:.6g}: an exponential of such a number is 0 in float, "
                      "and 0 divided by 0 is NaN. Is the row's own maximum subtracted first, and not a "
                      "larger number, such as the 0 that a maximum began with?",
                      the_row(), largest_vanishing),
          true};
    return {"not-a-number-from-nothing",
            fmt::format("No element of {} is masked, and none is large: infinity minus infinity is NaN. With "
                        "what does a thread begin that has no elements, and what lies beyond the end of the "
                        "row?",
                        the_row()),
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

  // By what all results are too large, if it is the same for all of them.
  std::optional<double> common_factor() const {
    std::optional<double> known;
    for (std::size_t column = 0; column < columns_; ++column) {
      if (std::abs(expected_.values[column]) < 1e-30) continue;
      const double factor = got_[column] / expected_.values[column];
      if (!(std::abs(factor) > 0) || (known && !is_near(factor, *known))) return std::nullopt;
      known = factor;
    }
    return known;
  }

  // Of an RMS norm: each element is divided by one root.
  Diagnosis factor() const {
    const std::optional<double> same = common_factor();
    if (!same && std::ranges::all_of(got_, [](double x) { return x == 0; }))
      return {"all-zero",
              fmt::format(
                  "Every result of {} is 0, as if the sum of the squares were infinite, and no element's "
                  "square is. With what does a thread's sum begin, and what stands where it has no element?",
                  the_row()),
              true};
    if (!same) {
      Diagnosis rounded = rounded_on_the_way();
      return rounded.kind.empty() ? factors_of_groups() : rounded;
    }
    if (is_near(*same, 1))
      return {
          "nearly-right",
          fmt::format("Every result of {} is within a thousandth of what it should be. What is that small "
                      "in the formula is epsilon: is it added to the mean of the squares, before the root "
                      "is taken?",
                      the_row()),
          true};
    const double mean = expected_.sum / static_cast<double>(columns_);
    const double used = (mean + rms_norm_epsilon) / (*same * *same) - rms_norm_epsilon;
    const std::string fact =
        fmt::format("Every result of {} is {:.6g} times what it should be", the_row(), *same);
    if (mean < rms_norm_epsilon)
      return {"same-factor",
              fmt::format("{}. Its elements are so small that epsilon is most of what stands under the root: "
                          "{:.6g}, and the mean of the squares is {:.3g}.",
                          fact, rms_norm_epsilon, mean),
              true};
    return {"same-factor",
            fmt::format("{}, as if the mean of the squares were {:.6g} and not {:.6g}{}.", fact, used, mean,
                        mean_in_words(used, mean)),
            true};
  }

  // What the number that stands where the mean of the squares should is made of.
  std::string mean_in_words(double used, double mean) const {
    if (is_near(used, mean * mean))
      return fmt::format(": that is {:.6g} squared, as where no root is taken", mean);
    if (is_near(used * mean, 1))
      return fmt::format(": that is 1 / {:.6g}, as where the root is multiplied by", mean);
    const double divisor = expected_.sum / used, whole = std::round(divisor);
    constexpr double far_from_chance = 1e-5, most_elements = 1 << 13; // with more, chance finds one
    if (whole < 1 || whole > most_elements || std::abs(divisor - whole) > far_from_chance * whole) return "";
    return fmt::format(
        ": that is the sum of the squares divided by {:.0f}, in place of the row's {} elements", whole,
        columns_);
  }

  Diagnosis divisor() const {
    const std::optional<double> same = common_factor();
    if (same && !is_near(*same, 1)) return one_divisor(expected_.sum / *same);
    return several_factors();
  }

  // Of each column by how much it is too large, as far as the numbers are large enough to tell.
  std::vector<std::pair<std::size_t, double>> factors() const {
    std::vector<std::pair<std::size_t, double>> known;
    for (std::size_t column = 0; column < columns_; ++column) {
      const double expected = expected_.values[column], factor = got_[column] / expected;
      if (std::abs(expected) > 1e-30 && std::isfinite(factor)) known.emplace_back(column, factor);
    }
    return known;
  }

  // Columns that are neighbours and off by one factor.
  struct Run {
    std::size_t first = 0, last = 0;
    double factor = 0;
  };
  std::vector<Run> runs() const {
    std::vector<Run> found;
    for (const auto& [column, factor] : factors()) {
      if (found.empty() || !is_near(factor, found.back().factor)) found.push_back({column, column, factor});
      found.back().last = column;
    }
    return found;
  }

  // A thread's elements, a warp's or a block's are neighbours, and a mistake in what is known of them alone
  // puts them off by one factor.
  Diagnosis factors_of_groups() const {
    const std::vector<Run> found = runs();
    const auto is_long = [](const Run& run) { return run.last > run.first; };
    if (found.size() < 2 || !std::all_of(found.begin(), found.end() - 1, is_long)) return {};
    const auto in_words = [](const Run& run) {
      const std::string columns = fmt::format("columns {} to {}", run.first, run.last);
      return is_near(run.factor, 1)
                 ? columns + " are right"
                 : fmt::format("{} are {:.6g} times what they should be", columns, run.factor);
    };
    return {"factors-of-groups",
            fmt::format("In {}, {}, and {}: neighbours share a factor, as if they had a maximum or a sum of "
                        "their own. Which threads hold them, and what do these know of the rest of the row?",
                        the_row(), in_words(found[0]), in_words(found[1])),
            true};
  }

  // With one maximum and one divisor, all results would be off by the same factor.
  Diagnosis several_factors() const {
    if (const auto infinite = std::ranges::find_if(got_, [](double x) { return std::isinf(x); });
        infinite != got_.end())
      return {"infinite-result",
              fmt::format("The result in column {} of {} is infinite, and a weight is 1 at most.",
                          infinite - got_.begin(), the_row()),
              true};
    if (Diagnosis found = all_equal(); !found.kind.empty()) return found;
    if (are_exponentials_of_exponentials())
      return {
          "exponential-twice",
          fmt::format("The results of {} are made of exp(exp(x - a) - b), with numbers a and b: what was an "
                      "exponential already has been taken for an element.",
                      the_row()),
          true};
    const auto known = factors();
    const auto other = std::ranges::find_if(
        known, [&](const auto& each) { return !is_near(each.second, known.front().second); });
    if (other == known.end()) return {};
    if (Diagnosis found = rounded_on_the_way(); !found.kind.empty()) return found;
    if (Diagnosis found = factors_of_groups(); !found.kind.empty()) return found;
    return {
        "factors-differ",
        fmt::format("Column {} of {} is {:.6g} times what it should be, and column {} {:.6g} times, so one "
                    "wrong maximum or divisor for the whole row is not what is wrong.",
                    known.front().first, the_row(), known.front().second, other->first, other->second),
        true};
  }

  // The logarithm of such a result is exp(x - a), and a number more that is the same for the whole row; a is
  // a thread's, a warp's or the row's, and at most x, so that the largest of these exponentials is 1. Four
  // neighbours belong to one thread, or to threads that know the same.
  bool are_exponentials_of_exponentials() const {
    constexpr double large_enough = 0.01, near = 0.02; // for what the rounding of the results leaves
    constexpr std::size_t together = 4, enough = 8;
    const double most = std::ranges::max(got_);
    if (!(most > 0) || std::isinf(most)) return false;
    const auto inner = [&](std::size_t column) { return std::log(got_[column] / most) + 1; };
    std::size_t pairs = 0;
    for (std::size_t column = 1; column < columns_; ++column) {
      const double before = inner(column - 1), now = inner(column);
      if (column % together == 0 || !(before > large_enough) || !(now > large_enough)) continue;
      const double apart = std::log(now / before), wanted = elements_[column] - elements_[column - 1];
      if (std::abs(apart - wanted) > near) return false;
      pairs += std::abs(wanted) > 5 * near; // others show nothing
    }
    return pairs >= enough;
  }

  // As those of equal elements are.
  Diagnosis all_equal() const {
    const double equal = 1 / static_cast<double>(columns_);
    if (columns_ < 2 || !std::ranges::all_of(got_, [&](double x) { return is_near(x, equal); })) return {};
    return {"all-equal",
            fmt::format(
                "Each of the {} results of {} is 1 / {}: each exponential was exp(0). Was an element's own "
                "value subtracted from it, as the maximum of a thread that has one element?",
                columns_, the_row(), columns_),
            true};
  }

  // One rounding to bfloat16 changes a number by up to 1 in 2^8.
  Diagnosis rounded_on_the_way() const {
    constexpr double two_roundings = 2.0 / 256;
    const auto known = factors();
    const bool all_near = std::ranges::all_of(
        known, [](const auto& each) { return std::abs(each.second - 1) < two_roundings; });
    if (type_ != Type::bfloat16 || !all_near) return {};
    return {
        "rounded-on-the-way",
        fmt::format(
            "Every result of {} is off by less than {:.2g} %, which is what one or two roundings to bfloat16 "
            "(8 bits) make. Are all steps but the last in float?",
            the_row(), 100 * two_roundings),
        true};
  }

  // The sum over the first columns of each so many.
  double terms(std::size_t of_so_many, std::size_t first) const {
    double sum = 0;
    for (std::size_t column = 0; column < columns_; ++column)
      if (column % of_so_many < first) sum += std::exp(elements_[column] - expected_.largest);
    return sum;
  }

  // What the divisor has too much, if it is what so many elements that are 0 would add.
  std::string zeros_in_words(double divisor) const {
    const double zero = std::exp(-expected_.largest), count = (divisor - expected_.sum) / zero;
    const double whole = std::round(count);
    constexpr double most = 1 << 17, far_from_chance = 1e-3; // the results are floats
    if (whole < 1 || whole > most || std::abs(count - whole) > far_from_chance * whole ||
        std::abs(count - whole) > 0.05)
      return "";
    return fmt::format(
        "{:.6g} more is {:.0f} times exp(0 - {:.6g}), as if the row had {:.0f} elements more that are 0. "
        "What stands where a thread has no element?",
        divisor - expected_.sum, whole, expected_.largest, whole);
  }

  // All results are right but for the number that they are divided by.
  Diagnosis one_divisor(double divisor) const {
    const std::string fact =
        fmt::format("Every result of {} is {:.6g} times what it should be, as if it were "
                    "divided by {:.6g}; the row's sum of exponentials is {:.6g}.",
                    the_row(), expected_.sum / divisor, divisor, expected_.sum);
    if (is_near(divisor, 1) && !is_near(expected_.sum, 1))
      return {
          "not-divided",
          fmt::format("The results of {} are the exponentials themselves, as if their sum, {:.6g}, were 1.",
                      the_row(), expected_.sum),
          true};
    if (const std::string zeros = zeros_in_words(divisor); !zeros.empty())
      return {"zeros-in-the-sum", fmt::format("{} {}", fact, zeros), true};
    const std::size_t threads = std::min<std::size_t>(given_.block, columns_);
    if (is_near(terms(threads, 1), divisor))
      return {"part-of-the-sum",
              fmt::format("{} The sum over columns 0, {}, {} and so on is that number.", fact, threads,
                          2 * threads),
              true};
    if (threads > warp && is_near(terms(threads, warp), divisor))
      return {"part-of-the-sum",
              fmt::format("{} The sum over columns 0 to {}, {} to {} and so on is that number.", fact,
                          warp - 1, threads, threads + warp - 1),
              true};
    return {"wrong-divisor", fact, true};
  }

  const Rung& rung_;
  const Case& given_;
  Type type_;
  std::size_t columns_, row_;
  double poison_;
  ExpectedRow expected_;
  std::span<const double> got_;
  std::vector<double> elements_;
};

std::optional<WrongRow> first_wrong_row(const Rung& rung, const Failure& failure, const Sequence& input) {
  if (failure.results.size() != failure.given.n || failure.given.n == 0) return std::nullopt;
  for (std::size_t row = 0; row < failure.given.rows; ++row)
    if (WrongRow looked_at(rung, failure, input, row); looked_at.is_wrong()) return looked_at;
  return std::nullopt;
}

} // namespace

Diagnosis facts_of_row(const Rung& rung, const Failure& failure, const Sequence& input) {
  const auto row = first_wrong_row(rung, failure, input);
  return row ? row->facts() : Diagnosis();
}

std::optional<std::size_t> not_finite_in_row(const Rung& rung, const Failure& failure,
                                             const Sequence& input) {
  const auto row = first_wrong_row(rung, failure, input);
  return row ? row->not_finite() : std::nullopt;
}

} // namespace lab
