#include "judge/judge.hpp"

#include "judge/counters.hpp"
#include "judge/row_functions.hpp"
#include "run/emulator.hpp"
#include "run/runner.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace lab {
namespace {

// In the emulator's usual order, the same block would come first each time.
constexpr const char* other_orders[] = {"backwards", "shuffled:1"};

std::string value_text(Kind kind, double value) {
  return kind == Kind::rounding ? fmt::format("{:.9g}", value) : fmt::format("{:.16g}", value);
}

// How far off a result is and may be, and how the bound is computed.
std::string error_text(const Expectation& expected, const Sequence& input, double got) {
  const double error = std::abs(got - expected.reference.value);
  return fmt::format("error {:.3g}, bound {:.3g} = ({:.6g} + 1 for the result) x 2^{:.0f} x {:.4g}, {}",
                     error, expected.tolerance, expected.depth, std::log2(unit_roundoff(input.type)),
                     expected.reference.magnitude,
                     input.op == Operator::add ? "the sum of magnitudes" : "the product");
}

} // namespace

Check check_for(const Case& given, const std::string& prefix) {
  Check check;
  check.name = prefix + describe(given);
  check.n = given.n;
  check.exact = given.kind == Kind::exact;
  check.usual = check.exact && given.offset == 0 && given.block == usual_block;
  return check;
}

Expectation expect(const Rung& rung, const Case& given, const Sequence& input, std::size_t row) {
  const std::size_t columns = given.rows ? given.n / given.rows : 0;
  Expectation expected;
  expected.reference =
      given.rows == 1 ? reduce(input, 0, given.n) : reduce(input, row * columns, (row + 1) * columns);
  const Size size = rung.size(given.n, given.block, 0, given.rows, given.devices);
  const double most = columns > 0 ? static_cast<double>(columns) - 1 : 0;
  const bool in_chains = rung.error_depth && input.op == Operator::add;
  // What a compensated sum keeps of these elements is exact, so only its last step rounds.
  const double depth = input.kind == Kind::excesses ? 0
                       : in_chains                  ? std::min(rung.error_depth(size), most)
                                                    : most;
  expected.depth = depth;
  expected.tolerance = tolerance(input, expected.reference, depth);
  return expected;
}

bool is_right(const Expectation& expected, double got) {
  if (expected.tolerance == 0) return got == expected.reference.value;
  return std::abs(got - expected.reference.value) <= expected.tolerance;
}

static void judge_sums(const Rung& rung, const Case& given, const Sequence& input,
                       std::span<const double> results, Check& check) {
  for (std::size_t row = 0; row < given.rows; ++row) {
    const Expectation expected = expect(rung, given, input, row);
    const double got = results[row];
    if (is_right(expected, got)) {
      if (expected.tolerance > 0 && given.rows == 1) check.message = error_text(expected, input, got);
      continue;
    }
    check.ok = false;
    check.message =
        fmt::format("expected {}{}, got {}{}", value_text(given.kind, expected.reference.value),
                    expected.tolerance > 0 ? fmt::format(" within {:.2g}", expected.tolerance) : "",
                    value_text(given.kind, got), given.rows == 1 ? "" : fmt::format(" (row {})", row));
    return;
  }
}

void judge(const Rung& rung, const Case& given, const Sequence& input, const Outcome& outcome, Check& check) {
  const auto fail = [&](std::string message) {
    check.ok = false;
    check.message = std::move(message);
    if (!outcome.in_vain.empty()) check.message += "; " + outcome.in_vain;
  };
  if (!outcome.error.empty()) return fail(outcome.error);
  if (rung.row_function == RowFunction::none)
    judge_sums(rung, given, input, outcome.results, check);
  else
    judge_rows(rung, given, input, outcome.results, check);
  if (!check.ok) return fail(std::move(check.message));
  if (!outcome.input_change.empty()) return fail(outcome.input_change);
  if (!outcome.damage.empty()) return fail(outcome.damage);
}

namespace {

// Whether a run that was right before has failed this time; then the check says why.
bool has_failed(const Outcome& outcome, Check& check, bool& device_lost) {
  device_lost = device_lost || outcome.device_lost;
  if (outcome.error.empty() && !outcome.results.empty()) return false;
  check.ok = false;
  check.message = outcome.error;
  return true;
}

// Whether the order of blocks has made no difference when all __device__ variables were as when the program
// began. That may be chance, but in each of the orders it is unlikely.
bool is_same_with_new_variables(const Variant& variant, const Case& given, const Sequence& input) {
  if (!on_emulator() || variant.over_devices) return false;
  const auto bits_in = [&](const char* order) {
    const Scheduled scheduled(order);
    restore_variables();
    return run_once(variant, given, input).bits;
  };
  const auto usual = bits_in("forwards");
  return std::ranges::all_of(other_orders, [&](const char* order) { return bits_in(order) == usual; });
}

// What may make a sum depend on the order, or nothing.
std::string atomics_in_words(const Variant& variant, const Case& given, const Sequence& input) {
  if (!on_emulator()) return "";
  const Counted counted = run_counted(variant, given, input);
  const double atomics = value_of(Counter::float_atomics, counted.recorded.profile, variant.type);
  if (atomics == 0) return "";
  return fmt::format(". There are {:.0f} atomic additions of floats, which are made in whatever order their "
                     "threads come",
                     atomics);
}

} // namespace

Check check_any_block(const Rung& rung, const Variant& variant, Case given, const Sequence& input,
                      bool& device_lost) {
  Check check{.name = "the same bits with any block size", .message = "", .diagnosis = {}};
  given.block = rung.min_block;
  const Outcome few = run_once(variant, given, input);
  if (has_failed(few, check, device_lost)) return check;
  while (check.ok && given.block < rung.max_block) {
    given.block *= 2;
    const Outcome more = run_once(variant, given, input);
    if (has_failed(more, check, device_lost)) return check;
    if (more.bits == few.bits) continue;
    check.ok = false;
    check.message =
        fmt::format("{:.9g} with {} threads per block, {:.9g} with {}: the order of additions depends "
                    "on the number of threads",
                    few.results.at(0), rung.min_block, more.results.at(0), given.block);
  }
  return check;
}

Check check_same_bits(const Variant& variant, const Case& given, const Sequence& input, bool& device_lost) {
  Check check{.name = "the same bits on each run", .message = "", .diagnosis = {}};
  const Outcome first = run_once(variant, given, input);
  if (has_failed(first, check, device_lost)) return check;
  for (const char* order : other_orders) {
    const Scheduled scheduled(order);
    const Outcome again = run_once(variant, given, input);
    if (has_failed(again, check, device_lost)) return check;
    if (again.bits == first.bits) continue;
    check.ok = false;
    check.message =
        fmt::format("{:.9g}, then {:.9g} from the same input: the result depends on which thread or block "
                    "comes first{}{}",
                    first.results.at(0), again.results.at(0),
                    is_same_with_new_variables(variant, given, input)
                        ? ", or on what an earlier launch has left in a __device__ variable"
                        : "",
                    atomics_in_words(variant, given, input));
    return check;
  }
  return check;
}

} // namespace lab
