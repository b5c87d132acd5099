#include "schedule.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace warpfold::machine {

namespace {

// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators").
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ull;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ value >> 27) * 0x94d049bb133111ebull;
  return value ^ value >> 31;
}

} // namespace

std::uint64_t Schedule::at(std::uint64_t turn, std::uint64_t count, std::uint64_t salt) const {
  switch (order) {
  case Order::forwards:
    return turn;
  case Order::backwards:
    return count - 1 - turn;
  case Order::shuffled:
    break;
  }
  // A step that has no divisor in common with `count` reaches each of them once.
  const std::uint64_t chance = mixed(seed ^ mixed(salt));
  std::uint64_t step = mixed(chance) % count + 1;
  while (std::gcd(step, count) != 1) ++step;
  const auto wide = static_cast<unsigned __int128>(turn) * step + chance % count;
  return static_cast<std::uint64_t>(wide % count);
}

namespace {

constexpr std::uint64_t many_blocks = 1 << 20; // of which the middle ones run too

} // namespace

std::uint64_t Schedule::block_at(std::uint64_t turn, std::uint64_t count) const {
  if (!ends_only) return at(turn, count);
  const std::uint64_t ends[] = {0, count - 1, count / 2 - 1, count / 2, count / 2 + 1};
  return ends[turn];
}

std::uint64_t Schedule::block_turns(std::uint64_t count) const {
  return ends_only ? std::min<std::uint64_t>(count, count > many_blocks ? 5 : 2) : count;
}

bool Schedule::takes_branches_first(std::uint64_t salt) const {
  return order == Order::backwards || (order == Order::shuffled && mixed(seed ^ salt) & 1);
}

std::optional<Schedule> parse_schedule(std::string_view text) {
  if (text == "forwards") return Schedule{};
  if (text == "backwards") return Schedule{.order = Schedule::Order::backwards};
  if (text == "ends") return Schedule{.ends_only = true};
  constexpr std::string_view shuffled = "shuffled:";
  if (!text.starts_with(shuffled)) return std::nullopt;
  text.remove_prefix(shuffled.size());
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return Schedule{.order = Schedule::Order::shuffled, .seed = seed};
}

} // namespace warpfold::machine
