#include "explain/reason_search.hpp"

#include "explain/index_names.hpp"
#include "explain/reason.hpp"
#include "explain/row_facts.hpp"
#include "explain/where_values_went.hpp"
#include "input/cases.hpp"
#include "judge/judge.hpp"
#include "judge/small_device.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <tuple>
#include <utility>

namespace lab {
namespace {

constexpr double long_run = 0.05; // in seconds
constexpr std::size_t few_elements = 1000, many_elements = 19'997, no_size = static_cast<std::size_t>(-1);

bool is_usual(const Failure& failure) {
  return failure.given.offset == 0 && failure.given.block == usual_block;
}

class ReasonSearch {
public:
  ReasonSearch(const Rung& rung, CaseJudge& judge, Progress& progress)
      : rung_(rung), judge_(judge), progress_(progress) {}

  // Wrong results that are not exact sums, one by one.
  void explain_each() {
    const SearchForReasons search;
    std::vector<Failure> others = failures();
    const auto sums = std::ranges::stable_partition(
        others, [this](const Failure& failure) { return !is_exact_sum(rung_, failure); });
    const bool has_exact_sum = !sums.empty();
    others.erase(sums.begin(), sums.end());
    if (others.empty()) return;
    sort_by_what_they_show(others);
    if (judge_.has_hazard()) return explain_unwritten(others);
    for (const Failure& failure : others) {
      if (is_over(search)) break;
      Diagnosis reason = reason_for_one(failure, has_exact_sum);
      const bool is_explained = reason.specific;
      progress_.explain(failure.check, std::move(reason));
      if (is_explained) break; // more of them only say the same
    }
  }

  // Wrong sums have one reason. The one that shows most is explained: some blocks and a fraction of one, and
  // numbers that can be worked out by hand. If nothing explains it, the next ones are tried.
  void explain_sums() {
    const SearchForReasons search;
    std::ranges::copy_if(failures(), std::back_inserter(sums_),
                         [this](const Failure& failure) { return is_exact_sum(rung_, failure); });
    if (sums_.empty()) return;
    const Failure& smallest_sum =
        *std::ranges::min_element(sums_, {}, [](const Failure& failure) { return failure.given.n; });
    if (!judge_.judged.device_lost && smallest_sum.seconds < long_run) // it takes three more
      if (Diagnosis found = left_in_variables(rung_, smallest_sum, input_of(rung_, smallest_sum),
                                              judge_.judged.device_lost);
          !found.kind.empty())
        return progress_.decide(smallest_sum.check, std::move(found));
    const auto of_nothing = std::ranges::find_if(sums_, [](const Failure& failure) {
      return failure.given.n == 0 && failure.results[0] != poison(failure.variant->type, Kind::exact);
    });
    if (of_nothing != sums_.end() && of_nothing->results[0] != 0) {
      const auto says_more = [](const Found& found) {
        return found.reason.kind == library_type_differs || found.reason.kind == host_adds_wrongly ||
               found.reason.kind == "foreign";
      };
      Found other = look_at_some_elements();
      if (!says_more(other)) other = {*of_nothing, reason_of(*of_nothing)};
      if (says_more(other)) return progress_.decide(other.failure.check, std::move(other.reason));
      return progress_.decide(
          of_nothing->check,
          {"no-elements",
           "There are no elements, and the sum of none is 0: the result holds something that is not an "
           "element, such as a variable that is never set, or what lies past the end of an array; or part "
           "of its bytes were never written.",
           true});
    }
    const bool only_other_blocks =
        std::ranges::all_of(sums_,
                            [](const Failure& failure) { return failure.given.block != usual_block; }) &&
        std::ranges::any_of(progress_.so_far(), [](const Check& check) { return check.ok && check.usual; });
    sort_by_what_they_show(sums_);
    // If that takes too long, the smallest input is the next best.
    const auto smallest = std::min_element(
        sums_.begin() + 1, sums_.end(), [](const Failure& a, const Failure& b) { return size(a) < size(b); });
    if (smallest != sums_.end()) std::iter_swap(sums_.begin() + 1, smallest);
    constexpr std::size_t tries = 4;
    for (std::size_t i = 0; i < std::min(tries, sums_.size()) && !is_over(search); ++i) {
      Found found = look_at(sums_[i]);
      if (only_other_blocks) add_what_the_block_says(found.reason, found.failure.given.block);
      if (!found.reason.kind.empty()) return progress_.decide(found.failure.check, std::move(found.reason));
    }
  }

private:
  struct Found {
    Failure failure;
    Diagnosis reason;
  };

  // What hazards do not show, and needs no further run.
  void explain_unwritten(const std::vector<Failure>& rows) {
    if (rung_.row_function == RowFunction::none) return;
    for (const Failure& failure : rows) {
      Diagnosis facts = facts_of_row(rung_, failure, input_of(rung_, failure));
      if (facts.kind == unwritten_results) return progress_.explain(failure.check, std::move(facts));
    }
  }

  const std::vector<Failure>& failures() const { return judge_.judged.failures; }

  // A hazard explains a wrong result.
  bool is_over(const SearchForReasons& search) {
    return judge_.judged.device_lost || search.is_over() || judge_.has_hazard();
  }

  // The one with the fewest elements.
  Found look_at_some_elements() {
    const auto some = std::ranges::min_element(
        sums_, {}, [](const Failure& failure) { return failure.given.n == 0 ? no_size : failure.given.n; });
    return some->given.n == 0 ? Found{*some, {}} : Found{*some, reason_of(*some)};
  }

  Diagnosis reason_for_one(const Failure& failure, bool has_exact_sum) {
    if (failure.given.kind == Kind::cancelling && !has_exact_sum) {
      return {"rounded-on-the-way",
              "In double, every sum of these numbers is exact, in whatever order they are added, and the "
              "result fits into a float. Where sums in float are exact too, the same code is right: so "
              "before the end, a sum is rounded to float.",
              true};
    }
    return reason_of(failure);
  }

  static void sort_by_what_they_show(std::vector<Failure>& failures) {
    std::ranges::stable_sort(failures, {}, [](const Failure& failure) {
      return std::tuple(failure.given.n > most_followed, !is_usual(failure),
                        std::abs(std::log((static_cast<double>(failure.given.n) + 1) / 1001)));
    });
  }
  static std::size_t size(const Failure& failure) { return failure.given.n < 31 ? no_size : failure.given.n; }

  // The reason of this failure, or of one like it that shows more.
  Found look_at(Failure failure) {
    Found found{std::move(failure), {}};
    const std::size_t n = found.failure.given.n;
    // A run of which each value is followed takes many times as long.
    if (found.failure.seconds > long_run) look_at_another(found, std::min(n, few_elements), rung_.min_block);
    // What shows only with many blocks shows as well, and is found sooner, with few elements in small blocks.
    if (n > few_elements && found.reason.kind.empty()) look_at_another(found, few_elements, small_block());
    if (n > many_elements && found.reason.kind.empty())
      look_at_another(found, many_elements, found.failure.given.block);
    if (n > most_followed && found.reason.kind.empty())
      look_at_another(found, most_followed, found.failure.given.block);
    if (n > most_followed && found.reason.kind.empty()) look_at_small_device(found);
    if (found.reason.kind.empty()) found.reason = reason_of(found.failure);
    // With few elements, the result may be nothing, where many elements show more.
    if (found.reason.kind == "nothing-read") look_at_another(found, many_elements, 32);
    return found;
  }

  // A grid that fits the device, and in which each thread meets many elements, needs a million of them. On a
  // device with one multiprocessor, few are enough.
  void look_at_small_device(Found& found) {
    if (!on_emulator() || device().multiprocessors == 1) return;
    const OneMultiprocessor small;
    look_at_another(found, many_elements, found.failure.given.block, small.in_words());
  }

  // Takes another case in place of this one, if it is wrong too and its reason is found.
  void look_at_another(Found& found, std::size_t n, unsigned block, const std::string& where = "") {
    Case given = found.failure.given;
    const bool is_same = n == given.n && block == given.block;
    if (is_same || block < rung_.min_block || n > rung_.most_elements(block)) return;
    given.n = n, given.block = block;
    if (!judge_.is_wrong(*found.failure.variant, given, check_for(given, where))) return;
    const Failure other = failures().back();
    sums_.push_back(other);
    if (Diagnosis reason = reason_of(other); reason.specific) found = {other, std::move(reason)};
  }

  Diagnosis reason_of(const Failure& failure) {
    return diagnose_wrong(rung_, failure, input_of(rung_, failure), judge_.judged.device_lost);
  }

  // For a rung that is wrong only with numbers of threads other than the usual one.
  void add_what_the_block_says(Diagnosis& found, unsigned block) const {
    if (found.kind.empty()) found.kind = "block-size", found.specific = true;
    found.text +=
        fmt::format("{}With {} threads per block it is right", found.text.empty() ? "" : " ", usual_block);
    found.text +=
        std::has_single_bit(block)
            ? fmt::format(". Follow the code with {} and with {}: where does it stop doing what it should?",
                          usual_block, block)
            : fmt::format("; {} is no power of two.", block);
  }

  unsigned small_block() const { // of four warps, so that the first, all but the last, and a block differ
    return std::clamp(128u, rung_.min_block, rung_.max_block);
  }

  const Rung& rung_;
  CaseJudge& judge_;
  Progress& progress_;
  std::vector<Failure> sums_; // wrong exact sums
};

} // namespace

void explain_failures(const Rung& rung, CaseJudge& judge, Progress& progress) {
  ReasonSearch search(rung, judge, progress);
  search.explain_sums();
  const std::vector<Check> checks = progress.so_far();
  if (std::ranges::none_of(checks, &Check::decides)) search.explain_each();
}

} // namespace lab
