#include "ptx/names.hpp"

namespace warpfold::ptx {

std::optional<Name> Names::find(std::string_view name) const {
  // Nearly every operand is a register of a family. A register that is declared individually hides it if its
  // scope is nested deeper: nvcc's 128-bit arithmetic declares "%r0, %r1, %r2" in braces inside a function
  // with "%r<38>".
  const auto member = find_in_family(name);
  const auto* single = member && !numbered_names_ ? nullptr : names_.find(name);
  if (single && (!member || single->depth > member->depth)) return single->value;
  if (member) return Name{Name::Kind::reg, {}, member->index, 1};
  return std::nullopt;
}

std::optional<Names::Member> Names::find_in_family(std::string_view name) const {
  constexpr std::size_t most_digits = 7;
  std::size_t digits = 0;
  while (digits < most_digits && digits + 1 < name.size() && name[name.size() - digits - 1] >= '0' &&
         name[name.size() - digits - 1] <= '9') {
    ++digits;
  }
  // The prefix may itself end in digits ("%r1<5>" contains %r10), so shorter numbers are tried if the longest
  // one fails.
  for (; digits > 0; --digits) {
    const std::string_view suffix = name.substr(name.size() - digits);
    if (suffix[0] == '0' && digits > 1) continue; // %r01 is not %r1
    const auto* entry = families_.find(name.substr(0, name.size() - digits));
    if (entry == nullptr) continue;
    const RegisterFamily& family = entry->value;
    std::uint32_t number = 0;
    for (const char digit : suffix) number = number * 10 + static_cast<std::uint32_t>(digit - '0');
    if (number < family.count) return Member{family.first + number, entry->depth};
  }
  return std::nullopt;
}

} // namespace warpfold::ptx
