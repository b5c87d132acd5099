#include "checking/causes.hpp"

#include <algorithm>
#include <iterator>

namespace lab {
namespace {

// What explains more stands before what may follow from it.
constexpr std::string_view order[] = {"misaligned", "out-of-bounds", "use-after-free", "barrier",
                                      "endless",    "race-shared",   "warp-mask",      "race-global",
                                      "fence",      "uninitialised", "input-written",  "launch"};

auto rank(const Hazard& hazard) {
  return std::find(std::begin(order), std::end(order), hazard.kind) - std::begin(order);
}

bool is_bad_access(const Hazard& hazard) {
  return rank(hazard) < 3;
}

bool is_race(const Hazard& hazard) {
  return hazard.kind == "race-shared" || hazard.kind == "race-global" || hazard.kind == "fence";
}

bool names(const Hazard& hazard, const std::string& file, int line) {
  return line != 0 && ((hazard.line == line && hazard.file == file) ||
                       (hazard.other_line == line && hazard.other_file == file));
}

// Of two hazards that have both been seen.
bool follows(const Hazard& hazard, const Hazard& cause) {
  const bool same_place =
      names(cause, hazard.file, hazard.line) || names(cause, hazard.other_file, hazard.other_line);
  // A bad access reads nothing, and writes nothing: whatever is made of that has neither been written nor
  // ordered.
  if (is_bad_access(cause)) return hazard.kind == "uninitialised" || (is_race(hazard) && same_place);
  // What is read too soon has not been written yet.
  if (is_race(cause)) return hazard.kind == "uninitialised" && same_place;
  return false;
}

} // namespace

std::vector<Hazard> causes_among(std::vector<Hazard> hazards) {
  std::stable_sort(hazards.begin(), hazards.end(),
                   [](const Hazard& a, const Hazard& b) { return rank(a) < rank(b); });
  std::vector<Hazard> causes;
  for (Hazard& hazard : hazards) {
    const bool is_told = std::any_of(causes.begin(), causes.end(),
                                     [&](const Hazard& cause) { return follows(hazard, cause); });
    if (!is_told) causes.push_back(std::move(hazard));
  }
  return causes;
}

} // namespace lab
