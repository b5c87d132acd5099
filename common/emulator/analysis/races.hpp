// Data races: two threads access a place, at least one of them writes, and nothing orders the two (CUDA
// Programming Guide, "Memory Consistency Model"; PTX ISA 8). A race is found in any run in which both
// accesses happen, whichever comes first.
#pragma once

#include "global_shadow.hpp"
#include "launches.hpp"
#include "machine/block.hpp"
#include "shared_shadow.hpp"

#include <atomic>
#include <bit>
#include <cstdint>

namespace warpfold::analysis {

// What is missing between two accesses, as far as that is known.
enum class Missing : std::uint8_t {
  order,         // anything that orders them
  narrow_sync,   // a __syncwarp was executed between the two, but its mask leaves one of the lanes out
  other_memory,  // a barrier was passed between the two, but it orders only the other memory
  fence,         // the first was published, but without a fence before
  wide_fence,    // the same, with a fence for its own block only
  cluster_fence, // the same, with a fence for its own cluster only
  system_fence,  // the same between devices, with a fence for its own device only
  acquire,       // a lock was taken, but without a fence after
  poll,          // the value that was waited for was seen, but without a fence after
  wide_acquire,  // the same as one of these two, with a fence that does not reach the first's thread
  wait,          // the second's thread has met the first's at an update (an arrival), but only released there
  address,       // a fence follows the first, but what was acquired is no store after it
  scope,         // both are atomic, but one of them only within its own block, or its own device
  width,         // both are atomic, but of different widths
  plain_load,    // the second is a load through the read-only path, in the launch that has written
  count
};

// Two accesses that nothing orders.
struct Conflict {
  const AccessRecord& earlier;
  unsigned earlier_lane = 0, lane = 0;
  bool earlier_wrote = false;
  Missing missing = Missing::order;
  bool is_harmless = false; // both write the same value
  std::uint64_t offset = 0; // of the bytes that both access, in what `lane` accesses
};

// What is known of the accessing block.
struct Accessor {
  const machine::Access& access;
  const Launches& launches;
  const BlockOrder& order;
  const ReleaseLogs& logs;
  std::uint32_t number; // of this access's record
  const AccessRecord& record;
  bool keeps_many = false; // readers of a word: when threads synchronise one by one, each may matter
  const std::atomic<std::uint32_t>* atomic_widths = nullptr; // of the launch so far, a bit for each
  // Of shared memory that is checked as memory of the whole cluster: by lane, where the bytes are in this
  // process, and the addresses that the access itself gives.
  const std::byte* const* places = nullptr;
  const std::uint64_t* given = nullptr;
  bool by_read_only_path = false; // a load that may be given what was there before the launch
  const std::byte* memory_of(unsigned lane) const {
    return places ? places[lane] : reinterpret_cast<const std::byte*>(access.addresses[lane]);
  }
  // The last record of another warp that was found to be wholly ordered before: most lanes of a request meet
  // the same one.
  mutable std::uint32_t known_ordered = 0;

  // To be asked once the earlier access is known: it may be under way on another core.
  bool mixes_widths() const { return atomic_widths && std::popcount(atomic_widths->load()) > 1; }
};

// Checks an access against the shadow, enters it, and calls report(Conflict) for each race found; for a load
// from shared memory that was never written, calls unwritten(lane).
template <typename Report, typename Unwritten>
void check_shared(SharedShadow& shadow, const BlockRecords& records, const Accessor& accessor, Report report,
                  Unwritten unwritten);
template <typename Report>
void check_global(GlobalShadow& shadow, const GlobalRecords& records, const Accessor& accessor,
                  Report report);

} // namespace warpfold::analysis

#include "races.inl"
