#include "judge/case_judge.hpp"

#include "input/cases.hpp"
#include "input/row_inputs.hpp"
#include "judge/judge.hpp"
#include "judge/technique.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/memory.hpp"
#include "run/runner.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <cuda_runtime_api.h>

namespace lab {
namespace {

constexpr std::size_t small = 5000; // it takes no time

std::string prefix_of(const Rung& rung, const Variant& variant) {
  if (*variant.words) return fmt::format("{}, ", variant.words);
  return rung.variant_count > 1 && !*rung.variants[1].words ? fmt::format("{}, ", name_of(variant.type)) : "";
}

bool is_usual(const Case& given) {
  return given.offset == 0 && given.block == usual_block;
}

} // namespace

bool is_exact_sum(const Rung& rung, const Failure& failure) {
  return rung.row_function == RowFunction::none && failure.given.rows == 1 && rung.op == Operator::add &&
         failure.given.kind == Kind::exact;
}

Sequence input_of(const Rung& rung, const Failure& failure) {
  return make_input(rung, *failure.variant, failure.given, failure.seed);
}

void CaseJudge::judge_all() {
  for (int i = 0; i < rung_.variant_count && !is_over(); ++i) {
    if (rung_.variants[i].has_own_operator) continue; // check_other_operators()
    judge_variant(rung_.variants[i]);
    if (has_telling_failure()) break; // the other types would say the same
  }
  search_.reset();
}

bool CaseJudge::is_wrong(const Variant& variant, const Case& given, Check check) {
  Failure failure{&variant, given, seed_, 0, {}, 0};
  // When grading, what a host function has seen of one input must say nothing about the next.
  if (options_.grading()) seed_ += 7919;
  const Sequence input = input_of(rung_, failure);
  progress_.runs(check);
  const Clock::time_point begin = Clock::now();
  const Outcome outcome = run_once(variant, given, input);
  constexpr std::size_t tells = 50000; // with few elements, most of the time goes into the launch
  failure.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (given.n >= tells)
    per_element_ = std::chrono::duration<double>(failure.seconds) / static_cast<double>(given.n);
  judged.device_lost = outcome.device_lost;
  if (outcome.stopped && judged.wrong) return false; // it was cut short
  judge(rung_, given, input, outcome, check);
  if (!check.ok) {
    judged.wrong = true;
    judged.not_a_number |=
        !std::isnan(poison(variant.type, given.kind)) &&
        std::ranges::any_of(outcome.results, [](double result) { return std::isnan(result); });
    largest_wrong_ = std::max(largest_wrong_, given.n);
  }
  failure.check = progress_.so_far().size();
  progress_.add(check);
  if (check.ok || !outcome.error.empty()) return false;
  failure.results = outcome.results;
  judged.failures.push_back(std::move(failure));
  return true;
}

// Only a run adds to the emulator's report, which is long: it is read once after each.
bool CaseJudge::has_hazard() {
  if (!on_emulator()) return false;
  if (const std::size_t runs = runner().runs(); runs != runs_looked_at_) {
    std::vector<Hazard> hazards = recorded_so_far().hazards;
    leave_out_harmless(hazards, !judged.wrong, judged.not_a_number);
    has_hazard_ = !hazards.empty();
    runs_looked_at_ = runs;
  }
  return has_hazard_;
}

bool CaseJudge::is_over() {
  return judged.device_lost || (search_ && (search_->is_over() || has_hazard()));
}

// A kernel with a hazard needs no further inputs if those so far were slow, or if this one will be.
bool CaseJudge::takes_long(const Case& given) const {
  constexpr std::chrono::duration<double> long_enough(3);
  return Clock::now() - begin_ + static_cast<double>(given.n) * per_element_ > long_enough;
}

// What makes a kernel slow is often what its counts tell. They are taken with fewer elements.
bool CaseJudge::breaks_promise() {
  if (!on_emulator() || options_.n || options_.grading() || judged.wrong || rung_.cannot_be_right)
    return false;
  if (!breaks_promise_) {
    const Technique technique = check_technique(rung_, options_);
    breaks_promise_ = std::ranges::any_of(technique.promises, [](const Check& check) { return !check.ok; });
  }
  return *breaks_promise_;
}

bool CaseJudge::has_telling_failure() const {
  return std::ranges::any_of(judged.failures, [this](const Failure& failure) {
    return failure.given.n >= 256 && is_usual(failure.given) && is_exact_sum(rung_, failure);
  });
}

void CaseJudge::judge_variant(const Variant& variant) {
  const std::string prefix = prefix_of(rung_, variant);
  std::vector<Case> cases =
      cases_for(rung_, variant, options_,
                {devices_for(variant), on_emulator(), device().largest_block, device().memory});
  for (auto given = cases.begin(); given != cases.end(); ++given) {
    if (is_over()) return;
    if (takes_long(*given) && (has_hazard() || breaks_promise())) return;
    if (has_telling_failure() &&
        (variant.by_rows || given->n > std::max(small, largest_wrong_) || search_->takes_long()))
      return;
    is_wrong(variant, *given, check_for(*given, prefix));
    if (!judged.wrong || search_) continue;
    search_.emplace();
    // The reason shows best in a single row, and a kernel that does the work of all rows in each takes long.
    std::stable_partition(given + 1, cases.end(), [](const Case& later) { return later.rows == 1; });
  }
  if (judged.wrong) return;
  if (rung_.deterministic && has_rounding(rung_, variant)) judge_order(variant);
  if (!on_emulator() && !options_.n && !variant.by_rows) judge_large(variant);
}

void CaseJudge::judge_order(const Variant& variant) {
  const unsigned block = block_for(rung_, options_);
  const std::size_t n = std::min(prime_near_a_million, rung_.most_elements(block));
  const Case given{Kind::rounding, n, 1, block, 0, devices_for(variant)};
  const auto input_with = [&](const Case& of, std::uint64_t seed) {
    return make_sequence(variant.type, rung_.operator_of(variant), of.kind, of.n, seed);
  };
  const Sequence input = input_with(given, options_.seed);
  Check same = check_same_bits(variant, given, input, judged.device_lost);
  // Another order makes the same bits of every other input, and with few elements a run takes no time.
  Case few = given;
  few.n = std::min<std::size_t>(n, 20'011);
  const unsigned more = on_emulator() && !variant.over_devices ? 4 : 0;
  for (unsigned i = 1; i <= more && same.ok && !judged.device_lost; ++i)
    same = check_same_bits(variant, few, input_with(few, options_.seed + i), judged.device_lost);
  progress_.add(same);
  if (rung_.any_block && !judged.device_lost)
    progress_.add(check_any_block(rung_, variant, given, input, judged.device_lost));
}

// On a GPU: sizes up to and beyond 2^32 elements, as long as they fit into memory and take no more than two
// seconds.
void CaseJudge::judge_large(const Variant& variant) {
  double seconds_an_element = 0;
  for (const std::size_t n :
       {(std::size_t{1} << 26) + 5, (std::size_t{1} << 31) + 77, (std::size_t{1} << 32) + 1234}) {
    std::size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    const unsigned block = block_for(rung_, options_);
    const unsigned devices = devices_for(variant);
    const Case given{Kind::exact, n, 1, block, 0, devices};
    Check check = check_for(given);
    if (n > rung_.most_elements(block)) return;
    if (static_cast<double>(n) / devices * static_cast<double>(size_of(variant.type)) >
        0.9 * static_cast<double>(free_bytes)) {
      check.skipped = true, check.message = "does not fit into this device's memory";
    } else if (seconds_an_element * static_cast<double>(n) > 2) {
      check.skipped = true, check.message = "would take longer than 2 s";
    } else {
      const Sequence input =
          make_sequence(variant.type, rung_.operator_of(variant), given.kind, n, options_.seed);
      const auto start = Clock::now();
      try {
        const Outcome outcome = run_once(variant, given, input);
        seconds_an_element =
            std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(n);
        judge(rung_, given, input, outcome, check);
        judged.device_lost = outcome.device_lost;
      } catch (
          const OutOfMemory& error) { // another program was faster, or the rung's scratch memory is large
        check.skipped = true, check.message = error.what();
      }
    }
    progress_.add(check);
    if (!check.ok) return;
  }
}

} // namespace lab
