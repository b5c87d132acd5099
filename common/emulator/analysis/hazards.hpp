// Hazards: their catalogue (hazards.def), and a hazard that was found.
#pragma once

#include "machine/machine.hpp"

#include <string>

namespace warpfold::analysis {

enum class HazardKind : std::uint8_t {
#define HAZARD_KIND(name, ...) name,
#define HAZARD_CAUSE(...)
#include "hazards.def"
#undef HAZARD_KIND
#undef HAZARD_CAUSE
};

enum class HazardCause : std::uint8_t {
#define HAZARD_KIND(...)
#define HAZARD_CAUSE(name, ...) name,
#include "hazards.def"
#undef HAZARD_KIND
#undef HAZARD_CAUSE
};

struct HazardKindFacts {
  const char* name;     // in the report: "race-shared"
  const char* read;     // the handout's section: "docs/handouts/00_start.md#races"
  const char* group;    // "bad-access", "race", "unwritten", "convergence" or ""
  bool fails_check;     // makes the check of a rung fail
  const char* explains; // what it explains beside a result, though it fails no check: "wrong", "nan" or ""
  bool of_host;         // done by the host's code, which is usually built without line numbers
};
const HazardKindFacts& facts(HazardKind kind);

struct HazardCauseFacts {
  const char *why, *advice; // a sentence each: why it is wrong, what to try
};
const HazardCauseFacts& facts(HazardCause cause);

struct Hazard {
  HazardKind kind{};
  HazardCause cause{};
  std::string message = {};             // what happened: who, where, at which address
  machine::SourceLine where{}, other{}; // other.line 0: there is no second place
  std::string launch = {};              // the call that launched the kernel, where its arguments matter
  std::string during = {};              // what the process said that it was doing
  int reach = 0;                        // of two findings at one place, the one that reaches farther is kept
};

// By the source's name: OpenCL's kernels have no __syncthreads, so the cause is said in other words.
bool is_in_opencl(const machine::SourceLine& where);
HazardCause cause_in_its_language(const Hazard& hazard);

// A stopped launch, or an access that would have stopped it if there had been no watcher.
Hazard hazard_from(const machine::Fault& fault);

} // namespace warpfold::analysis
