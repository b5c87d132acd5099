// The report: launches with their counters, in total and by source line, and hazards. DESIGN of the keys:
// docs/reference/report.md.
#pragma once

#include "machine/machine.hpp"

#include <string>
#include <vector>

namespace warpfold::watch {

struct Hazard {
  std::string kind; // race-shared, race-global, fence, out-of-bounds, use-after-free, misaligned,
                    // uninitialised, input-written, barrier, warp-mask, endless, leak, launch
  machine::SourceLine where, other; // other.line 0: there is no second place
  std::string message;              // what happened: who, where, at which address
  std::string why, advice;          // a sentence each: why it is wrong, what to try
  int reach = 0;                    // of two findings at one place the one that reaches farther is kept
};

// A stopped launch as a hazard.
Hazard hazard_from(const machine::Fault& fault);

// Gathers what a process did. Safe to call from several threads.
class Recorder {
public:
  void add(const machine::LaunchRecord& record);
  void add(Hazard hazard); // once a kind and pair of places; repeats are counted
  void reset();
  std::string json() const;
  std::size_t hazard_count() const;

private:
  struct State;
  State& state() const;
};

} // namespace warpfold::watch
