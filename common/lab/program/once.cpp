#include "program/once.hpp"

#include "explain/result_tree.hpp"
#include "judge/row_functions.hpp"
#include "run/emulator.hpp"
#include "run/many_gpus/ranks.hpp"
#include "run/runner.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lab {
namespace {

constexpr std::size_t usual_n = 8, most_n = 1024, digits = 9;

Sequence counting(const Variant& variant, Operator op, std::size_t n) {
  const std::size_t width = size_of(variant.type), period = std::max<std::size_t>(n, 1);
  std::vector<std::byte> values(period * width);
  for (std::size_t i = 0; i < period; ++i)
    store_value(variant.type, static_cast<double>(i % digits + 1), values.data() + i * width);
  return {variant.type, Kind::exact, op, n, period, 1, std::move(values)};
}

std::vector<double> expected_of(const Rung& rung, const Case& given, const Sequence& input, std::size_t row) {
  if (rung.row_function != RowFunction::none) return expect_row(rung, given, input, row).values;
  const std::size_t columns = given.n / given.rows;
  return {reduce(input, row * columns, (row + 1) * columns).value};
}

nlohmann::ordered_json tree_of(const Outcome& outcome, const Case& given, const Sequence& input) {
  try {
    return result_tree(outcome, given, input, 0);
  } catch (const std::length_error& error) {
    throw UsageError(fmt::format("--tree: {}; choose a smaller --n", error.what()));
  }
}

} // namespace

std::string look_once(const Rung& rung, const Options& options) {
  using nlohmann::ordered_json;
  const Variant& variant = rung.variants[0];
  const unsigned block = options.block.value_or(rung.min_block);
  const std::size_t asked = std::min(options.n.value_or(usual_n), rung.most_elements(block));
  if (asked > most_n)
    throw UsageError(fmt::format("--n {}: {} elements at most can be looked at", asked, most_n));
  const std::size_t rows = rows_for(variant, asked, options.rows), n = rows > 0 ? asked / rows * rows : 0;
  const Sequence input = counting(variant, rung.op, n);
  if (options.tree && rung.row_function != RowFunction::none)
    throw UsageError("--tree: it shows how one result is made; this rung makes a result of each element");
  const unsigned devices = devices_for(variant);
  const Case given{Kind::exact, n, rows, block, 0, devices};
  Outcome outcome;
  if (options.tree)
    outcome = run_followed(variant, given, input);
  else
    record([&] { outcome = run_once(variant, given, input); });
  ordered_json out{{"rung", rung.name}, {"n", n}, {"rows", rows}, {"block", block}, {"error", outcome.error}};
  for (std::size_t i = 0; i < n; ++i) out["input"].push_back(input[i]);
  for (std::size_t row = 0; row < rows; ++row)
    for (const double value : expected_of(rung, given, input, row)) out["expected"].push_back(value);
  out["results"] = outcome.results;
  if (rung.row_function != RowFunction::none && outcome.error.empty()) { // results that round
    Check check;
    judge_rows(rung, given, input, outcome.results, check);
    out["right"] = check.ok;
  }
  if (options.tree) out["tree"] = tree_of(outcome, given, input);
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

} // namespace lab
