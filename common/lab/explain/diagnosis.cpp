#include "explain/diagnosis.hpp"

#include "explain/mistakes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <tuple>

namespace lab {
namespace {

// The block whose part alone is the result, if there is one: blocks overwrite each other.
std::optional<std::size_t> block_alone(const Observation& observation, std::size_t part) {
  const std::size_t n = observation.input->n;
  if (n <= part || n / part > 10000) return std::nullopt;
  for (std::size_t first = 0; first < n; first += part) {
    if (reduce(*observation.input, first, first + part).value == observation.got) return first / part;
  }
  return std::nullopt;
}

Diagnosis one_block_alone(const Symptom& symptom) {
  for (const unsigned each : {1u, 2u, 4u}) {
    for (const Observation& observation : symptom.observations) {
      const auto found = block_alone(observation, std::size_t{each} * symptom.given.block);
      if (!found) break;
      if (&observation == &symptom.observations.back()) {
        return {"overwritten",
                fmt::format("The result is exactly block {}'s sum: the blocks overwrite each other's result "
                            "instead of adding to it.",
                            *found),
                true};
      }
    }
  }
  return {};
}

// The one element that is missing or was added once more than it should.
Diagnosis one_element(const Symptom& symptom) {
  const Sequence& first = *symptom.observations[0].input;
  if (first.n < 2 || first.n > 4096) return {};
  for (std::size_t i = 0; i < first.n; ++i) {
    for (const double sign : {-1.0, 1.0}) {
      const bool fits =
          std::all_of(symptom.observations.begin(), symptom.observations.end(),
                      [&](const Observation& o) { return o.got == o.expected + sign * (*o.input)[i]; });
      if (!fits) continue;
      return {sign < 0 ? "missing-element" : "doubled-element",
              fmt::format("The result is right except for element {}, which {}.", i,
                          sign < 0 ? "is missing" : "was added twice"),
              true};
    }
  }
  return {};
}

Diagnosis from_limits(const Symptom& symptom) {
  const Observation& seen = symptom.observations[0];
  const Type type = seen.input->type;
  if (std::isnan(seen.got)) {
    return {"not-a-number",
            "The result is not a number: the check fills memory that nothing has written yet with NaN, and a "
            "variable that was never set may hold a NaN too, so something was used before it was set. Is "
            "each value set on every path to its use, even where a thread has no element?",
            true};
  }
  if ((type == Type::int32 || type == Type::uint32) && seen.got != seen.expected &&
      std::remainder(seen.got - seen.expected, 0x1p32) == 0) {
    return {"integer-overflow",
            "The result differs from the right one by a multiple of 2^32: a sum overflowed.", true};
  }
  if (type == Type::float32 && seen.got == 0x1p24 && seen.expected > 0x1p24) {
    return {"float-saturation",
            "The result stopped at 16777216 = 2^24: from there on, a float can no longer count in ones, and "
            "adding 1 changes nothing.",
            true};
  }
  return {};
}

// The bits of a number taken for those of a number of another type.
Diagnosis from_bits(const Symptom& symptom) {
  const auto all = [&](const auto& predicted) {
    return std::ranges::all_of(symptom.observations, [&](const Observation& seen) {
      return seen.expected != 0 && predicted(seen.expected) == seen.got;
    });
  };
  if (symptom.observations[0].input->type != Type::float32 || symptom.given.kind != Kind::exact) return {};
  const bool converted = all([](double right) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::int32_t>(right)));
  });
  const bool not_converted = all([](double right) {
    return static_cast<double>(static_cast<float>(std::bit_cast<std::int32_t>(static_cast<float>(right))));
  });
  if (!converted && !not_converted) return {};
  return {"bits",
          converted ? "The result has the bits of the right number as an integer: on the way, a float is "
                      "converted to an integer, and the integer's bits are then taken for those of a float."
                    : "The result is the number that the right float's bits are as an integer: on the way, "
                      "the bits of a float are taken for those of an integer, which is then converted.",
          true};
}

// Whole numbers although the elements are not whole.
Diagnosis from_whole_numbers(const Symptom& symptom) {
  if (symptom.given.kind != Kind::rounding || symptom.observations.size() < 2) return {};
  const bool fits =
      std::all_of(symptom.observations.begin(), symptom.observations.end(), [](const Observation& seen) {
        return seen.got == std::floor(seen.got) && std::abs(seen.got) < 0x1p23 &&
               seen.expected != std::floor(seen.expected);
      });
  if (!fits) return {};
  return {"whole-numbers",
          "The result is a whole number, though the elements are not: on the way, values pass through an int "
          "(a variable, a parameter or a result of that type), which cuts off the fraction.",
          true};
}

// Doubles that are right to a float's precision and no further.
Diagnosis from_few_digits(const Symptom& symptom) {
  constexpr double of_float = 0x1p-17, of_double = 0x1p-34; // units in which some operations round
  if (symptom.given.kind != Kind::rounding || symptom.observations.size() < 2) return {};
  const bool fits =
      std::all_of(symptom.observations.begin(), symptom.observations.end(), [](const Observation& seen) {
        const double error = std::abs(seen.got - seen.expected);
        return seen.input->type == Type::float64 && error < of_float * std::abs(seen.expected) &&
               error > of_double * std::abs(seen.expected);
      });
  if (!fits) return {};
  return {"float-digits",
          "Only the first digits of the result are right, as many as a float holds: on the way, doubles are "
          "rounded to float (by a variable, a parameter or an operation for floats).",
          true};
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
  return {"stalled",
          fmt::format(
              "The result lacks exactly {:.10g}: the {} elements that the thread whose sum is 2^24 visits. A "
              "float that large rounds them away, and what it loses is not kept.",
              lost, met),
          true};
}

// A sum that was kept in 16 bits, seen on several inputs: less telling than any other mistake that fits.
Diagnosis from_short_sums(const Symptom& symptom) {
  const bool fits =
      symptom.observations.size() > 1 &&
      std::all_of(symptom.observations.begin(), symptom.observations.end(), [](const Observation& o) {
        const double most = 0x1p16 * static_cast<double>(o.input->n); // for n such sums
        return o.got != o.expected && std::abs(o.got) <= most &&
               std::remainder(o.got - o.expected, 0x1p16) == 0;
      });
  if (!fits) return {};
  return {"integer-overflow",
          "The result differs from the right one by a multiple of 2^16: a sum was kept in 16 bits and "
          "overflowed.",
          true};
}

} // namespace

Diagnosis diagnose(const Symptom& symptom) {
  if (Diagnosis found = from_runs(symptom); !found.kind.empty()) return found;
  if (symptom.is_kahan)
    if (Diagnosis found = mistake_in_kahan(symptom); !found.kind.empty()) return found;
  if (Diagnosis found = from_limits(symptom); !found.kind.empty()) return found;
  if (Diagnosis found = from_bits(symptom); !found.kind.empty()) return found;
  if (Diagnosis found = from_stalling(symptom); !found.kind.empty()) return found;
  if (Diagnosis found = from_whole_numbers(symptom); !found.kind.empty()) return found;
  if (Diagnosis found = from_few_digits(symptom); !found.kind.empty()) return found;
  if (symptom.given.kind != Kind::exact || symptom.given.rows != 1) return {};
  if (symptom.observations[0].input->op != Operator::add) return mistake_in_operator(symptom);
  std::vector<View> views;
  for (const Observation& observation : symptom.observations) {
    if (observation.input->n > (std::size_t{1} << 24)) return {}; // would take longer than a student waits
    views.push_back({observation, Places(*observation.input, symptom.given.block)});
  }
  Diagnosis vague;
  for (const Hypothesis& hypothesis : mistakes_in_sums(symptom)) {
    const bool fits = std::all_of(views.begin(), views.end(), [&](const View& view) {
      const double predicted = hypothesis.predict(view);
      // A result of 0 says little: any mistake that loses these few elements gives it.
      const bool tells = predicted != 0 || !hypothesis.specific;
      return tells && predicted == view.observation.got && predicted != view.observation.expected;
    });
    if (!fits || (!hypothesis.specific && !vague.kind.empty())) continue;
    Diagnosis found{hypothesis.kind, hypothesis.text(), hypothesis.specific, hypothesis.times};
    if (found.specific) return found;
    vague = std::move(found);
  }
  // Where races are reported, blocks that overwrite each other's result are among them, so this must be
  // something else.
  if (Diagnosis found = one_block_alone(symptom); !symptom.races_are_told && !found.kind.empty())
    return found;
  if (Diagnosis found = one_element(symptom); !found.kind.empty()) return found;
  if (Diagnosis found = from_short_sums(symptom); !found.kind.empty()) return found;
  return vague;
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

Diagnosis diagnosis_beside(std::span<const Check> checks, const Check& told) {
  const Check* telling = most_telling(checks);
  if (!telling) return {};
  Diagnosis diagnosis = telling->diagnosis;
  if (telling != &told)
    diagnosis.text = fmt::format("{}: {}. {}", telling->name, telling->message, diagnosis.text);
  return diagnosis;
}

} // namespace lab
