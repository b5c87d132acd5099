// The result of a rung: its checks, its counters, its times, and the state that follows from them.
#pragma once

#include "checking/sequence.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

enum class State {
#define WARPFOLD_STATE(identifier, ...) identifier,
#include "states.def"
#undef WARPFOLD_STATE
};
struct StateRow {
  State state;
  std::string_view name, sentence, label, colour;
};
inline constexpr StateRow states[] = {
#define WARPFOLD_STATE(identifier, name, sentence, label, colour, kind)                                      \
  {State::identifier, name, sentence, label, colour},
#include "states.def"
#undef WARPFOLD_STATE
};
constexpr std::string_view name_of(State state) {
  return states[static_cast<int>(state)].name;
}

// What a wrong result looks like, with the evidence.
struct Diagnosis {
  std::string kind; // "lost-tail": see diagnosis/. "": no diagnosis
  std::string text;
  bool specific = false; // singles out one mistake, which "the result is 0" does not
};

// One run of a rung on one input, or one property that it must have.
struct Check {
  std::string name; // "n = 257, exact"
  bool ok = true;
  bool skipped = false; // message says why
  std::string message;  // if not ok: what was expected, and the result
  Diagnosis diagnosis;
  std::size_t n = 0;
  bool decides = false; // its diagnosis becomes the rung's
  bool usual = false;   // an exact input, aligned, with the usual number of threads per block
};

struct Hazard {
  std::string kind, file, other_file, message;
  std::string why, advice; // a sentence each, from the emulator
  std::string read;        // the section that explains it: "docs/handouts/00_start.md#races"
  std::string group;       // "bad-access", "race", "unwritten" or ""
  int rank = 0;            // hazards that explain more have a lower rank
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

// Microseconds of one run of a rung; timing.hpp explains the figures.
struct Timing {
  std::size_t n = 0, rows = 1, repetitions = 0;
  unsigned block = 0;
  double median = 0, low = 0, high = 0; // low, high: the quartiles
  double bytes_per_second = 0;
  double peak_bandwidth = 0;     // by the device's attributes; 0 unknown
  double measured_bandwidth = 0; // bytes per second of this library's own reading kernel
  double cpu_loop = 0;           // microseconds of a plain loop on one CPU thread
  double speed_up_over_cpu = 0, speed_up_over_rung_before = 0; // 0: not known
};

struct Result {
  std::string rung;
  State state = State::pass;
  std::string reason; // one line
  std::string file;   // where to look: the next TODO, or a hazard
  int line = 0;
  std::string repair_file; // if set, the rung is still as it was handed out, broken, and this file has the
                           // TODO that says so
  int repair_line = 0;
  Diagnosis diagnosis; // the most specific of its checks'
  std::vector<Check> checks;
  std::vector<Hazard> hazards;
  std::optional<Profile> profile;
  std::optional<Timing> timing;
};

} // namespace lab
