// The counters of a launch, computed from the machine's counters: in total, and by the source line that
// caused them.
#pragma once

#include "machine/machine.hpp"

#include <cstdint>
#include <vector>

namespace warpfold::analysis {

// The catalogue's counters, each a member with its name, and its ratios, each a function.
struct Counters {
#define COUNTED(key, ...) std::uint64_t key = 0;
#define COUNTED_PER_LAUNCH(...)
#define COUNTED_PER_LINE(...)
#define COUNTED_MOST(...)
#define RATIO(key, label, unit, meaning, numerator, denominator)                                             \
  double key() const {                                                                                       \
    return divide(numerator, denominator);                                                                   \
  }
#include "counted.def"
#undef COUNTED
#undef COUNTED_PER_LAUNCH
#undef COUNTED_PER_LINE
#undef COUNTED_MOST
#undef RATIO

  Counters& operator+=(const Counters& other);

private:
  static double divide(std::uint64_t numerator, std::uint64_t denominator) {
    return denominator ? static_cast<double>(numerator) / static_cast<double>(denominator) : 0;
  }
};

// The counters that only a launch, or several launches, have.
struct LaunchTotals {
  std::uint64_t blocks = 0, warps = 0, grid_size_uses = 0, strong_loads_in_flight = 0;
  machine::BusiestReaders busiest;

  LaunchTotals& operator+=(const LaunchTotals& other) {
    blocks += other.blocks, warps += other.warps, grid_size_uses += other.grid_size_uses;
    strong_loads_in_flight = std::max(strong_loads_in_flight, other.strong_loads_in_flight);
    busiest.include(other.busiest);
    return *this;
  }
};

struct LineCounters {
  machine::SourceLine line;
  Counters counters;
  std::uint64_t executions = 0; // executions of the line by warps: those of its most executed instruction
};

struct LaunchCounters {
  Counters total;
  std::vector<LineCounters> lines; // by file, then line; lines without any charge are left out
};

LaunchCounters count(const machine::LaunchRecord& record);
LaunchTotals totals_of(const machine::LaunchRecord& record);

} // namespace warpfold::analysis
