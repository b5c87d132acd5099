#include "explain/weights.hpp"

#include "explain/element_words.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <map>

namespace lab {
namespace {

using ResultOn = std::function<std::optional<double>(const Sequence&)>;

constexpr std::size_t most_one_by_one = 1100, most_runs = 1500;

// Runs the rung on inputs whose values the search chooses.
class Prober {
public:
  Prober(const Sequence& like, const ResultOn& result_on) : input_(like), result_on_(result_on) {
    input_.kind = Kind::exact, input_.period = input_.n;
    input_.values = std::vector<std::byte>(input_.n * size_of(input_.type));
  }

  void set(std::size_t i, double value) {
    store_value(input_.type, value, input_.values.to_change() + i * size_of(input_.type));
  }
  std::optional<double> result() {
    if (++runs_ > most_runs) return std::nullopt;
    const std::optional<double> got = result_on_(input_);
    return got && std::isfinite(*got) ? got : std::nullopt;
  }

private:
  Sequence input_;
  const ResultOn& result_on_;
  std::size_t runs_ = 0;
};

// How many weights one run finds: they are the digits of its result. The result must stay below 2^24, so the
// larger the weights, the fewer of them.
struct Digits {
  double base;
  std::size_t count;
};

bool find_digits(Prober& prober, std::size_t first, const Digits& digits, Weights& weights) {
  const double base = digits.base;
  const std::size_t last = std::min(first + digits.count, weights.of.size());
  double value = 1;
  for (std::size_t i = first; i < last; ++i, value *= base) prober.set(i, value);
  const std::optional<double> got = prober.result();
  for (std::size_t i = first; i < last; ++i) prober.set(i, 0);
  if (!got) return false;
  double rest = *got - weights.constant;
  // A digit may be negative, but not as far as it may be positive. A result that needs more digits than these
  // is not split; each place is then tried alone.
  const double least = -base / 4;
  if (std::abs(rest) < std::pow(base, digits.count) && rest == std::floor(rest)) {
    for (std::size_t i = first; i < last; ++i) {
      const double digit = rest - least - base * std::floor((rest - least) / base) + least;
      weights.of[i] = digit, rest = (rest - digit) / base;
    }
    if (rest == 0) return true;
  }
  for (std::size_t i = first; i < last; ++i) {
    prober.set(i, 1);
    const std::optional<double> alone = prober.result();
    prober.set(i, 0);
    if (!alone) return false;
    weights.of[i] = *alone - weights.constant;
  }
  return true;
}

std::optional<double> result_of_ones(Prober& prober, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) prober.set(i, 1);
  const std::optional<double> result = prober.result();
  for (std::size_t i = 0; i < n; ++i) prober.set(i, 0);
  return result;
}

// Stretches of equal weight, if they are few.
bool find_stretches(Prober& prober, std::size_t first, std::size_t last, std::size_t& runs_left,
                    Weights& weights) {
  if (runs_left < 2) return false;
  runs_left -= 2;
  const auto length = static_cast<double>(last - first);
  for (std::size_t i = first; i < last; ++i) prober.set(i, 1);
  const std::optional<double> ones = prober.result();
  double expected = 0; // if all of them have the same weight
  for (std::size_t i = first; i < last; ++i) {
    const auto value = static_cast<double>(i * 2654435761u % 7);
    prober.set(i, value), expected += value;
  }
  const std::optional<double> others = prober.result();
  for (std::size_t i = first; i < last; ++i) prober.set(i, 0);
  if (!ones || !others) return false;
  const double weight = (*ones - weights.constant) / length;
  if (*others - weights.constant == weight * expected && weight == std::floor(weight)) {
    std::fill(weights.of.begin() + static_cast<std::ptrdiff_t>(first),
              weights.of.begin() + static_cast<std::ptrdiff_t>(last), weight);
    return true;
  }
  if (last - first == 1) return false;
  const std::size_t middle = first + (last - first) / 2;
  return find_stretches(prober, first, middle, runs_left, weights) &&
         find_stretches(prober, middle, last, runs_left, weights);
}

// To the bit, unless the elements count so often that a float must round on the way: each addition may then
// be off by one unit, and most of these errors cancel out.
bool explains(const Weights& weights, const Observation& observation) {
  constexpr double exact_up_to = 0x1p24, most_rounding = 0x1p-10;
  double sum = weights.constant, magnitude = std::abs(weights.constant), additions = 0;
  for (std::size_t i = 0; i < weights.of.size(); ++i) {
    if (weights.of[i] == 0) continue;
    const double term = weights.of[i] * (*observation.input)[i];
    sum += term, magnitude += std::abs(term), additions += std::abs(weights.of[i]);
  }
  if (observation.input->type != Type::float32 || magnitude <= exact_up_to) return sum == observation.got;
  return std::abs(sum - observation.got) <= magnitude * std::min(additions * 0x1p-24, most_rounding);
}

std::string constant_in_words(double constant, const Symptom& symptom) {
  if (constant == 0) return "";
  const bool is_old = constant == poison(symptom.observations[0].input->type, Kind::exact);
  return fmt::format(" {:g} is added whatever the elements are{}.", constant,
                     is_old ? ": it stood in the result before the launch" : "");
}

} // namespace

std::optional<Weights> find_weights(const Symptom& symptom, const ResultOn& result_on) {
  const Sequence& input = *symptom.observations[0].input;
  if (symptom.given.kind != Kind::exact || symptom.given.rows != 1 || input.op != Operator::add ||
      input.n == 0)
    return std::nullopt;
  Prober prober(input, result_on);
  Weights weights{std::vector<double>(input.n), 0};
  const std::clock_t start = std::clock();
  const std::optional<double> of_zeros = prober.result();
  if (!of_zeros) return std::nullopt;
  // If a run is slow, a smaller input is worth more than one that would not be finished in time.
  const double one_run = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  constexpr double most_seconds = 1.5;
  const bool has_time = one_run * static_cast<double>(input.n) / 3 < most_seconds;
  weights.constant = *of_zeros;
  const auto fits = [&] {
    return std::all_of(symptom.observations.begin(), symptom.observations.end(),
                       [&](const Observation& seen) { return explains(weights, seen); });
  };
  std::size_t runs_left = input.n <= most_one_by_one ? 40 : most_runs;
  if (find_stretches(prober, 0, input.n, runs_left, weights))
    return fits() ? std::optional(weights) : std::nullopt;
  if (input.n > most_one_by_one || !has_time) return std::nullopt;
  const std::optional<double> of_ones = result_of_ones(prober, input.n);
  if (!of_ones) return std::nullopt;
  const double average = std::abs(*of_ones - weights.constant) / static_cast<double>(input.n);
  // With the small base, a few large weights among many small ones would be taken for several digits.
  for (const Digits& digits : {Digits{64, 3}, Digits{4096, 2}}) {
    if (digits.base == 64 && average >= 8) continue;
    for (std::size_t i = 0; i < input.n; i += digits.count)
      if (!find_digits(prober, i, digits, weights)) return std::nullopt;
    if (fits()) return weights;
  }
  return std::nullopt;
}

// Where the array is shared out: all elements of a device count alike, and not those of all devices.
Diagnosis from_shards(const Weights& weights, const Symptom& symptom) {
  const unsigned devices = symptom.given.devices;
  const std::size_t n = weights.of.size();
  if (devices < 2 || n < 2 * devices) return {};
  std::map<double, Indices> by_weight; // numbers of devices
  for (unsigned k = 0; k < devices; ++k) {
    const auto begin = weights.of.begin() + static_cast<std::ptrdiff_t>(first_of_part(n, devices, k)),
               end = weights.of.begin() + static_cast<std::ptrdiff_t>(first_of_part(n, devices, k + 1));
    if (std::adjacent_find(begin, end, std::not_equal_to()) != end) return {};
    by_weight[*begin].push_back(k);
  }
  if (by_weight.size() == 1) return {};
  std::string text;
  for (const auto& [weight, numbers] : by_weight)
    text += fmt::format("{}those of device{} {} {}", text.empty() ? "" : ", ", numbers.size() == 1 ? "" : "s",
                        fmt::join(numbers, ", "), counted(weight));
  return {"shards",
          fmt::format("Each element should count once. Here {}.{}", text,
                      constant_in_words(weights.constant, symptom)),
          true};
}

Diagnosis describe(const Weights& weights, const Symptom& symptom) {
  const std::size_t n = weights.of.size();
  std::map<double, Indices> by_weight;
  for (std::size_t i = 0; i < n; ++i) by_weight[weights.of[i]].push_back(i);
  if (by_weight.size() == 1 && by_weight.begin()->first == 1 && weights.constant == 0) return {};
  if (by_weight.size() == 1 && by_weight.begin()->first == 1)
    return {"constant-added",
            fmt::format("Every element counts once, as it should, but{}",
                        constant_in_words(weights.constant, symptom)),
            true};
  if (by_weight.size() == 1 && by_weight.begin()->first == 0)
    return {
        "nothing-added",
        fmt::format("The result is {:g} whatever the elements are: none of them counts.", weights.constant),
        true};
  if (Diagnosis found = from_shards(weights, symptom); !found.kind.empty()) return found;
  return {"weights",
          how_often(by_weight, n, symptom.given.block) + constant_in_words(weights.constant, symptom), true};
}

} // namespace lab
