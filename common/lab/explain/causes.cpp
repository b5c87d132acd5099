#include "explain/causes.hpp"

#include <algorithm>

namespace lab {
namespace {

bool names(const Hazard& hazard, const std::string& file, int line) {
  return line != 0 && ((hazard.line == line && hazard.file == file) ||
                       (hazard.other_line == line && hazard.other_file == file));
}

// Whether one hazard follows from another; both have been seen.
bool follows(const Hazard& hazard, const Hazard& cause) {
  const bool same_place =
      names(cause, hazard.file, hazard.line) || names(cause, hazard.other_file, hazard.other_line);
  // A bad access neither reads nor writes anything, so a later access to the same data finds it unwritten, or
  // unordered.
  if (cause.group == "bad-access")
    return hazard.group == "unwritten" || (hazard.group == "race" && same_place);
  // What is read too soon has not been written yet.
  if (cause.group == "race") return hazard.group == "unwritten" && same_place;
  return false;
}

} // namespace

std::vector<Hazard> causes_among(std::vector<Hazard> hazards) {
  std::stable_sort(hazards.begin(), hazards.end(),
                   [](const Hazard& a, const Hazard& b) { return a.rank < b.rank; });
  std::vector<Hazard> causes;
  for (Hazard& hazard : hazards) {
    const bool is_told = std::any_of(causes.begin(), causes.end(),
                                     [&](const Hazard& cause) { return follows(hazard, cause); });
    if (!is_told) causes.push_back(std::move(hazard));
  }
  return causes;
}

} // namespace lab
