// What the emulator records while a rung runs: counts and hazards.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lab {

struct Hazard {
  std::string kind, file, other_file, message;
  std::string during;      // the case that was run
  std::string launch;      // the call that launched the kernel, where its arguments matter
  std::string why, advice; // a sentence each, from the emulator
  std::string read;        // the section that explains it: "docs/handouts/00_start.md#races"
  std::string group;       // "bad-access", "race", "unwritten", "convergence" or ""
  std::string explains;    // if it fails no check: the result beside which it counts, "wrong" or "nan"
  int line = 0, other_line = 0;
  int call_line = 0; // if `line` is in a called function: the line of the call, in the same file
};

// What the emulator counted while a rung ran once.
struct Profile {
  std::size_t n = 0, rows = 1;
  unsigned block = 0;
  unsigned devices = 1;
  std::size_t launches = 0;
  double launches_of_busiest_device = 0;
  std::vector<std::pair<std::string, double>> totals; // by the report's keys, for all launches together
  std::string report;                                 // the report itself, JSON text

  double total(std::string_view key) const;
};

// What the emulator recorded while `run` ran. Only on the emulator.
struct Recorded {
  Profile profile;
  std::vector<Hazard> hazards;
};

} // namespace lab
