#include "program/check_rung.hpp"

#include "explain/reason.hpp"
#include "input/cases.hpp"
#include "judge/judge.hpp"
#include "run/device.hpp"
#include "run/devices/ranks.hpp"
#include "run/emulator.hpp"
#include "run/runner.hpp"
#include "run/watchdog.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <tuple>
#include <utility>

#include <cuda_runtime_api.h>

namespace lab {
namespace {

std::string prefix_of(const Rung& rung, const Variant& variant) {
  if (variant.has_own_operator)
    return fmt::format("{}, {}, ", name_of(variant.own_operator), name_of(variant.type));
  return rung.variant_count > 1 ? fmt::format("{}, ", name_of(variant.type)) : "";
}

// On a GPU: sizes up to and beyond 2^32 elements, as long as they fit into memory and take no more than two
// seconds.
void check_large(const Rung& rung, const Variant& variant, const Options& options, Checked& checked) {
  using clock = std::chrono::steady_clock;
  double seconds_an_element = 0;
  for (const std::size_t n :
       {(std::size_t{1} << 26) + 5, (std::size_t{1} << 31) + 77, (std::size_t{1} << 32) + 1234}) {
    std::size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    const unsigned block = block_for(rung, options);
    const unsigned devices = devices_for(variant);
    const Case given{Kind::exact, n, 1, block, 0, devices};
    Check check = check_for(given);
    if (n > rung.most_elements(block)) return;
    if (static_cast<double>(n) / devices * static_cast<double>(size_of(variant.type)) >
        0.9 * static_cast<double>(free_bytes)) {
      check.skipped = true, check.message = "does not fit into this device's memory";
    } else if (seconds_an_element * static_cast<double>(n) > 2) {
      check.skipped = true, check.message = "would take longer than 2 s";
    } else {
      const Sequence input =
          make_sequence(variant.type, rung.operator_of(variant), given.kind, n, options.seed);
      const auto start = clock::now();
      const Outcome outcome = run_once(variant, given, input);
      seconds_an_element =
          std::chrono::duration<double>(clock::now() - start).count() / static_cast<double>(n);
      judge(rung, given, input, outcome, check);
      checked.device_lost = outcome.device_lost;
    }
    checked.checks.push_back(check);
    if (!check.ok) return;
  }
}

class Checker {
  using Clock = std::chrono::steady_clock;

public:
  Checker(const Rung& rung, const Options& options, Progress& progress)
      : rung_(rung), options_(options), progress_(progress), seed_(options.seed) {}

  Checked check() {
    for (int i = 0; i < rung_.variant_count && !is_over(); ++i) {
      if (rung_.variants[i].has_own_operator) continue; // check_other_operators()
      check_variant(rung_.variants[i]);
      if (has_telling_failure()) break; // the other types would say the same
    }
    if (!failures_.empty() && !device_lost_) find_reason();
    return {progress_.so_far(), device_lost_, not_a_number_};
  }

private:
  struct Failure {
    const Variant* variant;
    Case given;
    std::uint64_t seed; // of the input
    std::size_t check;  // which
    double got;
  };

  // A hazard explains a wrong result, so no other reason is looked for then.
  bool is_over() { return device_lost_ || (search_ && (search_->is_over() || has_hazard())); }

  // Only a run adds to the emulator's report, which is long: it is read once after each.
  bool has_hazard() {
    if (!on_emulator()) return false;
    if (const std::size_t runs = runner().runs(); runs != runs_looked_at_) {
      std::vector<Hazard> hazards = recorded_so_far().hazards;
      leave_out_harmless(hazards, !search_, not_a_number_);
      has_hazard_ = !hazards.empty();
      runs_looked_at_ = runs;
    }
    return has_hazard_;
  }

  // A kernel with a hazard needs no further inputs if those so far were slow, or if this one will be.
  bool takes_long(const Case& given) const {
    constexpr std::chrono::duration<double> long_enough(3);
    return Clock::now() - begin_ + static_cast<double>(given.n) * per_element_ > long_enough;
  }

  static bool is_usual(const Case& given) { return given.offset == 0 && given.block == usual_block; }

  bool has_telling_failure() const {
    return std::any_of(failures_.begin(), failures_.end(), [](const Failure& failure) {
      return failure.given.n >= 256 && is_usual(failure.given);
    });
  }

  void check_variant(const Variant& variant) {
    const std::string prefix = prefix_of(rung_, variant);
    for (const Case& given : cases_for(rung_, variant, options_, {devices_for(variant), on_emulator()})) {
      if (is_over()) return;
      if (takes_long(given) && has_hazard()) return;
      if (has_telling_failure() && (given.n > std::max(small, largest_wrong_) || search_->takes_long()))
        return;
      check_case(variant, given, check_for(given, prefix));
    }
    if (search_) return;
    if (rung_.deterministic && has_rounding(rung_, variant)) check_order(variant);
    if (!on_emulator() && !options_.n && !variant.by_rows) {
      Checked checked;
      check_large(rung_, variant, options_, checked);
      for (const Check& check : checked.checks) progress_.add(check);
      device_lost_ = checked.device_lost;
    }
  }

  void check_case(const Variant& variant, const Case& given, Check check) {
    const std::uint64_t seed = seed_;
    // When grading, what a host function has seen of one input must say nothing about the next.
    if (options_.grading()) seed_ += 7919;
    const Sequence input = make_sequence(variant.type, rung_.operator_of(variant), given.kind, given.n, seed);
    progress_.runs(check);
    const Clock::time_point begin = Clock::now();
    const Outcome outcome = run_once(variant, given, input);
    constexpr std::size_t tells = 50000; // with few elements, most of the time goes into the launch
    if (given.n >= tells) per_element_ = (Clock::now() - begin) / static_cast<double>(given.n);
    device_lost_ = outcome.device_lost;
    if (outcome.stopped && search_) return; // it was cut short
    judge(rung_, given, input, outcome, check);
    if (!check.ok) {
      not_a_number_ |= !std::isnan(poison(variant.type, given.kind)) &&
                       std::ranges::any_of(outcome.results, [](double result) { return std::isnan(result); });
      progress_.is_wrong(check);
      largest_wrong_ = std::max(largest_wrong_, given.n);
      if (!search_) search_.emplace();
      if (outcome.error.empty() && !is_over()) explain(variant, given, seed, input, outcome, check);
    }
    progress_.add(check);
  }

  // Failures in sums of one array are explained once all are known; other failures, one by one.
  void explain(const Variant& variant, const Case& given, std::uint64_t seed, const Sequence& input,
               const Outcome& outcome, Check& check) {
    if (given.rows == 1 && rung_.op == Operator::add && given.kind == Kind::exact) {
      failures_.push_back({&variant, given, seed, progress_.so_far().size(), outcome.results[0]});
    } else if (given.kind == Kind::cancelling && failures_.empty()) {
      check.diagnosis = {
          "rounded-on-the-way",
          "In double, every sum of these numbers is exact, in whatever order they are added, and the result "
          "fits into a float. Where sums in float are exact too, the same code is right: so before the end, "
          "a sum is rounded to float.",
          true};
    } else {
      check.diagnosis =
          given.rows == 1 ? diagnose_wrong(rung_, variant, given, input, outcome.results[0], device_lost_)
                          : diagnose_wrong_rows(rung_, variant, given, input, outcome.results, device_lost_);
    }
  }

  // Explains the failure that shows most: some blocks and a fraction of one, and numbers that can be worked
  // out by hand. If nothing explains it, the next ones are tried.
  void find_reason() {
    search_.emplace(); // with time of its own
    const auto rank = [](const Failure& failure) {
      const Case& given = failure.given;
      return std::tuple(!is_usual(given), std::abs(std::log((static_cast<double>(given.n) + 1) / 1001)));
    };
    std::stable_sort(failures_.begin(), failures_.end(),
                     [&](const Failure& a, const Failure& b) { return rank(a) < rank(b); });
    // If that takes too long, the smallest input is the next best.
    const auto smallest =
        std::min_element(failures_.begin() + 1, failures_.end(), [](const Failure& a, const Failure& b) {
          const auto size = [](const Failure& failure) {
            return failure.given.n < 31 ? no_size : failure.given.n;
          };
          return size(a) < size(b);
        });
    if (smallest != failures_.end()) std::iter_swap(failures_.begin() + 1, smallest);
    constexpr std::size_t tries = 4;
    const auto of_nothing = std::find_if(failures_.begin(), failures_.end(), [](const Failure& failure) {
      return failure.given.n == 0 && !(failure.got == poison(failure.variant->type, Kind::exact));
    });
    if (of_nothing != failures_.end() && of_nothing->got != 0) {
      return progress_.decide(
          of_nothing->check,
          {"no-elements",
           "There are no elements, and the sum of none is 0: something is added that is not an element, such "
           "as a variable that is never set, or what lies past the end of an array.",
           true});
    }
    for (std::size_t i = 0; i < std::min(tries, failures_.size()) && !is_over(); ++i) {
      Failure telling = failures_[i];
      Diagnosis found;
      // What shows only with many blocks shows as well, and is found sooner, with few elements in small
      // blocks.
      if (telling.given.n > few_elements) look_at(telling, found, few_elements, small_block());
      if (found.kind.empty() && has_as_many_blocks_as_threads(telling))
        look_at(telling, found, telling.given.n, telling.given.block / 2);
      if (found.kind.empty()) found = reason_of(telling);
      if (is_ambiguous(found, telling.given))
        look_at(telling, found, telling.given.n, telling.given.block / 2);
      // With few elements, the result may be nothing or one block's part, where many elements show more.
      const bool may_be_kahan = rung_.is_kahan && found.kind == "twice";
      if (found.kind == "nothing-added" || found.kind == "only-block-0" || may_be_kahan)
        look_at(telling, found, prime_near_a_million, telling.given.block);
      if (telling.given.block != usual_block) add_what_the_block_says(found);
      if (!found.kind.empty()) return progress_.decide(telling.check, std::move(found));
    }
  }

  // For a rung that is wrong only with numbers of threads other than the usual one.
  void add_what_the_block_says(Diagnosis& found) const {
    const bool only_others = std::all_of(failures_.begin(), failures_.end(), [](const Failure& failure) {
      return failure.given.block != usual_block;
    });
    if (!only_others) return;
    if (found.kind.empty()) found.kind = "block-size", found.specific = true;
    found.text += fmt::format("{}With {} threads per block it is right: is that number, or another that fits "
                              "only it, written into the code (hard-coded) in place of blockDim.x?",
                              found.text.empty() ? "" : " ", usual_block);
  }

  // Takes another case in place of this one, if it is wrong too and its reason is found.
  void look_at(Failure& failure, Diagnosis& found, std::size_t n, unsigned block) {
    Case given = failure.given;
    given.n = n, given.block = block;
    const bool is_same = n == failure.given.n && block == failure.given.block;
    if (is_same || block < rung_.min_block || n > rung_.most_elements(block)) return;
    const std::size_t count = failures_.size();
    check_case(*failure.variant, given, check_for(given));
    if (failures_.size() == count) return;
    const Failure other = failures_.back();
    if (Diagnosis of_other = reason_of(other); of_other.specific)
      failure = other, found = std::move(of_other);
  }

  Diagnosis reason_of(const Failure& failure) {
    const Sequence input =
        make_sequence(failure.variant->type, rung_.op, failure.given.kind, failure.given.n, failure.seed);
    return diagnose_wrong(rung_, *failure.variant, failure.given, input, failure.got, device_lost_,
                          &*search_);
  }

  // There are as many blocks as threads in each, and the diagnosis names that number: which of the two is it?
  static bool is_ambiguous(const Diagnosis& found, const Case& given) {
    return resident_blocks(given.block) == given.block &&
           found.text.find(fmt::format("{} times", given.block)) != std::string::npos;
  }

  // Whether each block adding what one should and each thread of a block doing so look the same.
  bool has_as_many_blocks_as_threads(const Failure& failure) {
    const Sequence input =
        make_sequence(failure.variant->type, rung_.op, failure.given.kind, failure.given.n, failure.seed);
    return blocks_launched_by([&] {
             device_lost_ = run_once(*failure.variant, failure.given, input).device_lost;
           }) == failure.given.block;
  }

  void check_order(const Variant& variant) {
    const unsigned block = block_for(rung_, options_);
    const unsigned devices = devices_for(variant);
    const Case given{Kind::rounding, std::min(prime_near_a_million, rung_.most_elements(block)), 1, block, 0,
                     devices};
    const Sequence input =
        make_sequence(variant.type, rung_.operator_of(variant), given.kind, given.n, options_.seed);
    progress_.add(check_same_bits(variant, given, input));
    if (rung_.any_block) progress_.add(check_any_block(rung_, variant, given, input));
  }

  unsigned
  small_block() const { // of four warps, so that the first, all but the last, and a block are told apart
    return std::clamp(128u, rung_.min_block, rung_.max_block);
  }

  static constexpr std::size_t small = 5000; // it takes no time
  static constexpr std::size_t few_elements = 1000;
  static constexpr std::size_t no_size = static_cast<std::size_t>(-1);
  const Rung& rung_;
  const Options& options_;
  Progress& progress_;
  const Clock::time_point begin_ = Clock::now();
  std::chrono::duration<double> per_element_{}; // of the last run
  std::uint64_t seed_;                          // of the next input
  std::optional<SearchForReasons> search_;      // from the first wrong result on
  std::vector<Failure> failures_;
  std::size_t largest_wrong_ = 0; // n
  bool device_lost_ = false, not_a_number_ = false;
  std::size_t runs_looked_at_ = 0; // when has_hazard_ was found out
  bool has_hazard_ = false;
};

} // namespace

Checked check_rung(const Rung& rung, const Options& options, Progress& progress) {
  return Checker(rung, options, progress).check();
}

std::vector<Check> check_other_operators(const Rung& rung, const Options& options) {
  std::vector<Check> checks;
  for (int i = 0; i < rung.variant_count; ++i) {
    const Variant& variant = rung.variants[i];
    if (!variant.has_own_operator) continue;
    const std::string name =
        fmt::format("technique: the kernel with another operator, {}", prefix_of(rung, variant));
    for (const Case& given : cases_for(rung, variant, options, {devices_for(variant), on_emulator()})) {
      if (given.n > 5000) continue; // what is written out in the kernel shows with few elements
      Check check = check_for(given, name);
      const Sequence input =
          make_sequence(variant.type, rung.operator_of(variant), given.kind, given.n, options.seed);
      const Outcome outcome = run_once(variant, given, input);
      const double expected = reduce(input, 0, given.n).value;
      check.ok = outcome.error.empty() && outcome.results.size() == 1 && outcome.results[0] == expected;
      if (!check.ok) {
        check.message = fmt::format(
            "the same kernel is right for {} but wrong for another operator that the lab gives it, {}: from "
            "{} elements it made {:.0f}, {:.0f} expected. So something that belongs to {} is written out in "
            "the kernel: the value to start from, or how two values are combined. It must take both from Op",
            name_of(rung.op), name_of(variant.own_operator), given.n,
            outcome.results.empty() ? 0 : outcome.results[0], expected, name_of(rung.op));
      }
      checks.push_back(check);
      if (!check.ok || outcome.device_lost) return checks;
    }
  }
  return checks;
}

} // namespace lab
