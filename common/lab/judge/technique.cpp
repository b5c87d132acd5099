#include "judge/technique.hpp"

#include "input/cases.hpp"
#include "input/options.hpp"
#include "input/row_inputs.hpp"
#include "judge/counters.hpp"
#include "judge/judge.hpp"
#include "judge/small_device.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/runner.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>

namespace lab {
namespace {

// A number that every block size divides, and odd ones, which none does. The first two are so large that a
// grid that fits the device is smaller than one with a thread per element; of the second, the sums of pairs
// of elements are more than one block's threads, and fewer than twice as many. The first gives most threads
// of such a grid one vector of four elements more than a multiple of four, so that whoever loads four at a
// time does so whether the loop's bound is exact or careful by one. Then other numbers of threads per block:
// a number written into the code in place of blockDim.x may give the right sum all the same. And so few
// elements that the device holds more blocks than there is work for, the second time with the largest blocks:
// code may differ from one size to another.
std::vector<Shape> vectors(std::mt19937_64& chance) {
  const auto below = [&](std::size_t bound) { return chance() % bound; };
  const std::size_t large = 131'073 + 2 * below(8192);
  return {{(320 - below(9)) * 1024, 0},
          {large, 0},
          {large + 2 * below(2048), 0, 128},
          {4097 + 2 * below(1024), 0},
          {4097 + 2 * below(1024), 0, 1024}};
}
// Tall, square and wide. The rows are whole sectors, so that no load needs fewer sectors than its elements
// fill.
std::vector<Shape> matrices(std::mt19937_64& chance) {
  const auto shape = [&](std::size_t rows, std::size_t columns, unsigned block = 0) {
    return Shape{rows * columns, rows, block};
  };
  const auto between = [&](std::size_t least, std::size_t most) {
    return least + chance() % (most - least + 1);
  };
  return {shape(between(1216, 1472), 32), shape(between(240, 272), 32 * between(14, 18)),
          shape(4, 32 * between(960, 1088)), shape(between(240, 272), 32 * between(14, 18), 128)};
}

std::size_t limited(const Rung& rung, std::size_t n, unsigned block) {
  const std::size_t most = rung.most_elements(block);
  if (!rung.max_n) return n;
  return n % 2 == 0 ? std::min(n, most) : std::min(n, most - most / 8 - 1);
}

std::string number(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
}

// launch_and_wait() itself waits for each device, and once more to see whether it is lost.
void leave_out_own_waits(Profile& profile) {
  for (auto& [key, value] : profile.totals)
    if (key == "host_waits") value -= 2.0 * profile.devices;
}

} // namespace

Recorded profile_rung(const Rung& rung, const Variant& variant, std::size_t n, unsigned block,
                      std::uint64_t seed, std::optional<std::size_t> asked_rows, Check* result) {
  block = std::clamp(block, rung.min_block, rung.max_block);
  n = limited(rung, n, block);
  const std::size_t rows = rows_for(variant, n, asked_rows); // what is left over is not used
  const std::size_t columns = std::min(rows > 0 ? n / rows : 0, rung.max_columns);
  const Case given{usual_kind(rung), rows == 1 ? n : rows * columns, rows, block, 0, devices_for(variant)};
  // The counts show a kernel that skips elements that change nothing.
  const Sequence input = with_identities(make_input(rung, variant, given, seed));
  Counted counted = run_counted(variant, given, input);
  if (result) {
    *result = check_for(given);
    judge(rung, given, input, counted.outcome, *result);
  }
  Profile& profile = counted.recorded.profile;
  profile.n = given.n, profile.rows = rows, profile.block = block, profile.devices = given.devices;
  leave_out_own_waits(profile);
  return std::move(counted.recorded);
}

// "launches" as "launch": the first word in the plural is the one that is counted.
std::string singular(std::string noun) {
  for (std::size_t end = 0; end <= noun.size(); ++end) {
    const bool word_ends = end == noun.size() || noun[end] == ' ';
    if (!word_ends || end == 0 || noun[end - 1] != 's') continue;
    const bool by_es = end >= 4 && noun.compare(end - 4, 4, "ches") == 0;
    return noun.erase(end - (by_es ? 2 : 1), by_es ? 2 : 1);
  }
  return noun;
}

std::string counted(double count, std::string_view noun) {
  const std::string figure = number(count);
  return fmt::format("{} {}", figure, figure == "1" ? singular(std::string(noun)) : std::string(noun));
}

Check judge_promise(const Promise& promise, double measured, double bound) {
  Check check;
  check.name = fmt::format("technique: {}", noun_of(promise.counter));
  const char* words = "expected";
  switch (promise.relation) {
  case Promise::Relation::equal:
    check.ok = std::abs(measured - bound) < 1e-6 * std::max(1.0, bound);
    break;
  case Promise::Relation::at_most:
    check.ok = measured <= bound + 1e-9, words = "or fewer expected";
    break;
  case Promise::Relation::at_least:
    check.ok = measured >= bound - 1e-9, words = "or more expected";
    break;
  }
  check.message = fmt::format("{}, {} {}", counted(measured, noun_of(promise.counter)), number(bound), words);
  if (!check.ok && *promise.lesson) check.message += fmt::format(": {}", promise.lesson);
  return check;
}

std::vector<Shape> counted_shapes(const Variant& variant, std::uint64_t seed) {
  std::mt19937_64 chance(seed);
  return variant.by_rows ? matrices(chance) : vectors(chance);
}

std::vector<Check> hold_promises(const Rung& rung, const Profile& profile, const Variant& variant) {
  const Size size =
      rung.size(profile.n, profile.block, profile.total("blocks"), profile.rows, profile.devices);
  std::string given = variant.by_rows ? describe(profile.n, profile.rows) : fmt::format("n = {}", profile.n);
  if (profile.devices > 1) given += fmt::format(", {} devices", profile.devices);
  if (profile.block != std::clamp(usual_block, rung.min_block, rung.max_block))
    given += fmt::format(", {} threads per block", profile.block);
  std::vector<Check> checks;
  for (int i = 0; i < rung.promise_count; ++i) {
    const Promise& promise = rung.promises[i];
    Check check =
        judge_promise(promise, value_of(promise.counter, profile, variant.type), promise.bound(size));
    check.name += ", " + given;
    checks.push_back(std::move(check));
  }
  return checks;
}

// Roundings differ from one order of additions to another, and so do the bits, with thousands of elements
// mostly, and with several such inputs almost certainly.
static Check check_order(const Rung& rung, const Options& options) {
  const Variant& variant = rung.variants[0];
  const unsigned block = block_for(rung, options), per_thread = rung.ordered_per_thread;
  const Case given{Kind::rounding, per_thread ? std::size_t{per_thread} * block : rung.ordered_elements, 1,
                   block, 0};
  Check check{
      .name = "technique: the order of additions, " + describe(given), .message = "", .diagnosis = {}};
  for (unsigned input_number = 0; input_number < 4 && check.ok; ++input_number) {
    const Sequence input =
        make_sequence(variant.type, rung.op, given.kind, given.n, options.seed + input_number);
    std::vector<float> elements(given.n);
    for (std::size_t i = 0; i < given.n; ++i) elements[i] = static_cast<float>(input[i]);
    const double wanted = rung.in_order(elements, per_thread ? static_cast<unsigned>(given.n) : block);
    const Outcome outcome = run_once(variant, given, input);
    if (!outcome.error.empty() || outcome.results.size() != 1) return check; // judged before
    check.ok = outcome.results[0] == wanted;
    check.message =
        check.ok ? fmt::format("{:.9g}, to the bit", wanted)
                 : fmt::format("the elements must be added {}: {} elements make {:.9g} in that order, "
                               "and the result is {:.9g}: another order, or another rounding of a step",
                               rung.order_in_words, given.n, wanted, outcome.results[0]);
  }
  return check;
}

Technique check_technique(const Rung& rung, const Options& options) {
  if (rung.promise_count == 0) return {};
  if (device().compute_capability < rung.promise_capability) {
    Check skipped{.name = "technique", .skipped = true, .message = "", .diagnosis = {}};
    skipped.message = fmt::format("holds from compute capability {}.{} on, this device has {}.{}",
                                  rung.promise_capability / 10, rung.promise_capability % 10,
                                  device().compute_capability / 10, device().compute_capability % 10);
    return {{skipped}, {}};
  }
  std::vector<Check> checks;
  const Variant& variant = rung.variants[0];
  const unsigned usual = block_for(rung, options);
  std::vector<Shape> shapes = counted_shapes(variant, options.seed);
  for (const auto& [elements, rows] : rung.further_counts)
    shapes.push_back({static_cast<std::size_t>(elements(rung.size(0, usual))), rows});
  const std::size_t usual_shapes = shapes.size();
  if (rung.small_device_n && on_emulator()) shapes.push_back({rung.small_device_n, 0});
  for (const Shape& shape : shapes) {
    std::optional<OneMultiprocessor> small;
    if (&shape == shapes.data() + usual_shapes) small.emplace();
    const unsigned block = shape.block ? std::clamp(shape.block, rung.min_block, rung.max_block) : usual;
    if (shape.block && (options.block || block == usual)) continue; // it has been counted with this one
    Check result;
    // The first blocks, which have most to do, are the last to end: one of them does the work of a last
    // block, too.
    const Scheduled first_are_last("backwards");
    const Recorded mine = profile_rung(rung, variant, shape.n, block, options.seed, shape.rows, &result);
    if (!result.ok && small) break; // check_on_small_device() tells of it
    if (!result.ok && !rung.cannot_be_right) return {std::move(checks), std::move(result)};
    std::vector<Check> held = hold_promises(rung, mine.profile, variant);
    // What was kept on the first shape is broken on this one, so it matters which one it is.
    for (Check& check : held)
      if (!check.ok && !checks.empty())
        check.message =
            fmt::format("{}with {}{}: {}", small ? small->in_words() : "",
                        variant.by_rows ? describe(mine.profile.n, mine.profile.rows)
                                        : fmt::format("{} elements", mine.profile.n),
                        block == usual ? "" : fmt::format(" and {} threads per block", block), check.message);
    checks.insert(checks.end(), held.begin(), held.end());
    if (std::any_of(held.begin(), held.end(), [](const Check& check) { return !check.ok; }))
      return {std::move(checks), {}};
  }
  if (rung.in_order) checks.push_back(check_order(rung, options));
  return {std::move(checks), {}};
}

std::vector<Check> check_other_operators(const Rung& rung, const Options& options) {
  std::vector<Check> checks;
  for (int i = 0; i < rung.variant_count; ++i) {
    const Variant& variant = rung.variants[i];
    if (!variant.has_own_operator) continue;
    const std::string name = fmt::format("technique: the kernel with another operator, {}, {}, ",
                                         name_of(variant.own_operator), name_of(variant.type));
    for (const Case& given :
         cases_for(rung, variant, options,
                   {devices_for(variant), on_emulator(), device().largest_block, device().memory})) {
      if (given.n > 150'000) continue; // what is written out in the kernel shows with several blocks
      Check check = check_for(given, name);
      const Sequence input =
          make_sequence(variant.type, rung.operator_of(variant), given.kind, given.n, options.seed);
      const Outcome outcome = run_once(variant, given, input);
      const double expected = reduce(input, 0, given.n).value;
      check.ok = outcome.error.empty() && outcome.results.size() == 1 && outcome.results[0] == expected;
      if (!check.ok) {
        check.message = fmt::format(
            "the same kernel is right for {} but wrong for another operator that the lab gives it, {}: from "
            "{} elements it made {:.0f}, {:.0f} expected. So something that belongs to {} is hard-coded in "
            "the kernel: the initial value, what stands for a missing element, or how two values are "
            "combined. "
            "It must take all of them from the operator that it is given",
            name_of(rung.op), name_of(variant.own_operator), given.n,
            outcome.results.empty() ? 0 : outcome.results[0], expected, name_of(rung.op));
      }
      checks.push_back(check);
      if (!check.ok || outcome.device_lost) return checks;
    }
  }
  return checks;
}

} // namespace lab
