#include "ptx/specials.hpp"

#include <array>
#include <charconv>

namespace warpfold::ptx {
namespace {

struct Entry {
  std::string_view name;
  bool vector;
  std::uint8_t numbers = 0; // for a numbered register, how many there are
};

// In the order of `Special`.
constexpr std::array<Entry, 38> entries{{
    {"%tid", true},
    {"%ntid", true},
    {"%laneid", false},
    {"%warpid", false},
    {"%nwarpid", false},
    {"%ctaid", true},
    {"%nctaid", true},
    {"%smid", false},
    {"%nsmid", false},
    {"%gridid", false},
    {"%lanemask_eq", false},
    {"%lanemask_le", false},
    {"%lanemask_lt", false},
    {"%lanemask_ge", false},
    {"%lanemask_gt", false},
    {"%clock", false},
    {"%clock_hi", false},
    {"%clock64", false},
    {"%globaltimer", false},
    {"%globaltimer_lo", false},
    {"%globaltimer_hi", false},
    {"%clusterid", true},
    {"%nclusterid", true},
    {"%cluster_ctaid", true},
    {"%cluster_nctaid", true},
    {"%cluster_ctarank", false},
    {"%cluster_nctarank", false},
    {"%is_explicit_cluster", false},
    {"%dynamic_smem_size", false},
    {"%total_smem_size", false},
    {"%aggr_smem_size", false},
    {"%current_graph_exec", false},
    {"%reserved_smem_offset_begin", false},
    {"%envreg", false, 32},
    {"%reserved_smem_offset_end", false},
    {"%reserved_smem_offset_cap", false},
    {"%reserved_smem_offset_", false, 2},
    {"%pm", false, 8},
}};
static_assert(entries.size() == static_cast<std::size_t>(Special::pm) + 1);

std::optional<SpecialOperand> numbered(std::string_view name) {
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const Entry& entry = entries[index];
    if (entry.numbers == 0 || !name.starts_with(entry.name)) continue;
    unsigned number = entry.numbers;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + entry.name.size(), end, number);
    if (error != std::errc{} || number >= entry.numbers) continue;
    const auto special = static_cast<Special>(index);
    if (stop == end) return SpecialOperand{special, static_cast<std::uint8_t>(number)};
    if (special == Special::pm && std::string_view(stop, end) == "_64") {
      return SpecialOperand{special, static_cast<std::uint8_t>(number + 8)};
    }
  }
  return std::nullopt;
}

} // namespace

std::string_view name_of(Special special) {
  return entries[static_cast<std::size_t>(special)].name;
}

std::optional<SpecialOperand> special_from(std::string_view name) {
  const std::size_t dot = name.find('.');
  const std::string_view stem = name.substr(0, dot);
  for (std::size_t index = 0; index < entries.size(); ++index) {
    if (entries[index].name != stem || entries[index].numbers > 0) continue;
    const auto special = static_cast<Special>(index);
    if (dot == name.npos) return SpecialOperand{special, 0};
    const std::size_t component = std::string_view("xyzw").find(name[dot + 1]);
    if (!entries[index].vector || name.size() != dot + 2 || component > 3) return std::nullopt;
    return SpecialOperand{special, static_cast<std::uint8_t>(component)};
  }
  return numbered(name);
}

} // namespace warpfold::ptx
