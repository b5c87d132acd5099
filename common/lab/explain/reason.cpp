#include "explain/reason.hpp"

#include "explain/weights.hpp"
#include "explain/where_values_went.hpp"
#include "judge/judge.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"

#include <algorithm>
#include <optional>

namespace lab {
namespace {

// Follows the values of one more run to its first wrong result. The kind is empty if they do not show why.
Diagnosis follow_values(const Rung& rung, const Variant& variant, const Case& given, const Sequence& input,
                        bool& device_lost) {
  constexpr std::size_t most_elements = 20'000;                   // a node for each value of each thread
  const bool in_one_process = variant.processes.begin == nullptr; // others keep graphs of their own
  if (!on_emulator() || given.n > most_elements || !in_one_process) return {};
  const Outcome outcome = run_followed(variant, given, input);
  device_lost = outcome.device_lost;
  for (std::size_t row = 0; row < outcome.results.size(); ++row)
    if (!is_right(expect(rung, given, input, row), outcome.results[row]))
      return from_values(outcome, given, input, row);
  return {};
}

} // namespace

Diagnosis diagnose_wrong(const Rung& rung, const Variant& variant, const Case& given, const Sequence& input,
                         double got, bool& device_lost, const SearchForReasons* to_find_weights) {
  if (Diagnosis found = follow_values(rung, variant, given, input, device_lost);
      !found.kind.empty() || device_lost)
    return found;
  Symptom symptom{given,          resident_blocks(given.block), {}, {}, rung.max_n != nullptr, on_emulator(),
                  variant.by_rows};
  symptom.is_kahan = rung.is_kahan;
  symptom.combines = std::any_of(rung.variants, rung.variants + rung.variant_count,
                                 [](const Variant& each) { return each.has_own_operator; });
  symptom.observations.push_back({&input, reduce(input, 0, given.n).value, got});
  const auto result_on = [&](const Sequence& sequence) -> std::optional<double> {
    if (device_lost) return std::nullopt;
    Case same = given;
    same.kind = sequence.kind;
    const Outcome outcome = run_once(variant, same, sequence);
    device_lost = outcome.device_lost;
    if (device_lost || outcome.results.empty()) return std::nullopt;
    return outcome.results[0];
  };
  symptom.launched_blocks = blocks_launched_by([&] {
    if (const auto again = result_on(input)) symptom.again.push_back(*again);
  });
  if (const auto again = result_on(input)) symptom.again.push_back(*again);
  const Sequence other = with_other_numbers(input);
  if (const auto on_other = result_on(other)) {
    symptom.observations.push_back({&other, reduce(other, 0, given.n).value, *on_other});
  }
  const Sequence rounding = make_sequence(variant.type, rung.op, Kind::rounding, given.n, input.seed);
  if (rung.is_kahan) {
    if (const auto on_rounding = result_on(rounding))
      symptom.of_rounding.push_back({&rounding, reduce(rounding, 0, given.n).value, *on_rounding});
  }
  Diagnosis found = diagnose(symptom);
  if (found.specific || !to_find_weights) return found;
  const WithoutChecks fast; // there was nothing to see
  const auto weights = find_weights(symptom, [&](const Sequence& probe) -> std::optional<double> {
    return to_find_weights->is_over() ? std::nullopt : result_on(probe);
  });
  return weights ? describe(*weights, symptom) : found;
}

Diagnosis diagnose_wrong_rows(const Rung& rung, const Variant& variant, const Case& given,
                              const Sequence& input, const std::vector<double>& got, bool& device_lost) {
  if (Diagnosis found = follow_values(rung, variant, given, input, device_lost);
      !found.kind.empty() || device_lost)
    return found;
  const auto observed = [&](const Sequence& sequence, const std::vector<double>& results) {
    RowObservation seen{&sequence, {}, results};
    for (std::size_t row = 0; row < given.rows; ++row) {
      seen.expected.push_back(expect(rung, given, sequence, row).reference.value);
    }
    return seen;
  };
  const Sequence other = with_other_numbers(input);
  const Outcome on_other = run_once(variant, given, other);
  device_lost = on_other.device_lost;
  if (on_other.results.size() != given.rows) return {};
  return diagnose_rows(given, std::vector{observed(input, got), observed(other, on_other.results)});
}

} // namespace lab
