// The result of a rung: its checks, its counters, its times, and the state that follows from them.
#pragma once

#include "judge/check.hpp"
#include "run/recorded.hpp"
#include "run/timing/timing.hpp"

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
