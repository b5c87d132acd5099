#include "explain/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

namespace lab {
namespace {

Diagnosis from_limits(const Symptom& symptom) {
  const Observation& seen = symptom.observations[0];
  if (std::isnan(seen.got)) {
    return {
        "not-a-number",
        "The result is not a number. Either something was used before it was set (the check fills memory "
        "that nothing has written yet with NaN, and a variable that was never set may hold one too), or "
        "an operation made it, such as infinity minus infinity or the square root of a negative number, or "
        "its bits were made as those of another type, such as an int. Is each value set on every path to its "
        "use, even where a thread has no element?",
        true};
  }
  if (seen.got == poison(seen.input->type, symptom.given.kind)) {
    return {"never-written",
            fmt::format("The result is {:.0f}, which the check put there before the launch: nothing has "
                        "changed it.",
                        seen.got),
            true};
  }
  return {};
}

Diagnosis from_runs(const Symptom& symptom) {
  std::vector<double> all{symptom.observations[0].got};
  all.insert(all.end(), symptom.again.begin(), symptom.again.end());
  const auto other = std::find_if(all.begin(), all.end(), [&](double value) { return value != all[0]; });
  if (other == all.end() || std::isnan(all[0])) return {};
  // Where additions round, the last bits of any sum depend on their order, which is no mistake.
  const auto exact = [](double value) { return std::abs(value) <= 0x1p24; };
  if (symptom.given.kind != Kind::exact || !std::all_of(all.begin(), all.end(), exact)) return {};
  return {"different-each-run",
          fmt::format("The same input gave {:.10g}, and then {:.10g}: the result depends on which thread "
                      "comes first, or on what the launch before has left in memory that keeps its values, "
                      "such as a __device__ variable. Is everything there set back before it is used again?",
                      all[0], *other),
          true};
}

// 2^24 and small terms: a thread that starts with 2^24 and adds up in one float loses every element that it
// meets.
Diagnosis from_stalling(const Symptom& symptom) {
  const Sequence& input = *symptom.observations[0].input;
  const bool has_terms = input.kind == Kind::stalling || input.kind == Kind::quarters;
  if (!has_terms || input.n < 2 || input.type != Type::float32) return {};
  const std::size_t grid = std::size_t{symptom.resident_blocks} * symptom.given.block;
  const std::size_t met = ceil_div(input.n, grid) - 1;
  const double lost = static_cast<double>(met) * input[1];
  const bool fits =
      met > 0 && std::all_of(symptom.observations.begin(), symptom.observations.end(),
                             [lost](const Observation& o) { return o.got == o.expected - lost; });
  if (!fits) return {};
  return {
      "stalled",
      fmt::format(
          "The result lacks exactly the {} elements of {:.10g} that the thread whose sum is {}2^24 visits. "
          "A float that large rounds them away, and what it loses does not come back.",
          met, input[1], input[0] < 0 ? "-" : ""),
      true};
}

} // namespace

Diagnosis diagnose(const Symptom& symptom) {
  if (Diagnosis found = from_runs(symptom); !found.kind.empty()) return found;
  if (symptom.is_kahan)
    if (Diagnosis found = mistake_in_kahan(symptom); !found.kind.empty()) return found;
  if (Diagnosis found = from_limits(symptom); !found.kind.empty()) return found;
  return from_stalling(symptom);
}

const Check* most_telling(std::span<const Check> checks) {
  const auto votes = [checks](const Check& check) {
    return std::count_if(checks.begin(), checks.end(),
                         [&](const Check& other) { return other.diagnosis.kind == check.diagnosis.kind; });
  };
  const auto rank = [votes](const Check& check) {
    const double size = std::abs(std::log((static_cast<double>(check.n) + 1) / 1001));
    return std::tuple(!check.diagnosis.specific, -votes(check), !check.usual, size);
  };
  const Check* best = nullptr;
  for (const Check& check : checks) {
    if (check.decides) return &check;
    if (check.diagnosis.kind.empty()) continue;
    if (!best || rank(check) < rank(*best)) best = &check;
  }
  return best;
}

Diagnosis diagnosis_beside(std::span<const Check> checks, const Check& reported) {
  const Check* telling = most_telling(checks);
  if (!telling) return {};
  Diagnosis diagnosis = telling->diagnosis;
  if (telling != &reported)
    diagnosis.text = fmt::format("{}: {}. {}", telling->name, telling->message, diagnosis.text);
  return diagnosis;
}

} // namespace lab
