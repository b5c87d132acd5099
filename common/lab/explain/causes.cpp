#include "explain/causes.hpp"

#include <algorithm>

namespace lab {
namespace {

bool names(const Hazard& hazard, const std::string& file, int line) {
  return line != 0 && ((hazard.line == line && hazard.file == file) ||
                       (hazard.other_line == line && hazard.other_file == file));
}

// What shares the barrier's line alone comes after it: PTX gives instructions of no line the one before.
bool lies_between(const Hazard& barrier, const Hazard& race) {
  const auto [first, last] = std::minmax(race.line, race.other_line);
  return race.file == barrier.file && race.other_file == barrier.file && race.other_line != 0 &&
         barrier.line <= last && (first < barrier.line || first == last);
}

// A race and its reverse, such as a read before the write of the next run: the first one says it.
bool is_reverse(const Hazard& hazard, const Hazard& cause) {
  return hazard.group == "race" && cause.group == "race" && hazard.line != hazard.other_line &&
         hazard.other_line != 0 && hazard.line == cause.other_line && hazard.file == cause.other_file &&
         hazard.other_line == cause.line && hazard.other_file == cause.file;
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
  if (cause.group == "convergence") {
    // A barrier that some threads miss does not order what stands on its two sides.
    if (hazard.group == "race") return cause.kind == "barrier" && lies_between(cause, hazard);
    // A launch that came to a standstill shows which threads wait where.
    return hazard.group == "convergence" && same_place && !cause.launch.empty() && hazard.launch.empty();
  }
  return false;
}

} // namespace

std::vector<Hazard> causes_among(std::vector<Hazard> hazards) {
  const std::vector<Hazard> seen = hazards;
  std::erase_if(hazards, [&](const Hazard& hazard) {
    return std::ranges::any_of(seen, [&](const Hazard& cause) { return follows(hazard, cause); });
  });
  for (std::size_t first = 0; first < hazards.size(); ++first)
    hazards.erase(std::remove_if(hazards.begin() + static_cast<std::ptrdiff_t>(first) + 1, hazards.end(),
                                 [&](const Hazard& hazard) { return is_reverse(hazard, hazards[first]); }),
                  hazards.end());
  std::ranges::stable_partition(hazards, [](const Hazard& hazard) { return hazard.group != "unwritten"; });
  return hazards;
}

} // namespace lab
