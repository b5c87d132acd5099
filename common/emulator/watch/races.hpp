// Data races: two threads access a word, one of them writes, and nothing orders the two (CUDA Programming
// Guide, "Memory Consistency Model"; PTX ISA 8). A race is found in any run in which both accesses happen,
// whichever came first.
#pragma once

#include "global_shadow.hpp"
#include "happens_before.hpp"
#include "machine/block.hpp"
#include "shared_shadow.hpp"

#include <cstdint>

namespace warpfold::watch {

// What is missing between two accesses, as far as it is known.
enum class Missing : std::uint8_t {
  order,      // anything that orders them
  fence,      // the first was published, but without a fence before that
  wide_fence, // the same, with a fence for its own block only
  acquire,    // a lock was taken, but no fence came behind it
  address,    // what was released and what was acquired lie at different addresses
  scope,      // both are atomic, but one of them for its own block only
};

// Two accesses that nothing orders.
struct Conflict {
  const AccessRecord& earlier;
  unsigned earlier_lane = 0, lane = 0;
  std::uint64_t address = 0; // of the word
  bool earlier_wrote = false;
  Missing missing = Missing::order;
  bool is_harmless = false; // both write the same value
};

// What is known of the block that accesses.
struct Accessor {
  const machine::Access& access;
  const BlockHistories& histories;
  const BlockOrder& order;
  const ReleaseLogs& logs;
  std::uint32_t number; // of this access's record
  const AccessRecord& record;
  bool keeps_many = false; // readers of a word: where threads synchronise one by one, each may matter
  // The last record of another warp that all came before: most of a request meets the same.
  mutable std::uint32_t known_ordered = 0;
};

// Checks an access against the shadow, enters it, and calls report(Conflict) for each race found; for a load
// from shared memory that nobody has written, unwritten(lane, address).
template <typename Report, typename Unwritten>
void check_shared(SharedShadow& shadow, const BlockRecords& records, const Accessor& accessor, Report report,
                  Unwritten unwritten);
template <typename Report>
void check_global(GlobalShadow& shadow, const GlobalRecords& records, const Accessor& accessor,
                  Report report);

} // namespace warpfold::watch

#include "races.inl"
