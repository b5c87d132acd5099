// Mistakes in a step of Kahan's summation (lab 07). All that surrounds the step is the lab's own code, so the
// whole computation can be repeated with a mistaken step, bit for bit.
#include "explain/diagnosis.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>

namespace lab {
namespace {

// The lab's accumulator: the true sum is about sum - excess.
struct Kahan {
  float sum = 0, excess = 0;

  void add(const Kahan& other) {
    const float rounded = sum + other.sum, second = rounded - sum, first = rounded - second;
    const float lost = (sum - first) + (other.sum - second);
    sum = rounded;
    excess += other.excess - lost;
  }
};

using Step = void (*)(Kahan& kahan, float x);

struct MistakenStep {
  Step step;
  const char* text;
};

// Computed the wrong way round, or used so: the results differ by less than the last digit of the whole.
constexpr const char* wrong_sign =
    "the excess has the wrong sign. It is what was really added minus what was wanted, and it is subtracted "
    "from the next x.";

constexpr MistakenStep mistaken_steps[] = {
    {[](Kahan& k, float x) {
       const float wanted = x - k.excess, rounded = k.sum + wanted;
       k.excess += (rounded - k.sum) - wanted;
       k.sum = rounded;
     },
     "the new excess is added to the old one (+=). The old one has already been taken off x, so it must be "
     "replaced."},
    {[](Kahan& k, float x) {
       const float wanted = x - k.excess, rounded = k.sum + wanted;
       k.excess = wanted - (rounded - k.sum);
       k.sum = rounded;
     },
     wrong_sign},
    {[](Kahan& k, float x) {
       const float wanted = x + k.excess, rounded = k.sum + wanted;
       k.excess = (rounded - k.sum) - wanted;
       k.sum = rounded;
     },
     wrong_sign},
    {[](Kahan& k, float x) {
       const float wanted = x + k.excess, rounded = k.sum + wanted;
       k.excess = wanted - (rounded - k.sum);
       k.sum = rounded;
     },
     "what is kept is what is still missing, and the next step adds it. The accumulator's other functions "
     "subtract the excess, so it must have the opposite sign."},
    {[](Kahan& k, float x) {
       const float wanted = x - k.excess;
       k.sum += wanted;
       k.excess = -wanted;
     },
     "the excess is the whole of what was wanted, with the opposite sign: the new sum minus itself is 0. Is "
     "the old sum kept until the excess is known?"},
    {[](Kahan& k, float x) {
       const float wanted = x - k.excess, rounded = k.sum + wanted;
       k.excess = (rounded - k.sum) - x;
       k.sum = rounded;
     },
     "the excess is what was really added minus x. It must be compared with what was wanted, which is x "
     "minus the old excess."},
    {[](Kahan& k, float x) {
       const float rounded = k.sum + x;
       k.excess = (rounded - k.sum) - x;
       k.sum = rounded;
     },
     "the excess is computed, but never subtracted from the next x, so only the last rounding is "
     "compensated."},
    {[](Kahan& k, float x) { k.sum += x; },
     "it is a plain addition of floats: nothing keeps what each rounding loses."}};

// The lab's tree, in place; the block's sum ends up in the first.
void add_up(std::span<Kahan> block) {
  for (std::size_t stride = block.size() / 2; stride > 0; stride /= 2)
    for (std::size_t t = 0; t < stride; ++t) block[t].add(block[t + stride]);
}

double sum_with(Step step, const Sequence& input, std::size_t blocks, std::size_t block) {
  std::vector<Kahan> threads(blocks * block), last(block);
  for (std::size_t i = 0; i < input.n; ++i) step(threads[i % threads.size()], static_cast<float>(input[i]));
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::span of_block = std::span(threads).subspan(b * block, block);
    add_up(of_block);
    last[b % block].add(of_block[0]);
  }
  add_up(last);
  return last[0].sum - last[0].excess;
}

} // namespace

Diagnosis mistake_in_kahan(const Symptom& symptom) {
  const auto fits = [&](const auto& predicted) {
    return std::ranges::all_of(symptom.observations, [&](const Observation& seen) {
      const double value = predicted(seen);
      return value == seen.got && value != seen.expected;
    });
  };
  const auto fits_when_rounding = [&](const auto& predicted) {
    return std::ranges::all_of(symptom.of_rounding,
                               [&](const Observation& seen) { return predicted(seen) == seen.got; });
  };
  // With one element per thread, some mistakes look like each other, or like an element that counts twice.
  if (fits([](const Observation& seen) { return 2 * seen.expected; })) return {};
  std::vector<std::string_view> found; // several mistakes may make the same bits
  for (const MistakenStep& each : mistaken_steps) {
    const auto predicted = [&](const Observation& seen) {
      return sum_with(each.step, *seen.input, symptom.resident_blocks, symptom.given.block);
    };
    if (!fits(predicted) || !fits_when_rounding(predicted)) continue;
    if (std::ranges::find(found, each.text) == found.end()) found.push_back(each.text);
  }
  if (found.empty()) return {};
  std::string text = fmt::format("The result is to the last bit what you get if {}", found[0]);
  for (std::size_t i = 1; i < found.size(); ++i) text += fmt::format(" You get the same if {}", found[i]);
  return {"kahan-step", text, true};
}

} // namespace lab
