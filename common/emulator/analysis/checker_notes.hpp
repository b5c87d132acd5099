#pragma once

#include "bulk_copies.hpp"
#include "checker.hpp"
#include "copies_in_flight.hpp"

#include <cstdint>
#include <vector>

namespace warpfold::analysis {

// What the checker needs to know about a kernel.
struct Checker::CodeFacts {
  explicit CodeFacts(const machine::Code& kernel);

  const machine::Code* code;
  bool synchronises = false;                   // it has fences, or accesses that release
  bool has_guesses = false;                    // it has loads that are guesses (ptx::Synchronising)
  bool has_bulk = false;                       // it has bulk copies
  std::vector<bool> is_bulk;                   // by operation
  std::vector<bool> takes_read_only_path;      // likewise: ld.global.nc
  std::uint32_t memory_operations = 0;         // how many it has
  std::vector<std::uint32_t> memory_operation; // by operation: its number among them
};

// What the checker keeps with a cluster while it runs.
struct Checker::ClusterNotes {
  // What threads released when they arrived at the cluster's barrier, for even and for odd rounds.
  std::array<CausalClock, 2> released;

  // The rest only of clusters of several blocks. Their shared memory is checked like a device's, one block's
  // after another's, `stride` bytes apart.
  std::unique_ptr<GlobalShadow> shadow;
  std::uint64_t stride = 0;
  std::vector<bool> written;         // by word
  std::vector<std::uint32_t> blocks; // their numbers among those of the group, by rank
  std::vector<std::uint64_t> logs;   // addresses of those in this memory
  // The last access of each lane to another block's memory, and the round of the barrier at which it arrives
  // next.
  struct Use {
    std::array<std::uint32_t, machine::warp_lanes> records{};
    std::array<std::uint64_t, machine::warp_lanes> offsets{}, rounds{};
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Use> uses; // by owner, rank and warp
};

// What the checker keeps with a launch while it runs.
struct Checker::GridNotes {
  std::shared_ptr<const CodeFacts> facts;
  Launches::Launch* launch =
      nullptr; // null: there are too many at the same time, and this one is not checked
  std::shared_ptr<const Restrictions> restrictions;
};

// What the checker keeps with a block while it runs. The machine reuses its blocks, and so these as well.
struct Checker::Notes final : machine::BlockNotes {
  // The last record that was made for an operation, and how many were made before it.
  struct Recent {
    std::uint32_t operation = ~0u;
    bool in_global = false;
    bool is_store = false, is_atomic = false; // a bulk copy loads, stores and updates
    std::uint32_t moment = 0, number = 0, made = 0, passed_over = 0;
  };

  const machine::Grid* grid = nullptr;
  const CodeFacts* facts = nullptr;
  const Restrictions* restrictions = nullptr;
  Launches::Launch* launch = nullptr;
  BlockHistories::History* history = nullptr; // the block's, in the launch
  ClusterNotes* cluster = nullptr;            // null: it is alone in its cluster
  // In this round of the cluster's barrier, a thread has accessed memory after it arrived, or arrived without
  // a release: then the round does not order all that the block has done.
  bool orders_less = false;
  std::uint32_t block = 0; // its number among those of the group

  SharedShadow shared;
  CopiesInFlight copies;
  BulkCopies bulk;
  BlockOrder order;
  BlockRecords records;
  std::uint32_t next_number = 0, chunk_end = 0; // in global memory; 0: none left
  std::vector<Recent> recent;                   // by warp and operation: records that may be reused
  std::size_t recent_count = 0;                 // per warp

  // What the last strong access will have acquired once it has been performed.
  struct Reads {
    std::uint64_t address = 0; // as ReleaseLogs knows it
    std::uint32_t lanes = 0;
  };
  std::vector<Reads> reads;
  RecentLogs recent_logs;
  bool reads_wait_for_fence = false;
  Acquired::By read_by = {};
  unsigned reading_warp = 0;
  std::vector<std::uint64_t> shared_logs; // addresses of those that lie in this block's shared memory

  // The bytes of local memory that their threads have written, lane after lane. Meaningless until the block
  // uses local memory.
  std::vector<bool> local;
  bool local_is_used = false;
};

inline Checker::Notes& Checker::notes(const machine::Block& block) {
  return *static_cast<Notes*>(block.notes.get());
}

} // namespace warpfold::analysis
