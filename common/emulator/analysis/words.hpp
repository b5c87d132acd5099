// What happened, in sentences for the student. hazards.def says why it is wrong and what to try.
#pragma once

#include "hazards.hpp"
#include "races.hpp"

#include "machine/watcher.hpp"

#include <string>

namespace warpfold::analysis {

enum class RaceScope : std::uint8_t { warp, block, blocks, launches, devices };

struct Race {
  HazardKind kind{};
  machine::AccessKind later{};
  bool earlier_wrote = false, earlier_atomic = false;
  bool one_statement = false; // both are stores, by the same statement
  bool beside_atomic = false; // one_statement, in a line that has an atomic as well
  bool one_step = false;      // a load and a store that belong to the same step
  bool earlier_bulk = false;  // a bulk copy
  bool in_opencl = false;
  RaceScope scope{};
  Missing missing{};
  std::string place, later_thread, earlier_thread;
};

// Of two findings at one place, the one of the greater number is kept: blocks come before warps, and what
// says more about the cause first.
int reach_of(RaceScope scope, Missing missing);

// The caller sets the places.
Hazard describe(const Race& race);
Hazard describe(machine::Notice notice, const std::string& thread, unsigned lanes);
Hazard describe_uninitialised(const std::string& thread, const std::string& place, ptx::Space space);
Hazard describe_unwritten_copy(const std::string& who, std::uint64_t unwritten, std::uint64_t size,
                               const std::string& allocation);
Hazard describe_copy_in_flight(const std::string& thread, const std::string& place, machine::AccessKind kind,
                               const std::string& copying_thread);
// An access to another block's shared memory, which may not be there.
Hazard describe_owner(HazardCause cause, const std::string& thread, machine::AccessKind kind,
                      const std::string& place, const std::string& owner);
// Of a bulk copy: a use of the place that it fills; a write to the place that it reads; the place that it
// reads, which was written without a proxy fence.
Hazard describe_bulk_in_flight(const std::string& thread, const std::string& place, machine::AccessKind kind,
                               const std::string& copying_thread);
Hazard describe_bulk_still_reads(const std::string& thread, const std::string& place,
                                 machine::AccessKind kind, const std::string& copying_thread);
Hazard describe_bulk_outlives(const std::string& block, const std::string& copying_thread);
Hazard describe_unfenced(const std::string& thread, const std::string& place,
                         const std::string& writing_thread);
HazardKind kind_of_restriction(HazardCause why);
// An access that `why` forbids: changed_input, read_only_buffer or write_only_buffer.
Hazard describe_restricted(HazardCause why, const std::string& thread, const std::string& place,
                           machine::AccessKind kind);

} // namespace warpfold::analysis
