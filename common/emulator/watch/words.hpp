// What the student reads about a hazard: what happened, why it is wrong, what to try. One sentence each.
#pragma once

#include "machine/watcher.hpp"
#include "report.hpp"

#include <string>

namespace warpfold::watch {

enum class RaceScope : std::uint8_t { warp, block, blocks, fence };

struct Race {
  machine::AccessKind later{};
  bool earlier_wrote = false, earlier_atomic = false;
  RaceScope scope{};
  std::string place, later_thread, earlier_thread;
};

// The hazard's places are left to the caller; of a race, the kind too.
Hazard describe(const Race& race);
Hazard describe(machine::Notice notice, const std::string& thread, unsigned lanes);
Hazard describe_uninitialised(const std::string& thread, const std::string& place, ptx::Space space);
Hazard describe_input_written(const std::string& thread, const std::string& place, machine::AccessKind kind);

} // namespace warpfold::watch
