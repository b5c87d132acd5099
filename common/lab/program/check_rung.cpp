#include "program/check_rung.hpp"

#include "explain/reason_search.hpp"
#include "judge/judge.hpp"
#include "report/verdict.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/runner.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace lab {
namespace {

Checked check(const Rung& rung, CaseJudge& judge, Progress& progress,
              const std::function<void()>& judge_cases) {
  const auto judge_and_explain = [&] {
    judge_cases();
    explain_failures(rung, judge, progress);
  };
  Checked checked;
  if (on_emulator())
    checked.hazards = record(judge_and_explain).hazards;
  else
    judge_and_explain();
  checked.checks = progress.so_far();
  checked.device_lost = judge.judged.device_lost, checked.not_a_number = judge.judged.not_a_number;
  leave_out_harmless(checked.hazards, first_failed(checked.checks) == nullptr, checked.not_a_number);
  return checked;
}

// On the emulator, one run shows the race, whatever its result.
void look_for_race(const Variant& variant, const Case& given, const Sequence& input, Check& check) {
  const std::vector<Hazard> hazards = record([&] { run_once(variant, given, input); }).hazards;
  const auto race = std::ranges::find(hazards, "race", &Hazard::group);
  check.skipped = race == hazards.end();
  check.message =
      check.skipped ? "no race between the work-groups was seen, and there must be one where all of them add"
                    : fmt::format("a race, as it must be: line {}: {}", race->line, race->message);
}

// Elsewhere, it is run until a result is wrong, and a while longer to see how often. If it never is, nothing
// is proved.
void look_for_wrong_result(const Variant& variant, const Case& given, const Sequence& input, Check& check) {
  constexpr int most_tries = 2000, enough = 100;
  const double right = reduce(input, 0, given.n).value;
  int tries = 0, wrong = 0;
  double example = 0;
  for (; tries < most_tries && (tries < enough || wrong == 0); ++tries) {
    const Outcome outcome = run_once(variant, given, input);
    if (outcome.results.at(0) != right) ++wrong, example = outcome.results[0];
  }
  check.skipped = wrong == 0;
  check.message =
      check.skipped
          ? fmt::format("right in all {} runs, by luck: another device or a busier machine can make it wrong",
                        tries)
          : fmt::format("wrong in {} of {} runs, as it must be now and then: {:.9g} instead of {:.9g}", wrong,
                        tries, example, right);
}

} // namespace

Checked check_rung(const Rung& rung, const Options& options, Progress& progress) {
  CaseJudge judge(rung, options, progress);
  return check(rung, judge, progress, [&] { judge.judge_all(); });
}

Checked check_wrong_on_purpose(const Rung& rung, const Options& options, Progress& progress) {
  const Variant& variant = rung.variants[0];
  const unsigned block = block_for(rung, options);
  // One element fewer than there is room for, so that a partner beyond the end shows.
  const Case alone{Kind::exact, std::size_t{2} * block - 1, 1, block, 0};
  CaseJudge judge(rung, options, progress);
  Checked checked = check(rung, judge, progress, [&] {
    Check one_group = check_for(alone);
    one_group.name += ", one work-group";
    judge.is_wrong(variant, alone, one_group);
  });
  if (checked.device_lost || first_failed(checked.checks) || !checked.hazards.empty()) return checked;
  const std::size_t most = rung.most_elements(block);
  const Case given{Kind::exact, std::min(options.n.value_or(most), most), 1, block, 0};
  const Sequence input = make_sequence(variant.type, rung.op, given.kind, given.n, options.seed);
  Check several = check_for(given);
  several.name += ", more work-groups";
  progress.runs(several);
  (on_emulator() ? look_for_race : look_for_wrong_result)(variant, given, input, several);
  progress.add(several);
  checked.checks = progress.so_far();
  return checked;
}

} // namespace lab
