#include "checking/check.hpp"

#include "diagnosis/diagnosis.hpp"
#include "grading/host_process.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include <cuda_runtime_api.h>

namespace lab {
namespace {

constexpr std::size_t prime_near_a_million = 999983;
constexpr std::size_t sizes[] = {
    0, 1, 31, 32, 33, 255, 256, 257, 1000, prime_near_a_million, std::size_t{1} << 20};

bool has_rounding(const Rung& rung, const Variant& variant) {
  const bool is_float = variant.type == Type::float32 || variant.type == Type::float64;
  const Operator op = rung.operator_of(variant);
  return is_float && (op == Operator::add || op == Operator::product);
}

// Sizes around what a block and a pair of elements per thread cover, where the rung takes few.
std::vector<std::size_t> sizes_for(const Rung& rung, unsigned block) {
  std::vector<std::size_t> all(std::begin(sizes), std::end(sizes));
  for (const std::size_t covered : {std::size_t{block}, 2 * std::size_t{block}}) {
    all.insert(all.end(), {covered - 1, covered, covered + 1});
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase_if(all, [most = rung.most_elements(block)](std::size_t n) { return n > most; });
  return all;
}

void add_row_cases(std::vector<Case>& cases, unsigned block, bool rounding) {
  constexpr std::pair<std::size_t, std::size_t> shapes[] = {{1, 1},     {1, 100003}, {3, 10007}, {257, 257},
                                                            {1000, 33}, {100003, 3}, {5, 0},     {0, 7}};
  for (const auto& [rows, columns] : shapes) cases.push_back({Kind::exact, rows * columns, rows, block, 0});
  cases.push_back({Kind::exact, 257 * 257, 257, block, 1});
  if (rounding) cases.push_back({Kind::rounding, 3 * 10007, 3, block, 0});
}

// Whether a minimum or maximum of magnitudes is another one.
bool has_signs(const Rung& rung, const Variant& variant) {
  const Operator op = rung.operator_of(variant);
  return variant.type != Type::uint32 && (op == Operator::min || op == Operator::max);
}

Check check_for(const Case& given, const std::string& prefix) {
  Check check;
  check.name = prefix + describe(given);
  check.n = given.n;
  check.usual = given.kind == Kind::exact && given.offset == 0 && given.block == 256;
  return check;
}

// A run's expected result and how far from it is right, in words too.
struct Expectation {
  Reference reference;
  double tolerance = 0, depth = 0;
};

Expectation expect(const Rung& rung, const Case& given, const Sequence& input, std::size_t row) {
  const std::size_t columns = given.rows ? given.n / given.rows : 0;
  Expectation expected;
  expected.reference =
      given.rows == 1 ? reduce(input, 0, given.n) : reduce(input, row * columns, (row + 1) * columns);
  const Size size = rung.size(given.n, given.block, 0, given.rows);
  const double most = columns > 0 ? static_cast<double>(columns) - 1 : 0;
  const bool in_chains = rung.error_depth && input.op == Operator::add;
  const double depth = in_chains ? std::min(rung.error_depth(size), most) : most;
  expected.depth = depth;
  expected.tolerance = tolerance(input, expected.reference, depth);
  return expected;
}

bool is_right(const Expectation& expected, double got) {
  if (expected.tolerance == 0) return got == expected.reference.value;
  return std::abs(got - expected.reference.value) <= expected.tolerance;
}

std::string value_text(Kind kind, double value) {
  return kind == Kind::rounding ? fmt::format("{:.9g}", value) : fmt::format("{:.16g}", value);
}

// How far off a result is and may be, and what the bound is made of.
std::string error_text(const Expectation& expected, const Sequence& input, double got) {
  const double error = std::abs(got - expected.reference.value);
  return fmt::format("error {:.3g}, bound {:.3g} = ({:.6g} + 1 for the result) x 2^{:.0f} x {:.4g}, {}",
                     error, expected.tolerance, expected.depth, std::log2(unit_roundoff(input.type)),
                     expected.reference.magnitude,
                     input.op == Operator::add ? "the sum of magnitudes" : "the product");
}

// Runs twice more on the same input and once on another, and looks for the mistake that explains all.
Diagnosis diagnose_wrong(const Rung& rung, const Variant& variant, const Case& given, const Sequence& input,
                         double got) {
  Symptom symptom{given, resident_blocks(given.block), {}, {}, variant.by_rows};
  symptom.observations.push_back({&input, reduce(input, 0, given.n).value, got});
  const auto result_on = [&](const Sequence& sequence) -> std::optional<double> {
    const Outcome outcome = run_once(variant, given, sequence);
    if (outcome.device_lost || outcome.results.empty()) return std::nullopt;
    return outcome.results[0];
  };
  for (int i = 0; i < 2; ++i) {
    if (const auto again = result_on(input)) symptom.again.push_back(*again);
  }
  const Sequence other =
      make_sequence(variant.type, rung.operator_of(variant), given.kind, given.n, input.seed + 1000003);
  if (const auto on_other = result_on(other)) {
    symptom.observations.push_back({&other, reduce(other, 0, given.n).value, *on_other});
  }
  return diagnose(symptom);
}

// The same for many results: what they were on this input, and what they are on another.
Diagnosis diagnose_wrong_rows(const Rung& rung, const Variant& variant, const Case& given,
                              const Sequence& input, const std::vector<double>& got) {
  const auto observed = [&](const Sequence& sequence, const std::vector<double>& results) {
    RowObservation seen{&sequence, {}, results};
    for (std::size_t row = 0; row < given.rows; ++row) {
      seen.expected.push_back(expect(rung, given, sequence, row).reference.value);
    }
    return seen;
  };
  const Sequence other =
      make_sequence(variant.type, rung.operator_of(variant), given.kind, given.n, input.seed + 1000003);
  const Outcome on_other = run_once(variant, given, other);
  if (on_other.results.size() != given.rows) return {};
  return diagnose_rows(given, std::vector{observed(input, got), observed(other, on_other.results)});
}

void judge(const Rung& rung, const Variant& variant, const Case& given, const Sequence& input,
           const Outcome& outcome, Check& check) {
  const std::string in_vain = asked_in_vain();
  const auto fail = [&](std::string message) {
    check.ok = false;
    check.message = std::move(message);
    if (!in_vain.empty()) check.message += "; " + in_vain;
  };
  if (!outcome.error.empty()) return fail(outcome.error);
  for (std::size_t row = 0; row < given.rows; ++row) {
    const Expectation expected = expect(rung, given, input, row);
    const double got = outcome.results[row];
    if (is_right(expected, got)) {
      if (expected.tolerance > 0 && given.rows == 1) check.message = error_text(expected, input, got);
      continue;
    }
    fail(fmt::format("expected {}{}, got {}{}", value_text(given.kind, expected.reference.value),
                     expected.tolerance > 0 ? fmt::format(" within {:.2g}", expected.tolerance) : "",
                     value_text(given.kind, got), given.rows == 1 ? "" : fmt::format(" (row {})", row)));
    check.diagnosis = given.rows == 1 ? diagnose_wrong(rung, variant, given, input, got)
                                      : diagnose_wrong_rows(rung, variant, given, input, outcome.results);
    return;
  }
  if (!outcome.input_change.empty()) return fail(outcome.input_change);
  if (!outcome.damage.empty()) return fail(outcome.damage);
}

// The same bits with any number of threads per block: two numbers of them may give the same by chance.
Check check_any_block(const Rung& rung, const Variant& variant, Case given, const Sequence& input) {
  Check check{.name = "the same bits with any block size", .message = "", .diagnosis = {}};
  given.block = rung.min_block;
  const Outcome few = run_once(variant, given, input);
  while (check.ok && given.block < rung.max_block) {
    given.block *= 2;
    const Outcome more = run_once(variant, given, input);
    if (more.bits == few.bits) continue;
    check.ok = false;
    check.message =
        fmt::format("{:.9g} with {} threads per block, {:.9g} with {}: the order of additions depends "
                    "on the number of threads",
                    few.results.at(0), rung.min_block, more.results.at(0), given.block);
  }
  return check;
}

// The same bits from three runs on inputs that round.
Check check_same_bits(const Variant& variant, const Case& given, const Sequence& input) {
  Check check{.name = "the same bits on each run", .message = "", .diagnosis = {}};
  const Outcome first = run_once(variant, given, input);
  for (int i = 0; i < 2 && check.ok; ++i) {
    const Outcome again = run_once(variant, given, input);
    if (again.bits == first.bits) continue;
    check.ok = false;
    check.message =
        fmt::format("{:.9g}, then {:.9g} from the same input: the order of additions is not fixed",
                    first.results.at(0), again.results.at(0));
  }
  return check;
}

// On a GPU: sizes up to beyond 2^32 elements, as long as they fit and take less than a second or two.
void check_large(const Rung& rung, const Variant& variant, const Options& options, Checked& checked) {
  using clock = std::chrono::steady_clock;
  double seconds_an_element = 0;
  for (const std::size_t n :
       {(std::size_t{1} << 26) + 5, (std::size_t{1} << 31) + 77, (std::size_t{1} << 32) + 1234}) {
    std::size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    const unsigned block = block_for(rung, options);
    const Case given{Kind::exact, n, 1, block, 0};
    Check check = check_for(given, "");
    if (n > rung.most_elements(block)) return;
    if (static_cast<double>(n) * static_cast<double>(size_of(variant.type)) >
        0.9 * static_cast<double>(free_bytes)) {
      check.skipped = true, check.message = "does not fit into this device's memory";
    } else if (seconds_an_element * static_cast<double>(n) > 2) {
      check.skipped = true, check.message = "would take longer than 2 s";
    } else {
      const Sequence input =
          make_sequence(variant.type, rung.operator_of(variant), given.kind, n, options.seed);
      const auto start = clock::now();
      const Outcome outcome = run_once(variant, given, input);
      seconds_an_element =
          std::chrono::duration<double>(clock::now() - start).count() / static_cast<double>(n);
      judge(rung, variant, given, input, outcome, check);
      checked.device_lost = outcome.device_lost;
    }
    checked.checks.push_back(check);
    if (!check.ok) return;
  }
}

} // namespace

namespace {

// What was asked for beside the usual, as far as the rung takes it.
void add_more(std::vector<Case>& cases, const Rung& rung, const Variant& variant, const Options& options) {
  for (const MoreSize& more : options.more) {
    const unsigned block =
        std::clamp(more.block.value_or(block_for(rung, options)), rung.min_block, rung.max_block);
    const std::size_t n = std::min(more.n, rung.most_elements(block));
    const std::size_t rows = rows_for(variant, n, std::nullopt);
    cases.push_back({Kind::exact, rows > 0 ? n / rows * rows : 0, rows, block, 0});
  }
}

} // namespace

std::vector<Case> cases_for(const Rung& rung, const Variant& variant, const Options& options) {
  const unsigned block = block_for(rung, options);
  const bool rounding = has_rounding(rung, variant);
  std::vector<Case> cases;
  if (options.n) {
    const std::size_t rows = rows_for(variant, *options.n, options.rows);
    const std::size_t n = rows > 0 ? *options.n / rows * rows : 0;
    cases = {{Kind::exact, n, rows, block, 0}, {Kind::exact, n, rows, block, 1}};
    if (rounding) cases.push_back({Kind::rounding, n, rows, block, 0});
    return cases;
  }
  if (variant.by_rows) {
    add_row_cases(cases, block, rounding);
    if (!options.block) {
      for (const unsigned other : {rung.min_block, rung.max_block}) {
        if (other != block) cases.push_back({Kind::exact, 40 * 1003, 40, other, 0});
      }
    }
    add_more(cases, rung, variant, options);
    return cases;
  }
  for (const std::size_t n : sizes_for(rung, block)) cases.push_back({Kind::exact, n, 1, block, 0});
  const std::size_t most = rung.most_elements(block), large = std::min(prime_near_a_million, most);
  cases.push_back({Kind::exact, 257, 1, block, 1});
  cases.push_back({Kind::exact, std::min<std::size_t>(100003, most), 1, block, 3});
  if (rounding) {
    cases.push_back({Kind::rounding, 257, 1, block, 0});
    cases.push_back({Kind::rounding, large, 1, block, 0});
  }
  if (has_signs(rung, variant))
    cases.push_back({Kind::mixed_signs, std::min<std::size_t>(1000, most), 1, block, 0});
  if (rung.stalling) {
    for (const Kind kind : {Kind::stalling, Kind::quarters, Kind::lone_ones}) {
      cases.push_back({kind, std::min(std::size_t{1} << 20, most), 1, block, 0});
    }
  }
  if (!options.block) { // another number of threads per block
    for (const unsigned other : {rung.min_block, rung.max_block}) {
      if (other == block) continue;
      cases.push_back({Kind::exact, std::min<std::size_t>(5000, rung.most_elements(other)), 1, other, 0});
    }
  }
  add_more(cases, rung, variant, options);
  return cases;
}

namespace {

std::string prefix_of(const Rung& rung, const Variant& variant) {
  if (variant.has_own_operator)
    return fmt::format("{}, {}, ", name_of(variant.own_operator), name_of(variant.type));
  return rung.variant_count > 1 ? fmt::format("{}, ", name_of(variant.type)) : "";
}

} // namespace

Checked check_rung(const Rung& rung, const Options& options) {
  Checked checked;
  for (int i = 0; i < rung.variant_count; ++i) {
    const Variant& variant = rung.variants[i];
    if (variant.has_own_operator) continue; // check_other_operators()
    const std::string prefix = prefix_of(rung, variant);
    std::uint64_t seed = options.seed;
    for (const Case& given : cases_for(rung, variant, options)) {
      Check check = check_for(given, prefix);
      const Sequence input =
          make_sequence(variant.type, rung.operator_of(variant), given.kind, given.n, seed);
      if (options.grading())
        seed += 7919; // what a host function has seen of one input says nothing of the next
      const Outcome outcome = run_once(variant, given, input);
      judge(rung, variant, given, input, outcome, check);
      checked.checks.push_back(check);
      if (outcome.device_lost) {
        checked.device_lost = true;
        return checked;
      }
    }
    if (rung.deterministic && has_rounding(rung, variant)) {
      const unsigned block = block_for(rung, options);
      const Case given{Kind::rounding, std::min(prime_near_a_million, rung.most_elements(block)), 1, block,
                       0};
      const Sequence input =
          make_sequence(variant.type, rung.operator_of(variant), given.kind, given.n, options.seed);
      checked.checks.push_back(check_same_bits(variant, given, input));
      if (rung.any_block) checked.checks.push_back(check_any_block(rung, variant, given, input));
    }
    if (!on_emulator() && !options.n && !variant.by_rows) check_large(rung, variant, options, checked);
    if (checked.device_lost) return checked;
  }
  return checked;
}

std::vector<Check> check_other_operators(const Rung& rung, const Options& options) {
  std::vector<Check> checks;
  for (int i = 0; i < rung.variant_count; ++i) {
    const Variant& variant = rung.variants[i];
    if (!variant.has_own_operator) continue;
    const std::string name =
        fmt::format("technique: the kernel with another operator, {}", prefix_of(rung, variant));
    for (const Case& given : cases_for(rung, variant, options)) {
      if (given.n > 5000) continue; // what is written out in the kernel shows in few elements
      Check check = check_for(given, name);
      const Sequence input =
          make_sequence(variant.type, rung.operator_of(variant), given.kind, given.n, options.seed);
      const Outcome outcome = run_once(variant, given, input);
      const double expected = reduce(input, 0, given.n).value;
      check.ok = outcome.error.empty() && outcome.results.size() == 1 && outcome.results[0] == expected;
      if (!check.ok) {
        check.message =
            fmt::format("the same kernel is right for {} and wrong for an operator that the lab gives it, "
                        "{}: of {} elements {:.0f} "
                        "came out, {:.0f} expected. So something that belongs to {} is written out in the "
                        "kernel, a value to start "
                        "from or what becomes of two values; it is to take both from Op",
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
