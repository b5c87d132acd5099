#include "explain/row_facts.hpp"

#include "judge/row_functions.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

namespace lab {
namespace {

constexpr double near_enough = 1e-3;       // of factors: far more than rounding, far less than a mistake
constexpr double near_in_bfloat16 = 5e-3;  // whose rounding changes a number by up to 1 in 2^8
constexpr double largest_argument = 88.7;  // of an exponential that is finite in float
constexpr double largest_vanishing = -104; // of one that is zero

class WrongRow {
public:
  WrongRow(const Rung& rung, const Failure& failure, const Sequence& input, std::size_t row)
      : rung_(rung), given_(failure.given), input_(input), type_(input.type),
        columns_(given_.n / given_.rows), row_(row),
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

  std::optional<std::size_t> first_wrong_one() const {
    for (std::size_t column = 0; column < columns_; ++column)
      if (!std::isfinite(got_[column]) && std::isfinite(expected_.values[column]))
        return row_ * columns_ + column;
    const auto wrong = first_wrong(expected_, got_);
    return wrong ? std::optional(row_ * columns_ + *wrong) : std::nullopt;
  }
  std::size_t number() const { return row_; }
  // Where the other row's differ from those of its own.
  bool has_results_of(std::size_t other) const {
    if (other == row_ || columns_ < 2) return false;
    const ExpectedRow wanted = expect_row(rung_, given_, input_, other);
    const bool tells = std::ranges::adjacent_find(wanted.values, std::not_equal_to()) != wanted.values.end();
    const bool all_finite = std::ranges::all_of(got_, [](double x) { return std::isfinite(x); });
    return tells && all_finite && !first_wrong(wanted, got_) && first_wrong(wanted, expected_.values);
  }
  // Equal elements hide what was subtracted, and which stands where; small ones, what an RMS norm is made of.
  bool tells_little() const {
    return rung_.row_function == RowFunction::rms_norm && columns_ > 1 &&
           (std::ranges::all_of(elements_, [&](double x) { return x == elements_[0]; }) ||
            expected_.sum < rms_norm_epsilon * double(columns_));
  }

private:
  double near() const { return type_ == Type::bfloat16 ? near_in_bfloat16 : near_enough; }
  bool is_near(double a, double b) const { return std::abs(a - b) <= near() * std::abs(b); }
  std::string the_row() const { return given_.rows == 1 ? "the row" : fmt::format("row {}", row_); }

  static bool is_masked(double x) { return x == -std::numeric_limits<double>::infinity(); }

  Diagnosis unwritten() const {
    const auto is_left = [this](double result) { return result == poison_; };
    const auto first = std::ranges::find_if(got_, is_left);
    if (first == got_.end()) return {};
    const auto count = std::ranges::count_if(got_, is_left);
    return {std::string(unwritten_results),
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
    if (column == columns_) return {};
    if (rung_.row_function != RowFunction::softmax)
      return {"not-a-number-in-row",
              fmt::format("The result in column {} of {} is NaN. A variable that was given no value may make "
                          "it: with what does the sum begin?",
                          column, the_row()),
              true};
    const bool has_masked = std::ranges::any_of(elements_, is_masked);
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
    const bool all_masked = std::ranges::all_of(elements_, is_masked);
    for (std::size_t column = 0; column < columns_; ++column)
      if (std::isnan(expected_.values[column]) && !std::isnan(got_[column]))
        return {"lost-not-a-number",
                fmt::format("The results of {} should be NaN, as 0 / 0 or an element that is NaN makes them; "
                            "column {} is {:.6g}.{}",
                            the_row(), column, got_[column],
                            all_masked
                                ? " All its elements are masked, so their exponentials add up to 0: is "
                                  "something else added up, such as what a thread has beyond the end of "
                                  "the row, or is the maximum another number than -inf?"
                                : ""),
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
      if (!known) known = factor;
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
      if (Diagnosis found = rounded_on_the_way(); !found.kind.empty()) return found;
      if (Diagnosis found = of_places(); !found.kind.empty()) return found;
      if (Diagnosis found = shifted(); !found.kind.empty()) return found;
      return factors_of_groups();
    }
    const double mean = expected_.sum / static_cast<double>(columns_);
    const double used = (mean + rms_norm_epsilon) / (*same * *same) - rms_norm_epsilon;
    if (is_near(*same, 1)) return nearly_right(mean);
    const std::string fact =
        fmt::format("Every result of {} is {:.6g} times what it should be", the_row(), *same);
    if (std::abs(used) < near() * rms_norm_epsilon && mean > rms_norm_epsilon)
      return {"no-squares",
              fmt::format("{}, as if the mean of the squares were 0 and not {:.6g}.", fact, mean), true};
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

  Diagnosis nearly_right(double mean) const {
    std::size_t worst = 0;
    for (std::size_t column = 0; column < columns_; ++column)
      if (distance_from_one(column) > distance_from_one(worst)) worst = column;
    const double most_of_epsilon = 2 * rms_norm_epsilon / std::min(mean, std::sqrt(mean));
    const char* within = type_ == Type::bfloat16 ? "hundredth" : "thousandth";
    std::string fact =
        fmt::format("Every result of {} is within a {} of what it should be", the_row(), within);
    if (distance_from_one(worst) < most_of_epsilon)
      return {"nearly-right",
              fact +
                  ". What is that small in the formula is epsilon: is it added to the mean of the squares, "
                  "before the root is taken?",
              true};
    if (type_ == Type::bfloat16) return {"nearly-right", fact + ".", true};
    const double factor = got_[worst] / expected_.values[worst];
    fact += fmt::format("; that in column {} is {:.6g} times that", worst, factor);
    const double used = (mean + rms_norm_epsilon) / (factor * factor) - rms_norm_epsilon;
    const double divisor = std::round(expected_.sum / used);
    if (divisor != double(columns_))
      fact += fmt::format(", as if the sum of the squares were divided by about {:.0f}, in place of {}",
                          divisor, columns_);
    return {"nearly-right", fact + ".", true};
  }

  // Of the result's factor.
  double distance_from_one(std::size_t column) const {
    const double expected = expected_.values[column];
    return std::abs(expected) < 1e-30 ? 0 : std::abs(got_[column] / expected - 1);
  }

  // Whether so much per column is that whole number, as far as results in float tell, of sums of this size.
  bool is_whole(double used, double number, double sum) const {
    const double precise = 4e-7 * sum;
    return type_ == Type::float32 && precise < 0.1 && std::abs(used * double(columns_) - number) < precise;
  }

  // What the number that stands where the mean of the squares should is made of.
  std::string mean_in_words(double used, double mean) const {
    if (is_near(used, mean * mean))
      return fmt::format(": that is {:.6g} squared, as where no root is taken", mean);
    if (is_near(used * mean, 1))
      return fmt::format(": that is 1 / {:.6g}, as where the root is multiplied by", mean);
    const double sum = std::accumulate(elements_.begin(), elements_.end(), 0.0);
    const double less = sum / double(columns_) * (sum / double(columns_)); // by which a variance is less
    constexpr double enough = 1e-4, precise = 1e-5;
    if (less > enough * mean && std::abs(mean - less - used) < precise * mean)
      return fmt::format(
          ": that is less by {:.6g}, the square of the elements' mean, which makes it their variance", less);
    if (is_near(used * double(columns_), sum * sum))
      return fmt::format(": that is the square of the elements' sum, {:.6g}, divided by {}", sum, columns_);
    const double times = std::round(used / mean);
    constexpr double most_times = 1 << 14;
    if (times > 1 && times < most_times && std::abs(used / mean - times) < 1e-6 * times)
      return fmt::format(": that is {:.0f} times as much", times);
    const double more = used * double(columns_) - expected_.sum, ones = std::round(more);
    if (ones > 0 && is_whole(more / double(columns_), ones, expected_.sum))
      return fmt::format(": {:.0f} elements more that are 1 would make it that", ones);
    const double divisor = expected_.sum / used, whole = std::round(divisor);
    constexpr double far_from_chance = 1e-6, most_elements = 1 << 13; // with more, chance finds one
    const bool is_part = whole <= double(columns_) && std::fmod(whole, 32) == 0; // of a row, in whole vectors
    if (whole < 1 || (whole > most_elements && !is_part) ||
        std::abs(divisor - whole) > far_from_chance * whole)
      return "";
    return fmt::format(
        ": that is the sum of the squares divided by {:.0f}, in place of the row's {} elements", whole,
        columns_);
  }

  Diagnosis divisor() const {
    const std::optional<double> same = common_factor();
    if (!same || is_near(*same, 1)) return several_factors();
    if (std::abs(expected_.largest) > 0.1 && is_near(std::log(*same), expected_.largest))
      return {"maximum-not-subtracted",
              fmt::format("Every result of {} is {:.6g} times what it should be, which is exp({:.6g}), and "
                          "{:.6g} is the row's maximum: as if it were subtracted where the sum is made, and "
                          "not where the weights are.",
                          the_row(), *same, expected_.largest, expected_.largest),
              true};
    return one_divisor(expected_.sum / *same);
  }

  // The factor by which the results are those numbers, if there is one.
  template <class Number>
  std::optional<double> factor_of(Number number) const {
    constexpr double too_small = 1e-3;
    constexpr std::size_t enough_to_tell = 3;
    std::optional<double> known;
    std::vector<double> compared; // numbers that differ
    for (std::size_t column = 0; column < columns_; ++column) {
      if (!(std::abs(number(column)) > too_small)) continue;
      const double factor = got_[column] / number(column);
      if (!std::isfinite(factor) || factor == 0 || (known && !is_near(factor, *known))) return std::nullopt;
      if (!known) known = factor;
      if (std::ranges::none_of(compared, [&](double x) { return is_near(x, number(column)); }))
        compared.push_back(number(column));
      if (compared.size() > enough_to_tell) compared.pop_back();
    }
    return compared.size() >= enough_to_tell ? known : std::nullopt;
  }

  // What the results are, if not what they should be.
  Diagnosis of_places() const {
    constexpr std::size_t enough = 3;
    if (columns_ < enough) return {};
    if (std::ranges::all_of(got_, [](double x) { return x == 1; }))
      return {
          "all-one",
          fmt::format("Each of the {} results of {} is 1, as if each number were divided by itself: is what "
                      "the threads have combined before it is used?",
                      columns_, the_row()),
          true};
    const bool softmax = rung_.row_function == RowFunction::softmax;
    if (const auto factor = factor_of([&](std::size_t column) { return elements_[column]; });
        factor && softmax)
      return {
          "no-exponential",
          fmt::format("Each result of {} is its element times {:.6g}: of what is stored, no exponential has "
                      "been taken.",
                      the_row(), *factor),
          true};
    if (const auto factor =
            factor_of([&](std::size_t column) { return elements_[column] * elements_[column]; });
        factor && !softmax)
      return {
          "squares",
          fmt::format("Each result of {} is its element's square times {:.6g}, where the element should be.",
                      the_row(), *factor),
          true};
    return in_other_columns();
  }

  // The right results, in other places.
  Diagnosis in_other_columns() const {
    std::vector<double> wanted = expected_.values;
    std::vector<double> found(got_.begin(), got_.end());
    std::ranges::sort(wanted), std::ranges::sort(found);
    if (!std::ranges::equal(wanted, found, [this](double a, double b) { return is_near(a, b); })) return {};
    for (std::size_t column = 0; column < columns_; ++column) {
      if (is_near(got_[column], expected_.values[column])) continue;
      const auto right =
          std::ranges::find_if(expected_.values, [&](double x) { return is_near(got_[column], x); });
      if (right == expected_.values.end()) return {};
      return {"other-columns",
              fmt::format("The right results of {} are there, but in other columns: column {} has that of "
                          "column {}.",
                          the_row(), column, right - expected_.values.begin()),
              true};
    }
    return {};
  }

  // Where each result is its element less a number, times a factor.
  Diagnosis shifted() const {
    const auto [least, most] = std::ranges::minmax_element(elements_);
    const auto low = static_cast<std::size_t>(least - elements_.begin()),
               high = static_cast<std::size_t>(most - elements_.begin());
    if (!(*most - *least > near_enough)) return {};
    const double slope = (got_[high] - got_[low]) / (*most - *least), less = *most - got_[high] / slope;
    const double reach = std::max(std::abs(*most), std::abs(*least));
    if (!std::isfinite(less) || !(std::abs(less) > near_enough * reach)) return {};
    for (std::size_t column = 0; column < columns_; ++column)
      if (std::abs(got_[column] / slope + less - elements_[column]) > near_enough * reach) return {};
    const double mean = std::accumulate(elements_.begin(), elements_.end(), 0.0) / double(columns_);
    const bool is_mean = std::abs(mean - less) < near_enough * reach;
    return {
        "shifted",
        fmt::format("Each result of {} is its element less {:.6g}, times a factor{}. The formula subtracts "
                    "nothing.",
                    the_row(), less, is_mean ? ": that is the mean of the elements" : ""),
        true};
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

  // By which whole number an RMS norm has divided the sum of the row's squares, if that makes the factor.
  std::optional<double> divisor_of_mean(double factor) const {
    constexpr double far_from_chance = 0.02;
    const double divisor = factor * factor * double(columns_), whole = std::round(divisor);
    const double mean = expected_.sum / double(columns_);
    const bool is_one = rung_.row_function == RowFunction::rms_norm && type_ == Type::float32 &&
                        mean > 1e3 * rms_norm_epsilon && whole >= 1 && whole <= double(columns_) &&
                        std::abs(divisor - whole) < far_from_chance;
    return is_one ? std::optional(whole) : std::nullopt;
  }

  // A thread's elements, a warp's or a block's are neighbours, and a mistake in what is known of them alone
  // puts them off by one factor.
  Diagnosis factors_of_groups() const {
    const std::vector<Run> found = runs();
    const auto is_long = [](const Run& run) { return run.last > run.first; };
    if (found.size() < 2 || !std::all_of(found.begin(), found.end() - 1, is_long)) return {};
    const auto in_words = [this](const Run& run) {
      const std::string columns = fmt::format("columns {} to {}", run.first, run.last);
      return is_near(run.factor, 1)
                 ? columns + " are right"
                 : fmt::format("{} are {:.6g} times what they should be", columns, run.factor);
    };
    const std::string fact =
        fmt::format("In {}, {}, and {}", the_row(), in_words(found[0]), in_words(found[1]));
    const auto first = divisor_of_mean(found[0].factor), second = divisor_of_mean(found[1].factor);
    if (first && second)
      return {"means-of-groups",
              fmt::format(
                  "{}, as if the sum of the row's squares were divided by {:.0f} for those and by {:.0f} for "
                  "these, in place of its {} elements.",
                  fact, *first, *second, columns_),
              true};
    return {"factors-of-groups",
            fmt::format("{}: neighbours share a factor, as if they had {}a sum of their own. Which threads "
                        "hold them, and what do these know of the rest of the row?",
                        fact, rung_.row_function == RowFunction::softmax ? "a maximum or " : ""),
            true};
  }

  // Which results are right, if it is some of them.
  std::string right_ones() const {
    std::vector<std::size_t> right;
    for (std::size_t column = 0; column < columns_; ++column)
      if (std::abs(expected_.values[column]) > 1e-30 && is_near(got_[column], expected_.values[column]))
        right.push_back(column);
    if (right.empty()) return "";
    const std::size_t last = right.back() - right.front() + 1 == right.size() ? right.back() : 0;
    if (right.size() > 2 && last) return fmt::format(" Columns {} to {} are right.", right.front(), last);
    constexpr std::size_t most = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, right.size()); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ", ", right[i]);
    return fmt::format(" Of the {} results {} {} right, in column{} {}{}.", columns_, right.size(),
                       right.size() == 1 ? "is" : "are", right.size() == 1 ? "" : "s", text,
                       right.size() > most ? " and others" : "");
  }

  // With one maximum and one divisor, all results would be off by the same factor.
  Diagnosis several_factors() const {
    if (const auto infinite = std::ranges::find_if(got_, [](double x) { return std::isinf(x); });
        infinite != got_.end())
      return {"infinite-result",
              fmt::format("The result in column {} of {} is infinite, and a weight is 1 at most.{}",
                          infinite - got_.begin(), the_row(), right_ones()),
              true};
    if (std::ranges::all_of(got_, [](double x) { return x == 0; }))
      return {
          "all-zero-weights",
          fmt::format("Every result of {} is 0, as if it were divided by an infinite sum. With what does a "
                      "thread's sum begin, and what stands where it has no element?",
                      the_row()),
          true};
    if (Diagnosis found = all_equal(); !found.kind.empty()) return found;
    if (Diagnosis found = of_places(); !found.kind.empty()) return found;
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
    const bool all_positive = std::ranges::all_of(known, [](const auto& each) { return each.second > 0; });
    if (all_positive && right_ones().empty())
      return {"many-divisors",
              fmt::format(
                  "As if column {} of {} were divided by {:.6g}, and column {} by {:.6g}; the row's sum of "
                  "exponentials is {:.6g}.",
                  known.front().first, the_row(), expected_.sum / known.front().second, other->first,
                  expected_.sum / other->second, expected_.sum),
              true};
    return {
        "factors-differ",
        fmt::format("Column {} of {} is {:.6g} times what it should be, and column {} {:.6g} times, so one "
                    "wrong maximum or divisor for the whole row is not what is wrong.{}",
                    known.front().first, the_row(), known.front().second, other->first, other->second,
                    right_ones()),
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
    if (type_ != Type::bfloat16 || !all_near || known.empty()) return {};
    return {
        "rounded-on-the-way",
        fmt::format(
            "Every result of {} is off by less than {:.2g} %, which is what one or two roundings to bfloat16 "
            "(8 bits) make. Are all steps but the last in float?",
            the_row(), 100 * two_roundings),
        true};
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
    return {"wrong-divisor", fact, true};
  }

  const Rung& rung_;
  const Case& given_;
  const Sequence& input_;
  Type type_;
  std::size_t columns_, row_;
  double poison_;
  ExpectedRow expected_;
  std::span<const double> got_;
  std::vector<double> elements_;
};

std::optional<WrongRow> first_wrong_row(const Rung& rung, const Failure& failure, const Sequence& input) {
  if (failure.results.size() != failure.given.n || failure.given.n == 0) return std::nullopt;
  std::optional<std::size_t> last_resort;
  for (std::size_t row = 0; row < failure.given.rows; ++row) {
    WrongRow looked_at(rung, failure, input, row);
    if (!looked_at.is_wrong()) continue;
    if (!looked_at.tells_little()) return looked_at;
    if (!last_resort) last_resort = row;
  }
  if (!last_resort) return std::nullopt;
  return WrongRow(rung, failure, input, *last_resort);
}

} // namespace

Diagnosis facts_of_row(const Rung& rung, const Failure& failure, const Sequence& input) {
  const auto row = first_wrong_row(rung, failure, input);
  if (!row) return {};
  constexpr std::size_t enough_elements = 1 << 18; // to compare them takes a moment
  for (std::size_t other = 0; other < failure.given.rows && failure.given.n <= enough_elements; ++other)
    if (row->has_results_of(other))
      return {"another-row", fmt::format("The results of row {} are those of row {}.", row->number(), other),
              true};
  return row->facts();
}

std::optional<std::size_t> first_wrong_result(const Rung& rung, const Failure& failure,
                                              const Sequence& input) {
  const auto row = first_wrong_row(rung, failure, input);
  return row ? row->first_wrong_one() : std::nullopt;
}

} // namespace lab
