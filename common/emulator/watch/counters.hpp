// The counters of a launch, made of the machine's tallies: in total, and by the source line that caused them.
#pragma once

#include "machine/machine.hpp"

#include <cstdint>
#include <vector>

namespace warpfold::watch {

struct Counters {
#define COUNTER(name) std::uint64_t name = 0;
#include "counters.def"
#undef COUNTER
  // Lanes that worked, of those that the issued warp instructions had room for; 0 where nothing was issued.
  double simt_efficiency() const;
};

struct LineCounters {
  machine::SourceLine line;
  Counters counters;
  std::uint64_t executions = 0; // of the line by a warp: what its most executed instruction says
};

struct LaunchCounters {
  Counters total;
  std::vector<LineCounters> lines; // by file, then line; lines that nothing was charged to are left out
};

LaunchCounters count(const machine::LaunchRecord& record);

} // namespace warpfold::watch
