#include "words.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace warpfold::watch {

namespace {

const char* verb(machine::AccessKind kind) {
  switch (kind) {
  case machine::AccessKind::load:
    return "reads";
  case machine::AccessKind::store:
    return "writes";
  default:
    return "updates";
  }
}

const char* between(RaceScope scope) {
  switch (scope) {
  case RaceScope::warp:
    return "with no __syncwarp() between the two";
  case RaceScope::block:
    return "with no barrier between the two";
  case RaceScope::blocks:
    return "in the same launch, with nothing that orders the two blocks";
  default:
    return "and announced it with an atomic, but with no fence between the two";
  }
}

const char* why(RaceScope scope) {
  switch (scope) {
  case RaceScope::warp:
    return "Since Volta the lanes of a warp need not run in step, so either may come first.";
  case RaceScope::block:
    return "The warps of a block run in any order, so either may come first.";
  case RaceScope::blocks:
    return "Blocks run in any order, some before and some after others, so either may come first.";
  default:
    return "Without a fence the atomic may become visible before the data that it announces.";
  }
}

const char* advice(RaceScope scope) {
  switch (scope) {
  case RaceScope::warp:
    return "Put __syncwarp() between the write and the other access, or exchange values by a shuffle.";
  case RaceScope::block:
    return "Put __syncthreads() between the two, where every thread of the block reaches it.";
  case RaceScope::blocks:
    return "End the kernel and read in a second launch, use an atomic, or let the last block finish (fence, "
           "then ticket).";
  default:
    return "Call __threadfence() after the write and before the atomic.";
  }
}

struct FaultWords {
  machine::Fault::Kind kind;
  const char *name, *why, *advice;
};
using FaultKind = machine::Fault::Kind;
constexpr FaultWords fault_words[] = {
    {FaultKind::out_of_bounds, "out-of-bounds", "What lies there is not this program's, or does not exist.",
     "Compare the index with the number of elements before it is used: if (i < n)."},
    {FaultKind::use_after_free, "use-after-free", "Freed memory may already belong to something else.",
     "Free it after the last launch that uses it."},
    {FaultKind::misaligned, "misaligned", "A GPU accesses a value only at a multiple of its size.",
     "Begin vector loads at an aligned address, and treat the elements before it one by one."},
    {FaultKind::barrier, "barrier", "Threads wait at a barrier that others can never reach.",
     "Move the barrier out of the branch, so that every thread of the block reaches it."},
    {FaultKind::warp_mask, "warp-mask", "Lanes wait for lanes that are named in the mask and never come.",
     "Name exactly the lanes that reach the operation."},
    {FaultKind::endless, "endless",
     "The loop's condition never becomes false, or it waits for what nobody does.",
     "Look at how the loop's variable changes; a stride that becomes 0 never ends a loop."},
    {FaultKind::unsupported, "launch", "The emulator does not have this instruction.",
     "Run it on a GPU, or write the step without it."},
};

} // namespace

Hazard hazard_from(const machine::Fault& fault) {
  auto known = std::find_if(std::begin(fault_words), std::end(fault_words),
                            [&](const FaultWords& words) { return words.kind == fault.kind; });
  if (known == std::end(fault_words)) return {"launch", fault.where, fault.other, fault.message, "", "", 0};
  return {known->name, fault.where, fault.other, fault.message, known->why, known->advice, 0};
}

Hazard describe(const Race& race) {
  Hazard hazard;
  hazard.message = fmt::format("{} {} {}, which {} {} {}", race.later_thread, verb(race.later), race.place,
                               race.earlier_thread,
                               race.earlier_atomic  ? "has updated"
                               : race.earlier_wrote ? "has written"
                                                    : "has read",
                               between(race.scope));
  hazard.why = why(race.scope);
  hazard.reach = static_cast<int>(race.scope);
  hazard.advice = advice(race.scope);
  return hazard;
}

Hazard describe(machine::Notice notice, const std::string& thread, unsigned lanes) {
  using machine::Notice;
  Hazard hazard;
  std::string who = lanes > 1 ? fmt::format("{} (and {} more of its warp)", thread, lanes - 1) : thread;
  switch (notice) {
  case Notice::reads_inactive_lane:
    hazard.kind = "warp-mask";
    hazard.message = fmt::format("{} asks a lane for its value that takes no part in the shuffle", who);
    hazard.why = "What it gets is undefined: here 0, on a GPU whatever is there.";
    hazard.advice = "Let every lane that is asked reach the shuffle, and name it in the mask.";
    break;
  case Notice::names_exited_lane:
    hazard.kind = "warp-mask";
    hazard.message = fmt::format("the member mask names {}, which has left the kernel", who);
    hazard.why = "A mask must name exactly the lanes that get here; the result is undefined.";
    hazard.advice = "Let all lanes stay until the last shuffle: guard the work, not the return.";
    break;
  case Notice::not_in_member_mask:
    hazard.kind = "warp-mask";
    hazard.message = fmt::format("{} gets here, but the member mask leaves it out", who);
    hazard.why = "A lane that executes the operation must be named in its mask; the result is undefined.";
    hazard.advice = "Name the lanes that get here: __ballot_sync before the branch gives that mask.";
    break;
  case Notice::divergent_barrier:
    hazard.kind = "barrier";
    hazard.message = fmt::format("the barrier is reached while {} is elsewhere", who);
    hazard.why = "__syncthreads() counts on every thread of the block; in a branch that some skip it may "
                 "hang or let others pass early.";
    hazard.advice = "Move the barrier out of the branch, and keep only the work inside.";
    break;
  case Notice::barrier_mismatch:
    hazard.kind = "barrier";
    hazard.message = fmt::format("{} waits here while others of its block wait at another barrier", who);
    hazard.why = "All threads of a block must reach the same __syncthreads().";
    hazard.advice =
        "Make the condition the same for the whole block, or move the barrier out of the branches.";
    break;
  }
  return hazard;
}

Hazard describe_uninitialised(const std::string& thread, const std::string& place, ptx::Space space) {
  Hazard hazard;
  hazard.kind = "uninitialised";
  hazard.message = fmt::format("{} reads {}, which nothing has written", thread, place);
  switch (space) {
  case ptx::Space::shared:
    hazard.why = "Shared memory holds what the block before left in it.";
    hazard.advice = "Let every thread store first, the ones without an element the identity, then a barrier.";
    break;
  case ptx::Space::local:
    hazard.why = "An array of a thread's own holds whatever was there before.";
    hazard.advice = "Give every element a value where the array is declared: float values[4] = {};";
    break;
  default:
    hazard.why = "Memory from cudaMalloc holds whatever was there before.";
    hazard.advice = "Copy to it or cudaMemset it before the launch, or write it before reading.";
  }
  return hazard;
}

Hazard describe_input_written(const std::string& thread, const std::string& place, machine::AccessKind kind) {
  Hazard hazard;
  hazard.kind = "input-written";
  hazard.message = fmt::format("{} {} {}, which kernels may only read", thread, verb(kind), place);
  hazard.why = "Whoever launched the kernel still needs the input as it was.";
  hazard.advice = "Keep what the threads work out in registers, in shared memory or in memory of your own.";
  return hazard;
}

} // namespace warpfold::watch
