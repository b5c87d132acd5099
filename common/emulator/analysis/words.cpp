#include "words.hpp"

#include <fmt/format.h>

namespace warpfold::analysis {

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

const char* between(const Race& race) {
  switch (race.missing) {
  case Missing::order:
    break;
  case Missing::narrow_sync:
    return "with a __syncwarp() between the two whose mask does not name both lanes";
  case Missing::other_memory:
    return "with a barrier between the two that does not order this memory";
  case Missing::fence:
    return "with no fence before the flag is set";
  case Missing::wide_fence:
    return "and the fence before the flag reaches only its own block";
  case Missing::cluster_fence:
    return "and the fence before the flag reaches only its own cluster";
  case Missing::system_fence:
    return "and the fence before the flag reaches only its own device";
  case Missing::acquire:
    return "while holding the lock that this thread acquired later, with no fence after the acquire";
  case Missing::poll:
    return "before the store that this thread has waited for, with no fence after the wait";
  case Missing::wide_acquire:
    return "before what this thread has waited for, and the fence after the wait is too narrow";
  case Missing::wait:
    return "and then released; this thread has arrived at the same place, but has not waited there";
  case Missing::address:
    return "before a fence, and this thread has acquired nothing that was stored after it";
  case Missing::scope:
    if (race.scope == RaceScope::devices) return "while one of the two atomics reaches only its own device";
    return "in another block, while one of the two atomics reaches only its own block";
  case Missing::width:
    return "with an atomic of another width";
  case Missing::plain_load:
    return "in this launch, while this read takes the read-only path (__ldg)";
  case Missing::count:
    break;
  }
  switch (race.scope) {
  case RaceScope::warp:
    return race.in_opencl ? "with no barrier between the two" : "with no __syncwarp() between the two";
  case RaceScope::block:
    return "with no barrier between the two";
  case RaceScope::blocks:
    break;
  case RaceScope::launches:
  case RaceScope::devices:
    return "in another launch, with nothing that orders the two";
  }
  return "in the same launch, with nothing that orders the two blocks";
}

HazardCause cause_of(const Race& race) {
  if (race.kind == HazardKind::equal_writes) return HazardCause::equal_values;
  switch (race.missing) {
  case Missing::order:
    break;
  case Missing::narrow_sync:
    return HazardCause::narrow_mask;
  case Missing::other_memory:
    return HazardCause::barrier_of_other_memory;
  case Missing::fence:
    return race.scope == RaceScope::devices ? HazardCause::no_system_fence : HazardCause::no_fence;
  case Missing::cluster_fence:
    return race.scope == RaceScope::devices ? HazardCause::no_system_fence : HazardCause::cluster_fence;
  case Missing::wide_fence:
    return race.scope == RaceScope::devices ? HazardCause::no_system_fence : HazardCause::narrow_fence;
  case Missing::system_fence:
    return HazardCause::device_fence;
  case Missing::acquire:
    return HazardCause::no_acquire_fence;
  case Missing::poll:
    return HazardCause::no_fence_after_wait;
  case Missing::wide_acquire:
    return HazardCause::narrow_fence_after_wait;
  case Missing::wait:
    return HazardCause::no_wait;
  case Missing::address:
    return HazardCause::other_address;
  case Missing::scope:
    return race.scope == RaceScope::devices ? HazardCause::device_atomic : HazardCause::narrow_atomic;
  case Missing::width:
    return HazardCause::atomics_of_two_widths;
  case Missing::plain_load:
    return HazardCause::read_only_path;
  case Missing::count:
    break;
  }
  if (race.scope < RaceScope::blocks && (race.earlier_atomic || race.later == machine::AccessKind::atomic))
    return HazardCause::atomic_and_plain;
  if (race.one_statement && race.scope <= RaceScope::blocks)
    return race.beside_atomic ? HazardCause::store_beside_atomic : HazardCause::one_statement;
  if (race.one_step) return HazardCause::one_step;
  switch (race.scope) {
  case RaceScope::warp:
    return race.kind == HazardKind::race_global ? HazardCause::lanes_in_global : HazardCause::lanes_of_a_warp;
  case RaceScope::block:
    return HazardCause::warps_of_a_block;
  case RaceScope::blocks:
    if (race.kind == HazardKind::race_shared) return HazardCause::blocks_of_a_cluster;
    break;
  case RaceScope::launches:
    return HazardCause::streams_not_ordered;
  case RaceScope::devices:
    return HazardCause::kernels_of_devices;
  }
  return HazardCause::blocks_of_a_grid;
}

} // namespace

int reach_of(RaceScope scope, Missing missing) {
  return static_cast<int>(scope) * static_cast<int>(Missing::count) + static_cast<int>(missing);
}

Hazard describe(const Race& race) {
  Hazard hazard{race.kind, cause_of(race)};
  if (race.earlier_bulk) {
    hazard.cause = HazardCause::bulk_copy_in_flight;
    hazard.message =
        fmt::format("{} {} {}, which {}'s bulk copy has written, without having waited for that copy",
                    race.later_thread, verb(race.later), race.place, race.earlier_thread);
    hazard.reach = reach_of(race.scope, race.missing);
    return hazard;
  }
  hazard.message = fmt::format("{} {} {}, which {} {} {}", race.later_thread, verb(race.later), race.place,
                               race.earlier_thread,
                               race.earlier_atomic  ? "has updated"
                               : race.earlier_wrote ? "has written"
                                                    : "has read",
                               between(race));
  hazard.reach = reach_of(race.scope, race.missing);
  return hazard;
}

Hazard describe(machine::Notice notice, const std::string& thread, unsigned lanes) {
  using machine::Notice;
  const std::string who = lanes > 1 ? fmt::format("{} (and {} more of its warp)", thread, lanes - 1) : thread;
  switch (notice) {
  case Notice::reads_inactive_lane:
    return {HazardKind::warp_mask, HazardCause::reads_inactive_lane,
            fmt::format("{} reads the value of a lane that takes no part in the shuffle", who)};
  case Notice::names_exited_lane:
    return {HazardKind::warp_mask, HazardCause::names_exited_lane,
            fmt::format("the member mask names {}, which has left the kernel", who)};
  case Notice::names_absent_lane:
    return {HazardKind::warp_mask, HazardCause::names_absent_lane,
            fmt::format("the member mask names {}, which never gets here", who)};
  case Notice::not_in_member_mask:
    return {HazardKind::warp_mask, HazardCause::not_in_member_mask,
            fmt::format("{} gets here, but the member mask leaves it out", who)};
  case Notice::divergent_barrier:
    return {HazardKind::barrier, HazardCause::divergent_barrier,
            fmt::format("the barrier is reached while {} is elsewhere", who)};
  case Notice::reads_unset_register:
    return {HazardKind::unset_register, HazardCause::never_set,
            fmt::format("{} uses a value that nothing has set", who)};
  case Notice::barrier_mismatch:
    break;
  }
  return {HazardKind::barrier, HazardCause::barrier_mismatch,
          fmt::format("{} waits here while others of its block wait at another barrier", who)};
}

Hazard describe_uninitialised(const std::string& thread, const std::string& place, ptx::Space space) {
  const HazardCause cause = space == ptx::Space::shared  ? HazardCause::unwritten_shared
                            : space == ptx::Space::local ? HazardCause::unwritten_local
                                                         : HazardCause::unwritten_global;
  return {HazardKind::uninitialised, cause,
          fmt::format("{} reads {}, which has not been written", thread, place)};
}

Hazard describe_unwritten_copy(const std::string& who, std::uint64_t unwritten, std::uint64_t size,
                               const std::string& allocation) {
  return {HazardKind::unwritten_copy, HazardCause::copied_unwritten,
          fmt::format("{} copies {} bytes from {}, {} of which were never written", who, size, allocation,
                      unwritten == size ? "all" : std::to_string(unwritten))};
}

Hazard describe_copy_in_flight(const std::string& thread, const std::string& place, machine::AccessKind kind,
                               const std::string& copying_thread) {
  return {HazardKind::race_shared, HazardCause::copy_in_flight,
          fmt::format("{} {} {} while {} asynchronous copy to it is still in flight", thread, verb(kind),
                      place, copying_thread == thread ? "its own" : copying_thread + "'s")};
}

Hazard describe_owner(HazardCause cause, const std::string& thread, machine::AccessKind kind,
                      const std::string& place, const std::string& owner) {
  const char* const why =
      cause == HazardCause::block_not_started
          ? "may not have started: this thread's block has passed no barrier of the cluster"
          : "may have ended: it waits for no barrier of the cluster at which this thread arrives after the "
            "access";
  return {HazardKind::cluster_memory, cause,
          fmt::format("{} {} {}, but {} {}", thread, verb(kind), place, owner, why)};
}

namespace {

constexpr int reach_of_bulk = 1000; // it says more than a race at these lines

std::string owned_by(const std::string& copying_thread, const std::string& thread) {
  return copying_thread == thread ? "its own" : copying_thread + "'s";
}

} // namespace

Hazard describe_bulk_in_flight(const std::string& thread, const std::string& place, machine::AccessKind kind,
                               const std::string& copying_thread) {
  Hazard hazard{HazardKind::race_shared, HazardCause::bulk_copy_in_flight};
  hazard.message = fmt::format("{} {} {} while {} bulk copy to it is still in flight", thread, verb(kind),
                               place, owned_by(copying_thread, thread));
  hazard.reach = reach_of_bulk;
  return hazard;
}

Hazard describe_bulk_still_reads(const std::string& thread, const std::string& place,
                                 machine::AccessKind kind, const std::string& copying_thread) {
  Hazard hazard{HazardKind::race_shared, HazardCause::bulk_copy_reads};
  hazard.message = fmt::format("{} {} {} while {} bulk copy may still be reading it", thread, verb(kind),
                               place, owned_by(copying_thread, thread));
  hazard.reach = reach_of_bulk;
  return hazard;
}

Hazard describe_bulk_outlives(const std::string& block, const std::string& copying_thread) {
  Hazard hazard{HazardKind::race_shared, HazardCause::bulk_copy_outlives};
  hazard.message = fmt::format("{} ends while a bulk copy of {} may still be reading its shared memory",
                               block, copying_thread);
  hazard.reach = reach_of_bulk;
  return hazard;
}

Hazard describe_unfenced(const std::string& thread, const std::string& place,
                         const std::string& writing_thread) {
  Hazard hazard{HazardKind::fence, HazardCause::no_proxy_fence};
  hazard.message = fmt::format("{} hands {} to a bulk copy, but {} wrote it without a proxy fence since",
                               thread, place, writing_thread == thread ? "this thread" : writing_thread);
  hazard.reach = reach_of_bulk;
  return hazard;
}

HazardKind kind_of_restriction(HazardCause why) {
  return why == HazardCause::changed_input ? HazardKind::input_written : HazardKind::buffer_flags;
}

Hazard describe_restricted(HazardCause why, const std::string& thread, const std::string& place,
                           machine::AccessKind kind) {
  const char* const of_place = why == HazardCause::changed_input      ? "kernels may only read"
                               : why == HazardCause::read_only_buffer ? "was created with CL_MEM_READ_ONLY"
                                                                      : "was created with CL_MEM_WRITE_ONLY";
  return {kind_of_restriction(why), why,
          fmt::format("{} {} {}, which {}", thread, verb(kind), place, of_place)};
}

} // namespace warpfold::analysis
