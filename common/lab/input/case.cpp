#include "input/case.hpp"

#include <cmath>
#include <fmt/format.h>

namespace lab {

std::string describe(std::size_t n, std::size_t rows) {
  return rows == 1 ? fmt::format("n = {}", n) : fmt::format("{} rows of {}", rows, rows ? n / rows : 0);
}

std::string describe(const Case& given) {
  std::string text = fmt::format("{}, {}", describe(given.n, given.rows), name_of(given.kind));
  if (given.block != usual_block) text += fmt::format(", {} threads per block", given.block);
  if (given.offset != 0) text += ", input not 16-byte aligned";
  if (given.devices > 1) text += fmt::format(", {} devices", given.devices);
  if (given.in_a_row > 1) text += fmt::format(", {} sums in a row", given.in_a_row);
  return text;
}

std::size_t rows_for(const Variant& variant, std::size_t n, std::optional<std::size_t> asked) {
  if (!variant.by_rows) return 1;
  return asked.value_or(static_cast<std::size_t>(std::sqrt(static_cast<double>(n))));
}

} // namespace lab
