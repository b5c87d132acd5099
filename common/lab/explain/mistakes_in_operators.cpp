#include "explain/mistakes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <optional>

namespace lab {
namespace {

const char* what_of_two(Operator op) {
  return op == Operator::min   ? "the smaller of the two"
         : op == Operator::max ? "the greater of the two"
                               : "the product of both";
}

bool all_of(const Symptom& symptom, const std::function<bool(const Observation&)>& holds) {
  return std::all_of(symptom.observations.begin(), symptom.observations.end(), holds);
}

// The wrong number that every observation gave, if it is the same one.
std::optional<double> constant_of(const Symptom& symptom) {
  const double value = symptom.observations[0].got;
  const bool same =
      all_of(symptom, [=](const Observation& o) { return o.got == value && o.expected != value; });
  return same ? std::optional(value) : std::nullopt;
}

std::optional<std::size_t> place_of(const Sequence& input, double value) {
  for (std::size_t i = 0; i < input.n; ++i) {
    if (input[i] == value) return i;
  }
  return std::nullopt;
}

// Where the number that a minimum or maximum starts from comes from, if that is well known.
std::string origin_of(Type type, double value) {
  const bool is_double = type == Type::float64;
  const double tiny = is_double ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  if (value != tiny) return "";
  return fmt::format(", the smallest number above 0, which is what numeric_limits<{}>::min() returns",
                     name_of(type));
}

// A number that no input holds and that beats every element: it was there from the start.
Diagnosis from_start(const Symptom& symptom, double value) {
  const Sequence& input = *symptom.observations[0].input;
  const bool is_max = input.op == Operator::max;
  const bool beats =
      all_of(symptom, [=](const Observation& o) { return is_max ? value > o.expected : value < o.expected; });
  if (!beats) return {};
  return {"wrong-identity",
          fmt::format("The result is {:.10g}{}, but every element is {} that: a {} must start from the {} "
                      "possible value.",
                      value == 0 ? 0 : value, origin_of(input.type, value), is_max ? "below" : "above",
                      name_of(input.op), is_max ? "least" : "greatest"),
          true};
}

// The number that every input gives.
Diagnosis from_constant(const Symptom& symptom) {
  const std::optional<double> value = constant_of(symptom);
  if (!value) return {};
  const Sequence& input = *symptom.observations[0].input;
  const std::string_view op = name_of(input.op);
  if (*value == poison(input.type, Kind::exact)) {
    return {"never-written",
            fmt::format("The result is {:.0f}, which the check put there before the launch: nothing was "
                        "written to it, or its old value was included in the reduction.",
                        *value),
            true};
  }
  const double start = identity(input.type, input.op);
  if (input.n == 0) {
    return {"wrong-identity",
            fmt::format(
                "There are no elements, so the result must be the identity, {:.10g}: a {} starts from it.",
                start, op),
            false};
  }
  if (*value == start) {
    return {"identity-left",
            fmt::format("The result is {:.10g}, the identity, as if there were no elements. Either none was "
                        "taken, or two values are combined wrongly: the identity and an element, in either "
                        "order, must give the element, which is {}.",
                        start, what_of_two(input.op)),
            true};
  }
  if (input.op != Operator::product) return from_start(symptom, *value);
  if (*value != 0) return {};
  return {"wrong-identity",
          "The result is 0, but no factor is: a 0 got in among them. A product must start from 1, and a "
          "thread with no element must contribute 1.",
          true};
}

// As the type computes: integers wrap, floats round.
double in_type(Type type, double value) {
  if (type == Type::float32) return static_cast<float>(value);
  if (type == Type::float64 || std::abs(value) >= 0x1p53) return value;
  const double wrapped = std::fmod(value, 0x1p32);
  if (type == Type::uint32) return wrapped < 0 ? wrapped + 0x1p32 : wrapped;
  return wrapped < -0x1p31 ? wrapped + 0x1p32 : wrapped >= 0x1p31 ? wrapped - 0x1p32 : wrapped;
}

std::string_view noun(Operator op) {
  constexpr std::string_view nouns[] = {"sum", "minimum", "maximum", "product"};
  return nouns[static_cast<int>(op)];
}

// Elements that are reduced together, before the groups' results are.
struct Groups {
  const char* name;
  std::size_t count;
  std::function<std::size_t(std::size_t)> of; // element i's
};

double in_groups(const Sequence& input, const Groups& groups, Operator outer) {
  std::vector<double> values(groups.count, identity(input.type, input.op));
  for (std::size_t i = 0; i < input.n; ++i) {
    double& value = values[groups.of(i)];
    value = apply(input.op, value, input[i]);
  }
  double all = identity(input.type, outer);
  for (const double value : values) all = in_type(input.type, apply(outer, all, value));
  return all;
}

// Another operator, for all elements or for the results of warps or blocks.
Diagnosis from_other_operator(const Symptom& symptom) {
  const Sequence& input = *symptom.observations[0].input;
  const std::size_t n = input.n, block = symptom.given.block, blocks = symptom.resident_blocks;
  const Groups ways[] = {{"elements", n, [](std::size_t i) { return i; }},
                         {"warps", block / 32, [=](std::size_t i) { return i % block / 32; }},
                         {"blocks", ceil_div(n, block), [=](std::size_t i) { return i / block; }},
                         {"blocks", blocks, [=](std::size_t i) { return i / block % blocks; }}};
  for (const Groups& groups : ways) {
    if (groups.count < 2) continue;
    for (const Operator outer : {Operator::add, Operator::min, Operator::max, Operator::product}) {
      const bool fits = outer != input.op && all_of(symptom, [&](const Observation& o) {
                          return o.got != o.expected && o.got == in_groups(*o.input, groups, outer);
                        });
      if (!fits) continue;
      const bool elements = &groups == ways;
      const bool bits = input.type == Type::float32 && input.op == Operator::max && outer == Operator::min;
      return {
          "other-operator",
          elements
              ? fmt::format("The result is the {} of the elements, not their {}.", noun(outer),
                            noun(input.op))
              : fmt::format(
                    "The result is the {} of the {}' {}s: those must be combined by the same operator{}.",
                    noun(outer), groups.name, noun(input.op),
                    bits ? " (the bits of negative floats, compared as integers, are in the opposite order)"
                         : ""),
          true};
    }
  }
  return {};
}

// Unsigned numbers compared as signed ones.
Diagnosis from_signs(const Symptom& symptom) {
  const Sequence& input = *symptom.observations[0].input;
  if (input.type != Type::uint32 || input.op == Operator::product || input.n == 0) return {};
  const auto as_signed = [](double value) { return value >= 0x1p31 ? value - 0x1p32 : value; };
  const bool fits = all_of(symptom, [&](const Observation& o) {
    double best = as_signed((*o.input)[0]);
    for (std::size_t i = 1; i < input.n; ++i) best = apply(input.op, best, as_signed((*o.input)[i]));
    return o.got != o.expected && o.got == (best < 0 ? best + 0x1p32 : best);
  });
  if (!fits) return {};
  return {"signed-comparison",
          fmt::format("The result is the {} of the elements taken as signed numbers, of which those from "
                      "2^31 on are negative: unsigned numbers must be compared as unsigned.",
                      name_of(input.op)),
          true};
}

Diagnosis from_narrow_type(const Symptom& symptom) {
  const Type type = symptom.observations[0].input->type;
  const bool fits = type != Type::float32 && all_of(symptom, [](const Observation& o) {
                      return o.got != o.expected && o.got == static_cast<float>(o.expected);
                    });
  if (!fits) return {};
  return {"rounded-to-float",
          fmt::format("The result is the right one rounded to the 24 binary digits of a float: somewhere on "
                      "the way a float was used in place of {}.",
                      name_of(type)),
          true};
}

// A minimum or maximum that is an element, but not the right one.
Diagnosis from_passed_over(const Symptom& symptom) {
  const Sequence& input = *symptom.observations[0].input;
  if (input.op == Operator::product) return {};
  const bool is_element =
      all_of(symptom, [](const Observation& o) { return o.got != o.expected && place_of(*o.input, o.got); });
  if (!is_element) return {};
  const Observation& seen = symptom.observations[0];
  std::string better;
  int count = 0;
  for (std::size_t i = 0; i < input.n; ++i) {
    if (input[i] == seen.got || apply(input.op, input[i], seen.got) != input[i]) continue;
    if (++count <= 3) better += fmt::format("{}{}", count > 1 ? ", " : "", i);
  }
  const bool one = count == 1;
  return {"passed-over",
          fmt::format("The result is element {}, but {} {}{} {} {} and {} passed over.",
                      *place_of(input, seen.got), one ? "element" : "the elements", better,
                      count > 3 ? fmt::format(" and {} more", count - 3) : "", one ? "is" : "are",
                      input.op == Operator::max ? "greater" : "less", one ? "was" : "were"),
          false};
}

} // namespace

Diagnosis mistake_in_operator(const Symptom& symptom) {
  for (const auto look :
       {from_constant, from_narrow_type, from_signs, from_other_operator, from_passed_over}) {
    if (Diagnosis found = look(symptom); !found.kind.empty()) return found;
  }
  return {};
}

} // namespace lab
