#include "explain/reason.hpp"

#include "explain/exponential_counts.hpp"
#include "explain/on_the_way.hpp"
#include "explain/row_facts.hpp"
#include "explain/where_values_went.hpp"
#include "judge/judge.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <optional>

namespace lab {
namespace {

// Whether it can be said of each value of a run where it came from.
bool can_be_followed(const Variant& variant, const Case& given) {
  const bool in_one_process = variant.processes.begin == nullptr; // others keep graphs of their own
  return on_emulator() && given.n <= most_followed && in_one_process;
}

// Follows the values of one more run to its first wrong result. The kind is empty if they do not show why.
Diagnosis follow_values(const Rung& rung, const Variant& variant, const Case& given, const Sequence& input,
                        bool& device_lost) {
  const Outcome outcome = run_followed(variant, given, input);
  device_lost = outcome.device_lost;
  for (std::size_t row = 0; row < outcome.results.size(); ++row)
    if (!is_right(expect(rung, given, input, row), outcome.results[row]))
      return from_values(outcome, given, input, row);
  return {};
}

// What the numbers of a wrong row show, and then what the values show that its first wrong result was made
// of.
Diagnosis diagnose_row(const Rung& rung, const Failure& failure, const Sequence& input, bool& device_lost) {
  const Case& given = failure.given;
  Diagnosis facts = facts_of_row(rung, failure, input);
  const auto wrong = first_wrong_result(rung, failure, input);
  if (!wrong || facts.kind == unwritten_results || !can_be_followed(*failure.variant, given)) return facts;
  const Outcome outcome = run_followed(*failure.variant, given, input);
  device_lost = outcome.device_lost;
  if (outcome.followed.graph.empty()) return facts;
  const ValueGraph graph = value_graph_from(outcome.followed.graph);
  if (!graph.complete || graph.roots.size() != given.n) return facts;
  const FollowedResult result(graph, outcome, given, input, *wrong);
  if (const std::string read = unwritten_result_read(result); !read.empty())
    return {"old-result", read.substr(1), true};
  if (!std::isfinite(failure.results[*wrong])) facts.text += first_not_finite(result);
  if (std::isnan(failure.results[*wrong])) return facts;
  if (Diagnosis cut_off = lost_bits(result); !cut_off.kind.empty()) return cut_off;
  if (facts.kind == "wrong-divisor")
    facts.text += counts_of_exponentials(graph, outcome, given, input, *wrong);
  const std::size_t columns = given.n / given.rows;
  if (facts.kind == "many-divisors" && *wrong % columns + 1 < columns &&
      !are_of_one_thread(graph, *wrong, *wrong + 1))
    facts.text +=
        " Do all threads end with the same sum and the same maximum? Where joining a to b makes another "
        "pair than joining b to a, they do not.";
  const std::string missing = unreached(result);
  if (facts.kind.empty() && !missing.empty()) return {"unreached", missing.substr(1), true};
  facts.text += missing;
  return facts;
}

Diagnosis of_integer_bits(const Rung& rung, const Failure& failure, const Sequence& input) {
  if (failure.variant->result_type != Type::float32) return {};
  for (std::size_t row = 0; row < failure.results.size(); ++row) {
    const double expected = expect(rung, failure.given, input, row).reference.value;
    const auto bits = std::bit_cast<std::int32_t>(static_cast<float>(failure.results[row]));
    if (failure.results[row] == expected || bits != expected) continue;
    return {"integer-bits",
            fmt::format(
                "The bits of {:.6g} are those of the integer {}, which would be right: an integer is stored "
                "or added where a float belongs.",
                failure.results[row], bits),
            true};
  }
  return {};
}

// Whether fewer elements make the difference.
bool is_right_with_a_quarter(const Rung& rung, const Failure& failure, bool& device_lost) {
  Failure fewer = failure;
  fewer.given.n /= 4;
  const Sequence input = input_of(rung, fewer);
  const Outcome outcome = run_once(*fewer.variant, fewer.given, input);
  device_lost = device_lost || outcome.device_lost;
  return outcome.error.empty() && outcome.results.size() == 1 &&
         is_right(expect(rung, fewer.given, input, 0), outcome.results[0]);
}

} // namespace

Diagnosis diagnose_wrong(const Rung& rung, const Failure& failure, const Sequence& input, bool& device_lost) {
  const Case& given = failure.given;
  if (rung.row_function != RowFunction::none) return diagnose_row(rung, failure, input, device_lost);
  if (Diagnosis found = of_integer_bits(rung, failure, input); !found.kind.empty()) return found;
  if (can_be_followed(*failure.variant, given)) {
    Diagnosis found = follow_values(rung, *failure.variant, given, input, device_lost);
    if (!found.kind.empty() || device_lost) return found;
  }
  if (given.rows != 1) return {};
  const bool has_many = given.n != 0 && (given.n == rung.emulated_n || given.n == rung.larger_emulated_n);
  if (has_many && is_right_with_a_quarter(rung, failure, device_lost))
    return {"many-elements", rung.on_emulator_with, true};
  const auto result_on = [&](const Sequence& sequence) -> std::optional<double> {
    if (device_lost) return std::nullopt;
    Case same = given;
    same.kind = sequence.kind;
    const Outcome outcome = run_once(*failure.variant, same, sequence);
    device_lost = outcome.device_lost;
    if (device_lost || outcome.results.empty()) return std::nullopt;
    return outcome.results[0];
  };
  Symptom symptom{given, resident_blocks(given.block), {}, {}, rung.is_kahan, {}};
  const auto observe = [&](const Sequence& sequence, std::vector<Observation>& observations) {
    if (const auto got = result_on(sequence))
      observations.push_back({&sequence, reduce(sequence, 0, given.n).value, *got});
  };
  symptom.observations.push_back({&input, reduce(input, 0, given.n).value, failure.results[0]});
  for (int i = 0; i < 2; ++i)
    if (const auto again = result_on(input)) symptom.again.push_back(*again);
  const Sequence other = with_other_numbers(input);
  observe(other, symptom.observations);
  const Sequence rounding =
      make_sequence(failure.variant->type, rung.op, Kind::rounding, given.n, input.seed);
  if (rung.is_kahan) observe(rounding, symptom.of_rounding);
  return diagnose(symptom);
}

Diagnosis left_in_variables(const Rung& rung, const Failure& failure, const Sequence& input,
                            bool& device_lost) {
  const Variant& variant = *failure.variant;
  if (!on_emulator() || variant.over_devices) return {};
  const auto is_right_now = [&] {
    const Outcome outcome = run_once(variant, failure.given, input);
    device_lost = device_lost || outcome.device_lost;
    if (!outcome.error.empty() || outcome.results.size() != failure.results.size()) return false;
    for (std::size_t row = 0; row < outcome.results.size(); ++row)
      if (!is_right(expect(rung, failure.given, input, row), outcome.results[row])) return false;
    return true;
  };
  for (const bool restored : {true, false, true}) {
    if (restored) restore_variables();
    if (is_right_now() != restored || device_lost) return {};
  }
  return {
      "left-in-a-variable",
      "The result is right if all __device__ variables are as they were when the program began, and wrong "
      "after an earlier launch: it leaves in one of them what the next launch does not expect. Which of "
      "them must be set back, by which thread, and when?",
      true};
}

} // namespace lab
