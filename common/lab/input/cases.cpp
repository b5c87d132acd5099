#include "input/cases.hpp"

#include "input/row_inputs.hpp"

#include <algorithm>
#include <utility>

namespace lab {
namespace {

constexpr std::size_t sizes[] = {
    0, 1, 31, 32, 33, 255, 256, 257, 1000, prime_near_a_million, std::size_t{1} << 20};

// The usual sizes, and those around what a block covers with one and with two elements per thread, as far as
// the rung takes them.
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

// Few rows of each width up to the widest that the rung takes, and what is special about a row.
void add_cases_of_row_function(std::vector<Case>& cases, const Rung& rung, unsigned block) {
  const auto add = [&](Kind kind, std::size_t rows, std::size_t columns, std::size_t offset = 0) {
    if (columns <= rung.max_columns) cases.push_back({kind, rows * columns, rows, block, offset});
  };
  constexpr std::pair<std::size_t, std::size_t> shapes[] = {{1, 1},    {3, 7},    {2, 33},    {5, 256},
                                                            {4, 1000}, {2, 4099}, {1, 16384}, {3, 10007}};
  for (const auto& [rows, columns] : shapes) add(Kind::scores, rows, columns);
  add(Kind::scores, 5, 0), add(Kind::scores, 0, 7);
  add(Kind::scores, 3, 260, 1);
  const std::size_t all = special_cases(rung.row_function);
  add(Kind::special_rows, all, 300), add(Kind::special_rows, all, 2048);
  if (rung.row_function == RowFunction::softmax) add(Kind::masked, 6, 1000), add(Kind::masked, 3, 4096);
  constexpr std::size_t long_enough = 1 << 18; // one row takes the emulator a moment
  // More rows than a device has room for, several times over.
  if (rung.wide_columns <= long_enough) add(Kind::scores, 3000, 32);
  // A row that is long for the threads of a small block.
  constexpr std::size_t long_for_few = 20011;
  constexpr unsigned few = 64;
  if (long_for_few <= rung.max_columns) cases.push_back({Kind::scores, long_for_few, 1, few, 0});
  if (!rung.wide_columns) return;
  constexpr std::size_t more_than_a_block_keeps = 33'795; // and few enough to follow their values
  if (rung.wide_columns > more_than_a_block_keeps) add(Kind::scores, 1, more_than_a_block_keeps);
  constexpr std::size_t most_that_a_cluster_keeps = 1 << 19;
  add(Kind::scores, 1, rung.wide_columns);
  if (rung.wide_columns <= most_that_a_cluster_keeps)
    return add(Kind::scores, rung.wide_columns > long_enough ? 1 : 2, rung.wide_columns - 5);
  add(Kind::scores, 1, most_that_a_cluster_keeps);
  add(Kind::scores, 1, most_that_a_cluster_keeps + 1); // the last part of a row is the shortest
}

// Whether the minimum or maximum of magnitudes differs from that of the values.
bool has_signs(const Rung& rung, const Variant& variant) {
  const Operator op = rung.operator_of(variant);
  return variant.type != Type::uint32 && (op == Operator::min || op == Operator::max);
}

// Whether one 0 is the result, so that a kernel that takes a 0 for no value at all is wrong.
bool has_zero(const Rung& rung, const Variant& variant) {
  const Operator op = rung.operator_of(variant);
  return op == Operator::min || op == Operator::product ||
         (op == Operator::max && variant.type != Type::uint32);
}

std::vector<Case> smallest_first(std::vector<Case> cases) {
  // Matrices without elements come after small ones: what is wrong with rows shows better where there are
  // elements.
  const auto size = [](const Case& given) { return given.n == 0 && given.rows != 1 ? 1000 : given.n; };
  std::stable_sort(cases.begin(), cases.end(),
                   [&](const Case& a, const Case& b) { return size(a) < size(b); });
  return cases;
}

// The sizes asked for in addition to the usual ones, as far as the rung takes them.
void add_more(std::vector<Case>& cases, const Rung& rung, const Variant& variant, const Options& options) {
  for (const MoreSize& more : options.more) {
    const unsigned block =
        std::clamp(more.block.value_or(block_for(rung, options)), rung.min_block, rung.max_block);
    const std::size_t n = std::min(more.n, rung.most_elements(block));
    const std::size_t rows = rows_for(variant, n, std::nullopt);
    cases.push_back({usual_kind(rung), rows > 0 ? n / rows * rows : 0, rows, block, 0});
  }
}

void use_devices(std::vector<Case>& cases, unsigned devices) {
  for (Case& each : cases) each.devices = devices;
}

// All cases on all devices, and some on fewer: what holds for four may not hold for two, and one device has
// no other. As many processes as there are devices run together or not at all.
void share_out(std::vector<Case>& cases, const Variant& variant, unsigned block, const Devices& there) {
  const unsigned all = there.count;
  use_devices(cases, all);
  if (variant.processes.begin) return;
  for (const std::size_t n : {std::size_t{257}, std::size_t{100003}})
    if (all > 2) cases.push_back({Kind::exact, n, 1, block, 0, 2});
  if (all > 1) cases.push_back({Kind::exact, 1000, 1, block, 0, 1});
  if (all > 3) cases.push_back({Kind::exact, 5000, 1, block, 0, 3});
  // What a sum leaves behind the next one may need before all have it. Three, because what a device does in
  // the third must be ordered after what another has done in the first.
  if (all > 1 && there.emulated)
    cases.push_back({.kind = Kind::exact, .n = 1000, .block = block, .devices = all, .in_a_row = 3});
}

} // namespace

bool has_rounding(const Rung& rung, const Variant& variant) {
  const bool is_float = variant.type == Type::float32 || variant.type == Type::float64;
  const Operator op = rung.operator_of(variant);
  return is_float && rung.row_function == RowFunction::none &&
         (op == Operator::add || op == Operator::product);
}

static std::vector<Case> all_cases(const Rung& rung, const Variant& variant, const Options& options,
                                   const Devices& there) {
  const unsigned block = block_for(rung, options);
  const bool rounding = has_rounding(rung, variant);
  std::vector<Case> cases;
  if (options.n) {
    const std::size_t rows = rows_for(variant, *options.n, options.rows);
    const std::size_t n = rows > 0 ? *options.n / rows * rows : 0;
    const Kind kind = usual_kind(rung);
    cases = {{kind, n, rows, block, 0}, {kind, n, rows, block, 1}};
    if (rounding) cases.push_back({Kind::rounding, n, rows, block, 0});
    if (variant.over_devices) use_devices(cases, there.count);
    return cases;
  }
  if (variant.by_rows) {
    if (rung.row_function == RowFunction::none)
      add_row_cases(cases, block, rounding);
    else
      add_cases_of_row_function(cases, rung, block);
    if (!options.block) {
      for (const unsigned other : {rung.min_block, rung.max_block}) {
        if (other != block) cases.push_back({usual_kind(rung), 40 * 1003, 40, other, 0});
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
  const bool is_tried = !rung.emulated_type || *rung.emulated_type == variant.type;
  if (there.emulated && rung.emulated_n != 0 && is_tried) {
    const bool larger = rung.larger_emulated_n != 0 && there.memory >= rung.memory_for_larger;
    cases.push_back({Kind::exact, larger ? rung.larger_emulated_n : rung.emulated_n, 1, block, 0});
  }
  if (has_signs(rung, variant))
    cases.push_back({Kind::mixed_signs, std::min<std::size_t>(1000, most), 1, block, 0});
  if (has_zero(rung, variant))
    cases.push_back({Kind::lone_zero, std::min<std::size_t>(1000, most), 1, block, 0});
  if (rung.stalling) {
    for (const Kind kind : {Kind::stalling, Kind::quarters, Kind::lone_ones}) {
      cases.push_back({kind, std::min(std::size_t{1} << 20, most), 1, block, 0});
    }
    if (rung.is_kahan) cases.push_back({Kind::excesses, std::size_t{1} << 20, 1, block, 0});
  }
  if (rung.cancelling) cases.push_back({Kind::cancelling, std::min(std::size_t{1} << 20, most), 1, block, 0});
  if (!options.block) { // another number of threads per block
    for (const unsigned other : {rung.min_block, rung.max_block}) {
      if (other == block) continue;
      cases.push_back({Kind::exact, std::min<std::size_t>(5000, rung.most_elements(other)), 1, other, 0});
    }
    constexpr unsigned no_power_of_two = 96;
    if (rung.any_block)
      cases.push_back({Kind::exact, std::min<std::size_t>(100003, most), 1, no_power_of_two, 0});
  }
  add_more(cases, rung, variant, options);
  if (variant.over_devices) share_out(cases, variant, block, there);
  return smallest_first(std::move(cases));
}

std::vector<Case> cases_for(const Rung& rung, const Variant& variant, const Options& options,
                            const Devices& there) {
  std::vector<Case> cases = all_cases(rung, variant, options, there);
  std::erase_if(cases, [&](const Case& given) {
    return given.block > there.largest_block || (variant.in_opencl && given.offset != 0);
  });
  return cases;
}

} // namespace lab
