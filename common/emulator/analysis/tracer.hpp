// The watcher behind WARPFOLD_TRACE: what one block of each launch does to memory, request by request, as
// JSON for pictures (common/kit/trace/steps.py reads it).
#pragma once

#include "machine/watcher.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace warpfold::analysis {

// Records the block with this number in each device's first launches since the start or the last `reset`. On
// one device launches come one after another, but those of several devices run at the same time, each on
// threads of its own: what belongs to a launch is found by its grid, under the lock.
class Tracer final : public machine::Watcher {
public:
  // Launches of one device, requests of one launch. A picture of more steps would be useless; the JSON says
  // if something is left out ("truncated").
  static constexpr std::size_t most_launches = 16, most_requests = 20000;

  Tracer(const machine::AddressSpace& memory, std::uint64_t block) : memory_(memory), wanted_block_(block) {}
  void reset();
  std::string json() const;
  // The launch that this thread begins next was called for by the host as its `call`-th. Devices begin theirs
  // as their threads come to them: the JSON has them in the order of these numbers, so that it is the same
  // each time.
  static void begins_next(std::uint64_t call);

  void launch_begin(const machine::Grid&) override;
  void launch_end(const machine::Grid&) override;
  void block_begin(const machine::Block&) override {}
  void block_end(const machine::Block&) override {}
  void access(const machine::Access&) override;
  void bad_access(const machine::Warp&, const machine::Operation&, const machine::Fault&) override {}
  void fence(const machine::Warp&, const machine::Operation&, machine::MemoryScope) override {}
  void barrier(const machine::Block&, const machine::Operation&, unsigned barrier, bool whole_block) override;
  void warp_barrier(const machine::Warp&, const machine::Operation&, std::uint32_t members) override;
  void cluster_wait(const machine::Warp&, const machine::Operation&) override;
  void bulk_read_begins(const machine::Warp&, const machine::Operation&, unsigned lane, std::uint64_t offset,
                        std::uint32_t bytes, bool in_group) override;
  void bulk_write_begins(const machine::Warp&, const machine::Operation&, unsigned lane, std::uint64_t offset,
                         std::uint32_t bytes, std::uint64_t mbarrier, std::uint32_t phase) override;
  void bulk_committed(const machine::Warp&) override;
  void bulk_waited_for(const machine::Warp&, std::uint32_t groups_left) override;
  void phases_seen(const machine::Warp&, std::uint32_t lanes, std::uint64_t mbarrier,
                   std::uint32_t phase) override;
  void notice(const machine::Warp&, const machine::Operation&, machine::Notice, std::uint32_t,
              const machine::Operation*) override {}

private:
  // A variable in shared memory or an allocation: elements are counted from its beginning.
  struct Array {
    std::string name;
    bool shared = true;
    // Bytes. Shared variables begin at an offset in the block's shared memory, or at the address of another
    // block's in the cluster (cluster.hpp).
    std::uint64_t begin = 0, size = 0;
    bool holds(std::uint64_t address) const { return address >= begin && address - begin < size; }
  };
  struct Launch {
    int device = 0;
    std::uint64_t call = 0;
    const machine::Code* code = nullptr;
    std::string heading; // the members that are known at the start
    std::string events;  // the members of the array, separated by commas
    std::vector<Array> arrays;
    std::size_t requests = 0;
    bool truncated = false;
  };
  bool looks_on(const machine::Block& block) const;
  // The following expect the lock to be held.
  Launch*
  with_room(const machine::Block& block); // the block's launch; null if nothing more of it is recorded
  static int remote_array_of(Launch& launch, std::uint64_t address);
  int array_of(Launch& launch, const machine::Access& access, std::uint64_t address);
  static std::uint32_t lanes_in(const Array& array, const machine::Access& access, std::uint32_t lanes);
  static void add_access(Launch& launch, const machine::Access& access, int array, std::uint32_t lanes);
  void add_of_warp(const machine::Warp& warp, const std::string& members); // takes the lock
  std::vector<const Launch*> in_order() const;

  const machine::AddressSpace& memory_;
  std::uint64_t wanted_block_;
  mutable std::mutex mutex_;
  std::list<Launch> launches_; // in the order in which they began
  std::map<const machine::Grid*, Launch*> running_;
  bool left_out_ = false; // there were launches beyond the number that is recorded
};

} // namespace warpfold::analysis
