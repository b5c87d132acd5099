#include "ptx/names.hpp"

namespace warpfold::ptx {

std::optional<Name> Names::find(std::string_view name) const {
  // Nearly every operand is a register of a family; a register declared by itself would have clashed with it
  // only where a text declares both "%r<9>" and "%r1".
  if (const auto index = find_in_family(name)) return Name{Name::Kind::reg, {}, *index, 1};
  if (const Name* found = names_.find(name)) return *found;
  return std::nullopt;
}

std::optional<std::uint32_t> Names::find_in_family(std::string_view name) const {
  constexpr std::size_t most_digits = 7;
  std::size_t digits = 0;
  while (digits < most_digits && digits + 1 < name.size() && name[name.size() - digits - 1] >= '0' &&
         name[name.size() - digits - 1] <= '9') {
    ++digits;
  }
  // The prefix may itself end in digits ("%r1<5>" has %r10), so shorter numbers are tried when the longest
  // fails.
  for (; digits > 0; --digits) {
    const std::string_view suffix = name.substr(name.size() - digits);
    if (suffix[0] == '0' && digits > 1) continue; // %r01 is not %r1
    const RegisterFamily* family = families_.find(name.substr(0, name.size() - digits));
    if (family == nullptr) continue;
    std::uint32_t number = 0;
    for (const char digit : suffix) number = number * 10 + static_cast<std::uint32_t>(digit - '0');
    if (number < family->count) return family->first + number;
  }
  return std::nullopt;
}

} // namespace warpfold::ptx
