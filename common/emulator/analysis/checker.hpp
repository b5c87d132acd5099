// The watcher behind WARPFOLD_CHECKS: races, reads of memory that nothing has written, bad accesses, misused
// barriers and masks.
#pragma once

#include "bulk_copies.hpp"
#include "initialisation.hpp"
#include "machine/watcher.hpp"
#include "races.hpp"
#include "report.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

namespace warpfold::analysis {

struct Checks {
  bool races = true, initialisation = true;
};

// One per process. Finds hazards in launches and gives them to the recorder.
class Checker final : public machine::Watcher {
public:
  Checker(const machine::AddressSpace& memory, Recorder& recorder);
  void choose(Checks checks) { checks_ = checks; }
  // What the host does to device memory.
  void allocated(const void* begin, std::uint64_t size) {
    const auto first = reinterpret_cast<std::uint64_t>(begin);
    written_.allocated(first, size);
    std::lock_guard lock(mutex_);
    marked_as_written_.erase(marked_as_written_.lower_bound(first),
                             marked_as_written_.lower_bound(first + size));
  }
  void written(const void* begin, std::uint64_t size) {
    written_.written(reinterpret_cast<std::uint64_t>(begin), size);
  }
  // How many of these bytes nothing has written.
  std::uint64_t unwritten(const void* begin, std::uint64_t size) const {
    return written_.unwritten(reinterpret_cast<std::uint64_t>(begin), size);
  }
  // What kernels must not do in this range, from the next launch on, and why.
  void restrict(const void* begin, std::uint64_t size, HazardCause why);
  void lift(HazardCause why);                       // everywhere
  void lift(const void* begin, std::uint64_t size); // in this range

  // What the host knows about the launch that this thread begins next.
  void next_launch(const Operation& order);

  void launch_begin(const machine::Grid&) override;
  void launch_end(const machine::Grid&) override;
  void block_begin(const machine::Block&) override;
  void block_end(const machine::Block&) override;
  void access(const machine::Access&) override;
  void has_read(const machine::Warp&) override;
  bool row(const machine::RowAccess&) override;
  void bad_access(const machine::Warp&, const machine::Operation&, const machine::Fault&) override;
  void fence(const machine::Warp&, const machine::Operation&, machine::MemoryScope) override;
  void barrier(const machine::Block&, const machine::Operation&, unsigned barrier, bool whole_block) override;
  void warp_barrier(const machine::Warp&, const machine::Operation&, std::uint32_t members) override;
  void cluster_arrive(const machine::Warp&, const machine::Operation&, bool releases) override;
  void cluster_barrier(const machine::Cluster&, const machine::Operation&) override;
  void cluster_wait(const machine::Warp&, const machine::Operation&) override;
  void completes(const machine::Warp&, const machine::Operation&, std::uint32_t lanes,
                 const std::uint64_t* barriers) override;
  void copy_begins(const machine::Warp&, const machine::Operation&, const std::uint64_t* offsets,
                   std::uint32_t width) override;
  void copies_committed(const machine::Warp&) override;
  void copies_waited_for(const machine::Warp&, std::uint32_t groups_left) override;
  void bulk_read_begins(const machine::Warp&, const machine::Operation&, unsigned lane, std::uint64_t offset,
                        std::uint32_t bytes, bool in_group) override;
  void bulk_write_begins(const machine::Warp&, const machine::Operation&, unsigned lane, std::uint64_t offset,
                         std::uint32_t bytes, std::uint64_t mbarrier, std::uint32_t phase) override;
  void bulk_committed(const machine::Warp&) override;
  void bulk_waited_for(const machine::Warp&, std::uint32_t groups_left) override;
  void phases_seen(const machine::Warp&, std::uint32_t lanes, std::uint64_t mbarrier,
                   std::uint32_t phase) override;
  void proxy_fence(const machine::Warp&, const machine::Operation&) override;
  void notice(const machine::Warp&, const machine::Operation&, machine::Notice, std::uint32_t lanes,
              const machine::Operation* other) override;

private:
  struct Notes; // of a block
  static Notes& notes(const machine::Block& block);
  struct CodeFacts;    // about a kernel
  struct GridNotes;    // of a launch
  struct ClusterNotes; // of a cluster; checker_cluster.cpp, as the next
  static ClusterNotes& cluster_notes(const machine::Cluster& cluster);
  struct SharedPlace {
    std::uint32_t rank = 0; // the block
    std::uint64_t offset = 0;
  };
  static SharedPlace shared_place(const machine::Block& block, std::uint64_t address);
  static std::uint64_t shared_log(const Notes& notes, const machine::Block& block, std::uint64_t address);
  static machine::MemoryScope scope_in(const Notes& notes, const machine::Operation& operation,
                                       machine::MemoryScope scope);
  std::string shared_in_words(const Notes& notes, const machine::Block& block, std::uint64_t address,
                              unsigned width) const;
  void begin_cluster(const machine::Block& first, const Launches::Launch& launch);
  void check_in_cluster(Notes& notes, const Accessor& accessor);
  template <typename Report, typename Unwritten>
  void check_shared_of_cluster(Notes& notes, const Accessor& accessor, Report report, Unwritten unwritten);
  void check_owner(Notes& notes, const machine::Access& access, std::uint32_t record);
  void check_end(const Notes& notes, const machine::Block& block);
  void report_left(const machine::Block& block, const machine::Operation& operation);
  void report_owner(HazardCause cause, const machine::Access& access, unsigned lane);
  std::shared_ptr<const CodeFacts> facts_of(const machine::Code& code);
  struct Actor; // the warp that accesses, and how
  std::uint32_t record_for(Notes& notes, const Actor& actor);
  std::uint32_t take_number(Notes& notes);
  void check_races(Notes& notes, const machine::Access& access);
  void synchronise(Notes& notes, const machine::Access& access, ptx::Synchronising facts);
  void release(Notes& notes, const machine::Access& access, std::uint32_t lanes, ReleaseLog& log);
  bool overwrites(const machine::Access& access) const;
  void check_written(const machine::Access& access); // global memory; for shared memory, its shadow knows
  void check_local(Notes& notes, const machine::Access& access);
  void check_copies(Notes& notes, const machine::Access& access); // shared memory
  void check_bulk(Notes& notes, const machine::Access& access);   // likewise
  void check_bulk_at_end(const Notes& notes, const machine::Block& block);
  void report_bulk(const Notes& notes, const machine::Warp& warp, const machine::Operation& operation,
                   const BulkCopies::Doing& other, Hazard hazard);
  struct Restriction {
    std::uint64_t begin, size;
    HazardCause why;
    bool forbids(machine::AccessKind kind) const {
      using machine::AccessKind;
      return kind != (why == HazardCause::write_only_buffer ? AccessKind::store : AccessKind::load);
    }
  };
  using Restrictions = std::vector<Restriction>;
  void change_restrictions(const std::function<void(Restrictions&)>& change);
  // The one that this access is against; null if there is none.
  static const Restriction* restriction_on(const Notes& notes, std::uint64_t begin, std::uint64_t size,
                                           machine::AccessKind kind);
  void check_grid_barrier(const machine::Access& access); // an atomic
  void check_restrictions(const machine::Access& access); // in global memory
  std::string device_in_words(int device) const;          // "" if there is only one
  static std::string launch_in_words(const Notes& notes);
  std::string thread_in_words(const Notes& notes, const machine::Warp& warp, unsigned lane) const;
  std::string thread_in_words(const Notes& notes, const machine::Block& block, unsigned thread) const;
  // Many blocks may store the same value in one place, such as a flag. A store is judged before it is
  // performed, and if the other store belongs to another worker, that worker may not have performed it yet
  // either. It has when it goes on to its next access; or it waits here too, and its values are known.
  bool stores_what_was_stored(const machine::Access& access, unsigned lane, std::uint32_t block);
  void report_race(const machine::Access& access, const Conflict& conflict);
  // Once per launch and line: from here on, races are missed.
  void report_not_checked(HazardCause cause, const Notes& notes, const machine::Operation& operation);
  void report_uninitialised(const machine::Access& access, unsigned lane);
  std::string what_is_written(std::uint64_t address, unsigned width);
  void mark_as_written(std::uint64_t address, unsigned width);
  static constexpr int copy_reach = 100; // of a race with a copy, to tell it from another one at these lines
  // False if this kind has not yet been reported for these two operations.
  bool is_reported(HazardKind kind, const machine::Operation& operation, std::uint32_t other, int reach);
  bool is_new(HazardKind kind, const machine::Operation& operation, std::uint32_t other, int reach = 0);

  Checks checks_;
  const machine::AddressSpace& memory_;
  WrittenMemory written_;
  Recorder& recorder_;
  GlobalShadow shadow_;
  GlobalRecords records_;
  Launches launches_;
  ReleaseLogs logs_;
  std::atomic<std::uint32_t> atomic_widths_{0};        // a bit for each, the width itself
  std::mutex mutex_;                                   // of what follows
  std::shared_ptr<const Restrictions> restrictions_;   // null: none; a launch keeps what it began with
  std::deque<std::shared_ptr<const CodeFacts>> facts_; // of kernels that were launched lately
  // In this launch, or in those that are compared with it.
  std::set<std::tuple<HazardKind, const machine::Operation*, std::uint32_t, int>> reported_;
  std::set<std::uint64_t>
      marked_as_written_; // arrays in which places count as written once they were reported
  std::map<std::uint32_t, const machine::Access*> waiting_; // by block, in stores_what_was_stored()
};

} // namespace warpfold::analysis
