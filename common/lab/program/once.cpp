#include "program/once.hpp"

#include "run/devices/ranks.hpp"
#include "run/emulator.hpp"
#include "run/runner.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lab {
namespace {

constexpr std::size_t usual_n = 8, most_n = 1024, digits = 9;

Sequence counting(const Variant& variant, Operator op, std::size_t n) {
  Sequence input{variant.type, Kind::exact, op, n, digits, 1, {}};
  input.values.resize(digits * size_of(variant.type));
  for (std::size_t i = 0; i < digits; ++i) {
    store_value(variant.type, static_cast<double>(i + 1), input.values.data() + i * size_of(variant.type));
  }
  return input;
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
  const unsigned devices = devices_for(variant);
  Outcome outcome;
  record([&] { outcome = run_once(variant, {Kind::exact, n, rows, block, 0, devices}, input); });
  ordered_json out{{"rung", rung.name}, {"n", n}, {"rows", rows}, {"block", block}, {"error", outcome.error}};
  for (std::size_t i = 0; i < n; ++i) out["input"].push_back(input[i]);
  for (std::size_t row = 0; row < rows; ++row)
    out["expected"].push_back(reduce(input, row * (n / rows), (row + 1) * (n / rows)).value);
  out["results"] = outcome.results;
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

} // namespace lab
