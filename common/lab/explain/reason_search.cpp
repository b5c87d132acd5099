#include "explain/reason_search.hpp"

#include "explain/reason.hpp"
#include "input/cases.hpp"
#include "judge/judge.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tuple>
#include <utility>

namespace lab {
namespace {

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
    bool has_exact_sum = false, is_explained = false;
    for (std::size_t i = 0; i < failures().size() && !is_over(search); ++i) {
      const Failure failure = failures()[i];
      if (is_exact_sum(rung_, failure)) {
        has_exact_sum = true;
        continue;
      }
      if (is_explained && search.takes_long()) break; // more of them only say the same
      Diagnosis reason = reason_for_one(failure, has_exact_sum);
      is_explained |= reason.specific;
      progress_.explain(failure.check, std::move(reason));
    }
  }

  // Wrong sums have one reason. The one that shows most is explained: some blocks and a fraction of one, and
  // numbers that can be worked out by hand. If nothing explains it, the next ones are tried.
  void explain_sums() {
    const SearchForReasons search;
    std::ranges::copy_if(failures(), std::back_inserter(sums_),
                         [this](const Failure& failure) { return is_exact_sum(rung_, failure); });
    if (sums_.empty()) return;
    const auto of_nothing = std::ranges::find_if(sums_, [](const Failure& failure) {
      return failure.given.n == 0 && failure.results[0] != poison(failure.variant->type, Kind::exact);
    });
    if (of_nothing != sums_.end() && of_nothing->results[0] != 0) {
      return progress_.decide(
          of_nothing->check,
          {"no-elements",
           "There are no elements, and the sum of none is 0: something is added that is not an element, such "
           "as a variable that is never set, or what lies past the end of an array.",
           true});
    }
    const bool only_other_blocks =
        std::ranges::all_of(sums_, [](const Failure& failure) { return failure.given.block != usual_block; });
    sort_by_what_they_show();
    constexpr std::size_t tries = 4;
    for (std::size_t i = 0; i < std::min(tries, sums_.size()) && !is_over(search); ++i) {
      Found found = look_at(sums_[i], search);
      if (only_other_blocks) add_what_the_block_says(found.reason);
      if (!found.reason.kind.empty()) return progress_.decide(found.failure.check, std::move(found.reason));
    }
  }

private:
  struct Found {
    Failure failure;
    Diagnosis reason;
  };

  const std::vector<Failure>& failures() const { return judge_.judged.failures; }

  // A hazard explains a wrong result.
  bool is_over(const SearchForReasons& search) {
    return judge_.judged.device_lost || search.is_over() || judge_.has_hazard();
  }

  Diagnosis reason_for_one(const Failure& failure, bool has_exact_sum) {
    if (failure.given.kind == Kind::cancelling && !has_exact_sum) {
      return {"rounded-on-the-way",
              "In double, every sum of these numbers is exact, in whatever order they are added, and the "
              "result fits into a float. Where sums in float are exact too, the same code is right: so "
              "before the end, a sum is rounded to float.",
              true};
    }
    const Sequence input = input_of(rung_, failure);
    return failure.given.rows == 1 ? diagnose_wrong(rung_, *failure.variant, failure.given, input,
                                                    failure.results[0], judge_.judged.device_lost)
                                   : diagnose_wrong_rows(rung_, *failure.variant, failure.given, input,
                                                         failure.results, judge_.judged.device_lost);
  }

  void sort_by_what_they_show() {
    std::ranges::stable_sort(sums_, {}, [](const Failure& failure) {
      return std::tuple(!is_usual(failure),
                        std::abs(std::log((static_cast<double>(failure.given.n) + 1) / 1001)));
    });
    // If that takes too long, the smallest input is the next best.
    const auto smallest = std::min_element(
        sums_.begin() + 1, sums_.end(), [](const Failure& a, const Failure& b) { return size(a) < size(b); });
    if (smallest != sums_.end()) std::iter_swap(sums_.begin() + 1, smallest);
  }
  static std::size_t size(const Failure& failure) { return failure.given.n < 31 ? no_size : failure.given.n; }

  // The reason of this failure, or of one like it that shows more.
  Found look_at(Failure failure, const SearchForReasons& search) {
    Found found{std::move(failure), {}};
    const std::size_t n = found.failure.given.n;
    const unsigned half = found.failure.given.block / 2;
    // What shows only with many blocks shows as well, and is found sooner, with few elements in small blocks.
    if (n > few_elements) look_at_another(found, few_elements, small_block(), search);
    if (found.reason.kind.empty() && has_as_many_blocks_as_threads(found.failure))
      look_at_another(found, n, half, search);
    if (found.reason.kind.empty()) found.reason = reason_of(found.failure, search);
    if (is_ambiguous(found))
      look_at_another(found, found.failure.given.n, found.failure.given.block / 2, search);
    // With few elements, the result may be nothing or one block's part, where many elements show more.
    const bool may_be_kahan = rung_.is_kahan && found.reason.kind == "twice";
    if (found.reason.kind == "nothing-read") look_at_another(found, many_elements, 32, search);
    if (found.reason.kind == "nothing-added" || found.reason.kind == "only-block-0" || may_be_kahan)
      look_at_another(found, prime_near_a_million, found.failure.given.block, search);
    return found;
  }

  // Takes another case in place of this one, if it is wrong too and its reason is found.
  void look_at_another(Found& found, std::size_t n, unsigned block, const SearchForReasons& search) {
    Case given = found.failure.given;
    const bool is_same = n == given.n && block == given.block;
    if (is_same || block < rung_.min_block || n > rung_.most_elements(block)) return;
    given.n = n, given.block = block;
    if (!judge_.is_wrong(*found.failure.variant, given, check_for(given))) return;
    const Failure other = failures().back();
    sums_.push_back(other);
    if (Diagnosis reason = reason_of(other, search); reason.specific) found = {other, std::move(reason)};
  }

  Diagnosis reason_of(const Failure& failure, const SearchForReasons& search) {
    return diagnose_wrong(rung_, *failure.variant, failure.given, input_of(rung_, failure),
                          failure.results[0], judge_.judged.device_lost, &search);
  }

  // There are as many blocks as threads in each, and the diagnosis names that number: which of the two is it?
  static bool is_ambiguous(const Found& found) {
    const unsigned block = found.failure.given.block;
    return resident_blocks(block) == block && found.reason.times == block;
  }

  // Whether each block adding what one should and each thread of a block doing so look the same.
  bool has_as_many_blocks_as_threads(const Failure& failure) {
    const Sequence input = input_of(rung_, failure);
    return blocks_launched_by([&] {
             judge_.judged.device_lost = run_once(*failure.variant, failure.given, input).device_lost;
           }) == failure.given.block;
  }

  // For a rung that is wrong only with numbers of threads other than the usual one.
  static void add_what_the_block_says(Diagnosis& found) {
    if (found.kind.empty()) found.kind = "block-size", found.specific = true;
    found.text += fmt::format("{}With {} threads per block it is right: is that number, or another that fits "
                              "only it, written into the code (hard-coded) in place of blockDim.x?",
                              found.text.empty() ? "" : " ", usual_block);
  }

  unsigned
  small_block() const { // of four warps, so that the first, all but the last, and a block are told apart
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
  search.explain_each();
  search.explain_sums();
}

} // namespace lab
