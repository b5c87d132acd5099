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
    input_.values.assign(input_.n * size_of(input_.type), std::byte{});
  }

  void set(std::size_t i, double value) {
    store_value(input_.type, value, input_.values.data() + i * size_of(input_.type));
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

// What a weight is the number of: threads, blocks, lanes or warps.
std::string crowd_of(double weight, const Symptom& symptom) {
  const unsigned block = symptom.given.block, devices = symptom.given.devices;
  if (devices > 1 && weight == devices)
    return fmt::format(" There are {} devices: each of them adds what only one should.", devices);
  const double launched = symptom.launched_blocks;
  const double blocks = launched > 0 ? launched : symptom.resident_blocks;
  if (weight == block && weight == blocks)
    return fmt::format(" There are {0} blocks of {0} threads: each block, or each thread of a block, adds "
                       "what only one should.",
                       block);
  if (weight == block && block > 32)
    return fmt::format(" A block has {} threads: each of them adds what only one should.", block);
  if (weight == blocks && !symptom.one_block)
    return fmt::format(" {} {} blocks: each of them adds the same elements, as when the block's number is "
                       "missing from the index.",
                       launched > 0 ? "There are" : "The device holds", blocks);
  if (weight == 32)
    return " A warp has 32 lanes: each of them adds what only one should, or each of 5 steps doubles the "
           "sum.";
  const unsigned warps = block / 32;
  if (weight > 2 && weight == warps)
    return fmt::format(" A block has {} warps: each of them adds what only one should.", warps);
  if (weight > 1 && devices == 1 && std::exp2(std::round(std::log2(weight))) == weight)
    return fmt::format(
        " {:g} is 2 to the power of {:.0f}: that many steps add a value to itself. A shuffle from a lane "
        "that does not exist gives a lane its own value: shuffling down takes from a higher lane, and the "
        "sum ends in lane 0; shuffling up takes from a lower one, and it ends in lane 31.",
        weight, std::log2(weight));
  return "";
}

// For elements that do not count when all others count once.
std::string hint_on_lost(const Indices& lost, const Symptom& symptom) {
  const std::size_t n = symptom.given.n, block = symptom.given.block, grid = block * symptom.resident_blocks;
  if (lost.size() == 1) return " Look at the bounds, and at what the first or last thread does.";
  const bool in_a_row = lost.back() - lost.front() + 1 == lost.size();
  if (in_a_row && lost.size() + 1 == n && lost.front() == 1)
    return " Nothing is ever added to the first: which threads work, given the condition as it stands, and "
           "with which partner? Is their result stored?";
  if (in_a_row && lost.back() + 1 == n) {
    if (lost.size() == grid)
      return " There are as many of them as the grid has threads: each thread's last element, or the last "
             "round of the walk.";
    return lost.size() < block ? " The last, incomplete part is left out, as when a division rounds down."
                               : " No thread reaches the rest: the walk ends too early, or there are too few "
                                 "threads or blocks.";
  }
  if (in_a_row && lost.front() == 0)
    return " What comes first is lost: later values may overwrite it (= in place of +=), or the walk starts "
           "too late.";
  if (lost.front() >= n / 2)
    return " They all lie in the last part: what is left after the last whole round of a loop must be added "
           "too.";
  return " What those threads hold is lost on the way: look at which threads work in which step, and with "
         "which partner.";
}

bool is_integer(const Symptom& symptom) {
  const Type type = symptom.observations[0].input->type;
  return type == Type::int32 || type == Type::uint32;
}

// The most frequent cause of such weights; "" if none is known.
std::string hint(const Weights& weights, const std::map<double, Indices>& by_weight, const Symptom& symptom) {
  const auto missing = by_weight.find(0);
  if (by_weight.size() == 1 && missing != by_weight.end())
    return std::string(" What the threads work out does not reach the result: is it stored where it is read, "
                       "and is it added (+=), not just assigned (=)?") +
           (symptom.combines ? " And does the operator use both of its values, a and b?" : "") +
           (is_integer(symptom) ? " Or it is multiplied so often that all its digits overflow: 32 times 32 "
                                  "times 32 and so on."
                                : "");
  if (by_weight.size() == 1) return crowd_of(by_weight.begin()->first, symptom);
  if (by_weight.size() > 2) {
    return std::is_sorted(weights.of.begin(), weights.of.end())
               ? " The further on an element lies, the more often it counts: too short a stride, or threads "
                 "or lanes that add what others have added."
               : " Some elements are read by several threads or in several steps: look at where each thread "
                 "starts, "
                 "how far it goes from one element or partner to the next, and which threads add at the end.";
  }
  const double most = by_weight.rbegin()->first;
  const unsigned warps = symptom.given.block / 32;
  if (warps > 1 && by_weight.begin()->first == 1 && most == 33 - static_cast<double>(warps))
    return fmt::format(" Where {} warps' sums are added up by 32 lanes, {} lanes have none to take: if they "
                       "keep their own value instead of 0, it counts that often.",
                       warps, 32 - warps);
  if (missing == by_weight.end())
    return by_weight.begin()->first == 1 && most == 2
               ? " Some are met twice: parts that should lie side by side overlap, or one element is taken "
                 "to start with and then met again."
               : "";
  return most == 1 ? hint_on_lost(missing->second, symptom) : crowd_of(most, symptom);
}

// Threads that take one element each, at an index computed in another way than for one block after another.
Diagnosis from_index(const Weights& weights, const Symptom& symptom) {
  const std::size_t n = weights.of.size(), block = symptom.given.block, covering = ceil_div(n, block);
  if (weights.constant != 0 || n <= block) return {};
  struct Factor {
    std::size_t value;
    std::string name;
  };
  const auto constant = [](std::size_t value) { return Factor{value, std::to_string(value)}; };
  for (const std::size_t blocks : {covering, ceil_div(n, 2 * block), std::size_t{symptom.resident_blocks}}) {
    if (symptom.launched_blocks > 0 && static_cast<double>(blocks) != symptom.launched_blocks) continue;
    const Factor of_grid{blocks, "gridDim.x"}, of_block{block, "blockDim.x"};
    const Factor for_block[] = {constant(0),
                                constant(1),
                                of_block,
                                of_grid,
                                constant(32),
                                constant(256),
                                constant(512),
                                constant(1024),
                                {2 * block, "2 * blockDim.x"},
                                {block / 2, "blockDim.x / 2"}};
    const Factor for_thread[] = {constant(0), constant(1), constant(2), constant(4), of_block, of_grid};
    for (const Factor& each_block : for_block) {
      for (const Factor& each_thread : for_thread) {
        if (each_block.value == block && each_thread.value == 1) continue; // the right one
        std::vector<double> met(n);
        for (std::size_t b = 0; b < blocks; ++b)
          for (std::size_t t = 0; t < block; ++t)
            if (const std::size_t i = b * each_block.value + t * each_thread.value; i < n) ++met[i];
        if (met != weights.of) continue;
        const auto product = [](const char* what, const Factor& factor) {
          if (factor.value == 0 && factor.name == "0") return std::string();
          return factor.value == 1 && factor.name == "1" ? std::string(what)
                                                         : fmt::format("{} * {}", what, factor.name);
        };
        const std::string of_blocks = product("blockIdx.x", each_block),
                          of_threads = product("threadIdx.x", each_thread);
        return {"wrong-index",
                fmt::format("The counts match an index of {}{}{}. For one "
                            "block after another, the index is blockIdx.x * blockDim.x + threadIdx.x: a "
                            "block's first element is its number times the block size.",
                            of_blocks, of_blocks.empty() || of_threads.empty() ? "" : " + ", of_threads),
                true};
      }
    }
  }
  return {};
}

// How often each thread's value counts after a tree that halves a number of them.
std::vector<double> halved(std::size_t threads) {
  std::vector<double> counts(threads, 0);
  counts[0] = 1;
  std::vector<std::size_t> strides;
  for (std::size_t stride = threads / 2; stride > 0; stride /= 2) strides.push_back(stride);
  for (auto stride = strides.rbegin(); stride != strides.rend(); ++stride)
    for (std::size_t t = 0; t < *stride; ++t) counts[t + *stride] += counts[t];
  return counts;
}

// A tree that halves a number of partial sums that is not a power of two loses those without a partner.
Diagnosis from_halving(const Weights& weights, std::size_t block) {
  const std::size_t n = weights.of.size();
  if (weights.constant != 0) return {};
  std::vector<std::size_t> numbers; // 192 of them lose what 96 lose, so first as many as a block has threads
  for (std::size_t number = std::min(n, block); number > 2; --number) numbers.push_back(number);
  for (std::size_t number = block + 1; number <= std::min(n, 2 * block); ++number) numbers.push_back(number);
  for (const std::size_t number : numbers) {
    if ((number & (number - 1)) == 0) continue;
    const std::vector<double> counts = halved(number);
    bool fits = true;
    for (std::size_t i = 0; i < n && fits; ++i) fits = weights.of[i] == counts[i % number];
    if (!fits) continue;
    return {"odd-halving",
            fmt::format("The elements that count are those that a tree leaves when it halves a number of "
                        "partial sums that is no power of two, such as {}: where an odd number is halved, "
                        "the last sum has no partner and is lost.",
                        number),
            true};
  }
  return {};
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
          fmt::format("Each element should count once. Here {}.{} Look at how the devices' sums are brought "
                      "together.",
                      text, constant_in_words(weights.constant, symptom)),
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
    return {"nothing-added",
            fmt::format("The result is {:g} whatever the elements are: none of them counts.{}",
                        weights.constant, hint(weights, by_weight, symptom)),
            true};
  if (Diagnosis found = from_shards(weights, symptom); !found.kind.empty()) return found;
  if (Diagnosis found = from_index(weights, symptom); !found.kind.empty()) return found;
  if (Diagnosis found = from_halving(weights, symptom.given.block); !found.kind.empty()) return found;
  const bool all_alike = by_weight.size() == 1 && by_weight.begin()->first > 1 && weights.constant == 0;
  return {all_alike ? "many-times" : "weights",
          how_often(by_weight, n, symptom.given.block) + constant_in_words(weights.constant, symptom) +
              hint(weights, by_weight, symptom),
          true, by_weight.rbegin()->first};
}

} // namespace lab
