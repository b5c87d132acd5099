#include "checking/check.hpp"

#include "checking/profile.hpp"
#include "checking/watchdog.hpp"
#include "device.hpp"
#include "diagnosis/diagnosis.hpp"
#include "diagnosis/weights.hpp"
#include "grading/host_process.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <tuple>
#include <utility>

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
                         double got, bool& device_lost, const SearchForReasons* to_find_weights = nullptr) {
  Symptom symptom{given,          resident_blocks(given.block), {}, {}, rung.max_n != nullptr, on_emulator(),
                  variant.by_rows};
  symptom.observations.push_back({&input, reduce(input, 0, given.n).value, got});
  const auto result_on = [&](const Sequence& sequence) -> std::optional<double> {
    if (device_lost) return std::nullopt;
    const Outcome outcome = run_once(variant, given, sequence);
    device_lost = outcome.device_lost;
    if (device_lost || outcome.results.empty()) return std::nullopt;
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
  Diagnosis found = diagnose(symptom);
  if (found.specific || !to_find_weights) return found;
  const WithoutChecks fast; // there was nothing to see
  const auto weights = find_weights(symptom, [&](const Sequence& probe) -> std::optional<double> {
    return to_find_weights->is_over() ? std::nullopt : result_on(probe);
  });
  return weights ? describe(*weights, symptom) : found;
}

// The same for many results: what they were on this input, and what they are on another.
Diagnosis diagnose_wrong_rows(const Rung& rung, const Variant& variant, const Case& given,
                              const Sequence& input, const std::vector<double>& got, bool& device_lost) {
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
  device_lost = on_other.device_lost;
  if (on_other.results.size() != given.rows) return {};
  return diagnose_rows(given, std::vector{observed(input, got), observed(other, on_other.results)});
}

void judge(const Rung& rung, const Case& given, const Sequence& input, const Outcome& outcome, Check& check) {
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
      judge(rung, given, input, outcome, check);
      checked.device_lost = outcome.device_lost;
    }
    checked.checks.push_back(check);
    if (!check.ok) return;
  }
}

std::vector<Case> smallest_first(std::vector<Case> cases) {
  // Matrices without an element come after small ones: what is wrong with rows shows better where there is
  // one.
  const auto size = [](const Case& given) { return given.n == 0 && given.rows != 1 ? 1000 : given.n; };
  std::stable_sort(cases.begin(), cases.end(),
                   [&](const Case& a, const Case& b) { return size(a) < size(b); });
  return cases;
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
    return smallest_first(std::move(cases));
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
  return smallest_first(std::move(cases));
}

namespace {

std::string prefix_of(const Rung& rung, const Variant& variant) {
  if (variant.has_own_operator)
    return fmt::format("{}, {}, ", name_of(variant.own_operator), name_of(variant.type));
  return rung.variant_count > 1 ? fmt::format("{}, ", name_of(variant.type)) : "";
}

} // namespace

void Progress::runs(const Check& check) {
  std::lock_guard lock(mutex_);
  under_way_ = check;
}

void Progress::is_wrong(const Check& check) {
  {
    std::lock_guard lock(mutex_);
    under_way_ = check;
    if (std::exchange(told_, true)) return;
  }
  if (on_wrong_) on_wrong_(check);
}

void Progress::add(const Check& check) {
  if (!check.ok) is_wrong(check);
  std::lock_guard lock(mutex_);
  checks_.push_back(check);
  under_way_.reset();
}

void Progress::decide(std::size_t check, Diagnosis diagnosis) {
  std::lock_guard lock(mutex_);
  checks_[check].diagnosis = std::move(diagnosis);
  checks_[check].decides = true;
}

Checked Progress::so_far() const {
  std::lock_guard lock(mutex_);
  return {checks_, false};
}

std::optional<Check> Progress::under_way() const {
  std::lock_guard lock(mutex_);
  return under_way_;
}

namespace {

class Checker {
public:
  Checker(const Rung& rung, const Options& options, Progress& progress)
      : rung_(rung), options_(options), progress_(progress), seed_(options.seed) {}

  Checked check() {
    for (int i = 0; i < rung_.variant_count && !is_over(); ++i) {
      if (rung_.variants[i].has_own_operator) continue; // check_other_operators()
      check_variant(rung_.variants[i]);
      if (has_telling_failure()) break; // the other types would say the same
    }
    if (!failures_.empty() && !device_lost_) find_reason();
    Checked checked = progress_.so_far();
    checked.device_lost = device_lost_;
    return checked;
  }

private:
  struct Failure {
    const Variant* variant;
    Case given;
    std::uint64_t seed; // of the input
    std::size_t check;  // which
    double got;
  };

  // A hazard explains a wrong result, and then no other reason is looked for.
  bool is_over() const {
    return device_lost_ ||
           (search_ && (search_->is_over() || (on_emulator() && !recorded_so_far().hazards.empty())));
  }

  // A kernel with a hazard needs no further inputs where those so far were slow.
  bool has_taken_long() const {
    constexpr std::chrono::seconds long_enough(3);
    return std::chrono::steady_clock::now() - begin_ > long_enough;
  }

  static bool is_usual(const Case& given) { return given.offset == 0 && given.block == usual_block; }

  bool has_telling_failure() const {
    return std::any_of(failures_.begin(), failures_.end(), [](const Failure& failure) {
      return failure.given.n >= 256 && is_usual(failure.given);
    });
  }

  void check_variant(const Variant& variant) {
    const std::string prefix = prefix_of(rung_, variant);
    for (const Case& given : cases_for(rung_, variant, options_)) {
      if (is_over()) return;
      if (has_taken_long() && on_emulator() && !recorded_so_far().hazards.empty()) return;
      if (has_telling_failure() && (given.n > std::max(small, largest_wrong_) || search_->takes_long()))
        return;
      check_case(variant, given, check_for(given, prefix));
    }
    if (search_) return;
    if (rung_.deterministic && has_rounding(rung_, variant)) check_order(variant);
    if (!on_emulator() && !options_.n && !variant.by_rows) {
      Checked checked;
      check_large(rung_, variant, options_, checked);
      for (const Check& check : checked.checks) progress_.add(check);
      device_lost_ = checked.device_lost;
    }
  }

  void check_case(const Variant& variant, const Case& given, Check check) {
    const std::uint64_t seed = seed_;
    // What a host function has seen of one input says nothing of the next to be graded.
    if (options_.grading()) seed_ += 7919;
    const Sequence input = make_sequence(variant.type, rung_.operator_of(variant), given.kind, given.n, seed);
    progress_.runs(check);
    const Outcome outcome = run_once(variant, given, input);
    device_lost_ = outcome.device_lost;
    if (outcome.stopped && search_) return; // it was cut short
    judge(rung_, given, input, outcome, check);
    if (!check.ok) {
      progress_.is_wrong(check);
      largest_wrong_ = std::max(largest_wrong_, given.n);
      if (!search_) search_.emplace();
      if (outcome.error.empty() && !is_over()) explain(variant, given, seed, input, outcome, check);
    }
    progress_.add(check);
  }

  // Sums of one array are explained once all failures are known; of others, each.
  void explain(const Variant& variant, const Case& given, std::uint64_t seed, const Sequence& input,
               const Outcome& outcome, Check& check) {
    if (given.rows == 1 && rung_.op == Operator::add && given.kind == Kind::exact) {
      failures_.push_back({&variant, given, seed, progress_.so_far().checks.size(), outcome.results[0]});
    } else {
      check.diagnosis =
          given.rows == 1 ? diagnose_wrong(rung_, variant, given, input, outcome.results[0], device_lost_)
                          : diagnose_wrong_rows(rung_, variant, given, input, outcome.results, device_lost_);
    }
  }

  // The failure in which most can be seen is to be explained: some blocks and a fraction of one, and numbers
  // that can be worked out by hand. Where nothing explains it, the next ones are tried.
  void find_reason() {
    search_.emplace(); // with time of its own
    const auto rank = [](const Failure& failure) {
      const Case& given = failure.given;
      return std::tuple(!is_usual(given), std::abs(std::log((static_cast<double>(given.n) + 1) / 1001)));
    };
    std::stable_sort(failures_.begin(), failures_.end(),
                     [&](const Failure& a, const Failure& b) { return rank(a) < rank(b); });
    // Where that takes too long, few elements are the next best.
    const auto smallest =
        std::min_element(failures_.begin() + 1, failures_.end(), [](const Failure& a, const Failure& b) {
          const auto size = [](const Failure& failure) {
            return failure.given.n < 31 ? no_size : failure.given.n;
          };
          return size(a) < size(b);
        });
    if (smallest != failures_.end()) std::iter_swap(failures_.begin() + 1, smallest);
    constexpr std::size_t tries = 4;
    const auto of_nothing = std::find_if(failures_.begin(), failures_.end(), [](const Failure& failure) {
      return failure.given.n == 0 && !(failure.got == poison(failure.variant->type, Kind::exact));
    });
    if (of_nothing != failures_.end() && of_nothing->got != 0) {
      return progress_.decide(of_nothing->check, {"no-elements",
                                                  "There are no elements, and the sum of none is 0: "
                                                  "something is added that is no element, such as a variable "
                                                  "that is never set, or what lies past the end of an array.",
                                                  true});
    }
    for (std::size_t i = 0; i < std::min(tries, failures_.size()) && !is_over(); ++i) {
      Failure telling = failures_[i];
      Diagnosis found;
      // What shows only where there are many blocks is as plain, and sooner found, with few elements in small
      // ones.
      if (telling.given.n > few_elements) look_at(telling, found, few_elements, small_block());
      if (found.kind.empty()) found = reason_of(telling);
      if (is_ambiguous(found, telling.given))
        look_at(telling, found, telling.given.n, telling.given.block / 2);
      // Of few elements nothing may be left, or one block's part, where of many there is more to see.
      if (found.kind == "nothing-added" || found.kind == "only-block-0")
        look_at(telling, found, prime_near_a_million, telling.given.block);
      if (telling.given.block != usual_block) add_what_the_block_says(found);
      if (!found.kind.empty()) return progress_.decide(telling.check, std::move(found));
    }
  }

  // Where only other numbers of threads than the usual one make it wrong.
  void add_what_the_block_says(Diagnosis& found) const {
    const bool only_others = std::all_of(failures_.begin(), failures_.end(), [](const Failure& failure) {
      return failure.given.block != usual_block;
    });
    if (!only_others) return;
    if (found.kind.empty()) found.kind = "block-size", found.specific = true;
    found.text +=
        fmt::format("{}With {} threads per block it is right: is that number, or another that only fits it, "
                    "written into the code in place of blockDim.x?",
                    found.text.empty() ? "" : " ", usual_block);
  }

  // Takes another case in place of this one, if it is wrong, too, and has a reason.
  void look_at(Failure& failure, Diagnosis& found, std::size_t n, unsigned block) {
    Case given = failure.given;
    given.n = n, given.block = block;
    const bool is_same = n == failure.given.n && block == failure.given.block;
    if (is_same || block < rung_.min_block || n > rung_.most_elements(block)) return;
    const std::size_t count = failures_.size();
    check_case(*failure.variant, given, check_for(given, ""));
    if (failures_.size() == count) return;
    const Failure other = failures_.back();
    if (Diagnosis of_other = reason_of(other); of_other.specific)
      failure = other, found = std::move(of_other);
  }

  Diagnosis reason_of(const Failure& failure) {
    const Sequence input =
        make_sequence(failure.variant->type, rung_.op, failure.given.kind, failure.given.n, failure.seed);
    return diagnose_wrong(rung_, *failure.variant, failure.given, input, failure.got, device_lost_,
                          &*search_);
  }

  // As many blocks as threads in each, and what is wrong goes with that number: which of the two is it?
  static bool is_ambiguous(const Diagnosis& found, const Case& given) {
    return resident_blocks(given.block) == given.block &&
           found.text.find(fmt::format("{} times", given.block)) != std::string::npos;
  }

  void check_order(const Variant& variant) {
    const unsigned block = block_for(rung_, options_);
    const Case given{Kind::rounding, std::min(prime_near_a_million, rung_.most_elements(block)), 1, block, 0};
    const Sequence input =
        make_sequence(variant.type, rung_.operator_of(variant), given.kind, given.n, options_.seed);
    progress_.add(check_same_bits(variant, given, input));
    if (rung_.any_block) progress_.add(check_any_block(rung_, variant, given, input));
  }

  unsigned
  small_block() const { // of four warps, so that the first, all but the last, and a block are told apart
    return std::clamp(128u, rung_.min_block, rung_.max_block);
  }

  static constexpr std::size_t small = 5000; // it takes no time
  static constexpr std::size_t few_elements = 1000;
  static constexpr unsigned usual_block = 256;
  static constexpr std::size_t no_size = static_cast<std::size_t>(-1);
  const Rung& rung_;
  const Options& options_;
  Progress& progress_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::uint64_t seed_;                     // of the next input
  std::optional<SearchForReasons> search_; // from the first wrong result on
  std::vector<Failure> failures_;
  std::size_t largest_wrong_ = 0; // n
  bool device_lost_ = false;
};

} // namespace

Checked check_rung(const Rung& rung, const Options& options, Progress& progress) {
  return Checker(rung, options, progress).check();
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
