// Tries a rung case by case, and judges each.
#pragma once

#include "input/case.hpp"
#include "input/options.hpp"
#include "judge/progress.hpp"
#include "run/watchdog.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lab {

// A case whose result is wrong.
struct Failure {
  const Variant* variant = nullptr;
  Case given;
  std::uint64_t seed = 0; // of the input
  std::size_t check = 0;  // its number in Progress
  std::vector<double> results;
  double seconds = 0; // that the run took
};

// Whether it is the sum of one array, in numbers whose sums are all exact.
bool is_exact_sum(const Rung& rung, const Failure& failure);

// The input that it was given.
Sequence input_of(const Rung& rung, const Failure& failure);

// What has been found out about a rung.
struct Judged {
  std::vector<Failure> failures; // small inputs first
  bool wrong = false;            // a case is, by its result or by an error
  bool device_lost = false;      // nothing more can be run in this process
  bool not_a_number = false;     // a result is a NaN, where the input and the sum's poison are none
};

class CaseJudge {
public:
  CaseJudge(const Rung& rung, const Options& options, Progress& progress)
      : rung_(rung), options_(options), progress_(progress), seed_(options.seed) {}

  // Small inputs come first. Once one gives a wrong result, larger ones are tried only if they help to find
  // the reason, and only for a few seconds.
  void judge_all();
  // One more case. Whether its result is wrong; then it is the last of the failures.
  bool is_wrong(const Variant& variant, const Case& given, Check check);

  // A hazard explains a wrong result, so no other reason is looked for then.
  bool has_hazard();

  Judged judged;

private:
  using Clock = std::chrono::steady_clock;

  bool is_over();
  bool takes_long(const Case& given) const;
  bool breaks_promise();
  bool has_telling_failure() const;
  void judge_variant(const Variant& variant);
  void judge_order(const Variant& variant);
  void judge_large(const Variant& variant);

  const Rung& rung_;
  const Options& options_;
  Progress& progress_;
  const Clock::time_point begin_ = Clock::now();
  std::chrono::duration<double> per_element_{}; // of the last run
  std::uint64_t seed_;                          // of the next input
  std::optional<SearchForReasons> search_;      // while judge_all() runs, from the first wrong result on
  std::size_t largest_wrong_ = 0;               // n
  std::size_t runs_looked_at_ = 0;              // when has_hazard_ was found out
  std::optional<bool> breaks_promise_;          // if it has been looked at
  bool has_hazard_ = false;
};

} // namespace lab
