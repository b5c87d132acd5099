// How others observe a running grid. A watcher sees events warp by warp and never changes what the kernel
// does. The worker that runs a block calls it: several threads may call it at the same time, but never for
// the same block.
#pragma once

#include "code.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace warpfold::machine {

struct Block;
struct Cluster;
struct Grid;
struct Warp;

enum class AccessKind : std::uint8_t { load, store, atomic };

struct Access {
  const Warp& warp; // and warp.block
  const Operation& operation;
  ptx::Space space; // global, shared or local
  AccessKind kind;
  MemoryOrder order;
  MemoryScope scope;
  std::uint32_t mask;  // active lanes
  std::uint32_t width; // bytes per lane
  // 32: device addresses, or offsets in the block's shared (the lane's local) memory.
  const std::uint64_t* addresses;
  std::uint64_t first = 0;
  bool contiguous = false; // every active lane i's address is `first` + i * width
  // The values that a store is about to write, `value_stride` bytes apart; null if they are not known.
  const std::byte* values = nullptr;
  std::uint32_t value_stride = 0;
  // In shared memory of other blocks of the cluster, as `addresses` name it: cluster.hpp.
  bool remote = false;
};

// Whether an access to global memory counts from an argument of the launch that points to bytes, a char*.
bool counts_bytes(const Warp& warp, const Operation& op);

// A plain access to neighbouring elements: lane i's is at `first` + i * width. In global memory all lanes are
// active.
struct RowAccess {
  const Warp& warp;
  const Operation& operation;
  ptx::Space space;    // global or shared
  AccessKind kind;     // load or store
  std::uint32_t width; // bytes per lane
  std::uint64_t first;
};

// Something wrong that does not stop the launch.
enum class Notice : std::uint8_t {
  reads_inactive_lane,  // a shuffle reads from a lane that takes no part: it gets 0
  names_exited_lane,    // the member mask names lanes that have left
  names_absent_lane,    // the same of lanes that have left since, and never came
  not_in_member_mask,   // an active lane executes a .sync operation whose mask leaves it out
  divergent_barrier,    // a barrier that only some of the warp's lanes have reached
  reads_unset_register, // a register that nothing has set
  barrier_mismatch,     // warps of one block wait at different barrier instructions
};

// What a watcher keeps with a block: the watcher derives its own class from this one.
struct BlockNotes {
  BlockNotes() = default;
  BlockNotes(const BlockNotes&) = delete;
  BlockNotes& operator=(const BlockNotes&) = delete;
  virtual ~BlockNotes() = default;
};

class Watcher {
public:
  virtual ~Watcher() = default;
  virtual void launch_begin(const Grid&) = 0;
  virtual void launch_end(const Grid&) = 0;
  virtual void block_begin(const Block&) = 0;
  virtual void block_end(const Block&) = 0;
  virtual void access(const Access&) = 0;
  // A strong access that reads, and that was passed to access(), has happened: its value has now been read.
  virtual void has_read(const Warp&) {}
  // Whether values are followed: then executed() is called after each operation of an instruction that has a
  // ValueFlow, for the lanes that executed it (and about_to_overwrite() before it, if that changes what it
  // reads), and carried() when a call brings a lane's argument or result from one frame to another.
  virtual bool follows_values() const { return false; }
  virtual void about_to_overwrite(const Warp&, const Operation&, std::uint32_t /*lanes*/) {}
  virtual void executed(const Warp&, const Operation&, std::uint32_t /*lanes*/) {}
  virtual void carried(const Warp&, const std::byte* /*to*/, const std::byte* /*from*/,
                       std::uint32_t /*bytes*/) {}
  // The short form of access() for the most common case. False: the watcher wants access() to be called
  // instead.
  virtual bool row(const RowAccess&) { return false; }
  virtual void bad_access(const Warp&, const Operation&,
                          const Fault&) = 0; // the access itself does not happen
  virtual void fence(const Warp&, const Operation&, MemoryScope) = 0;
  // Asynchronous copies to shared memory: each lane's begins at its offset there, and goes on until its
  // thread waits for it. Copies are committed in groups, and a wait leaves the last `groups_left` of them, or
  // none.
  static constexpr std::uint32_t all_copies = ~0u;
  virtual void copy_begins(const Warp&, const Operation&, const std::uint64_t* /*offsets*/,
                           std::uint32_t /*width*/) {}
  virtual void copies_committed(const Warp&) {}
  virtual void copies_waited_for(const Warp&, std::uint32_t /*groups_left*/) {}
  // Bulk copies, in order of what happens to one: it begins to read shared memory, until its thread has
  // waited for its group (`in_group`) or the copy's mbarrier has completed its phase; it begins to write
  // shared memory, until that phase, the block's `phase`th at this mbarrier, is complete. Both
  // were passed to access().
  virtual void bulk_read_begins(const Warp&, const Operation&, unsigned /*lane*/, std::uint64_t /*offset*/,
                                std::uint32_t /*bytes*/, bool /*in_group*/) {}
  virtual void bulk_write_begins(const Warp&, const Operation&, unsigned /*lane*/, std::uint64_t /*offset*/,
                                 std::uint32_t /*bytes*/, std::uint64_t /*mbarrier*/,
                                 std::uint32_t /*phase*/) {}
  virtual void bulk_committed(const Warp&) {}
  virtual void bulk_waited_for(const Warp&, std::uint32_t /*groups_left*/) {}
  // The lanes have found that the mbarrier is beyond all phases before `phase`.
  virtual void phases_seen(const Warp&, std::uint32_t /*lanes*/, std::uint64_t /*mbarrier*/,
                           std::uint32_t /*phase*/) {}
  // A fence between ordinary accesses and those of bulk copies (fence.proxy.async).
  virtual void proxy_fence(const Warp&, const Operation&) {}
  // All threads of the block (`whole_block`), or those that took part, have reached the barrier.
  virtual void barrier(const Block&, const Operation&, unsigned barrier, bool whole_block) = 0;
  // The bytes that the operation has written for each of these lanes count at the mbarriers at these
  // addresses in shared memory: who waits there sees them, but nothing else that the lanes have done.
  virtual void completes(const Warp&, const Operation&, std::uint32_t /*lanes*/,
                         const std::uint64_t* /*barriers*/) {}
  // The barrier of a cluster: lanes arrive (`releases`: what they did before is ordered, too), all have
  // arrived, and lanes that have waited for them go on.
  virtual void cluster_arrive(const Warp&, const Operation&, bool /*releases*/) {}
  virtual void cluster_barrier(const Cluster&, const Operation&) {}
  virtual void cluster_wait(const Warp&, const Operation&) {}
  // The lanes in `members` have all reached __syncwarp, which orders their memory accesses.
  virtual void warp_barrier(const Warp&, const Operation&, std::uint32_t members) = 0;
  // `lanes`: the lanes concerned; `other`: a second instruction, or null.
  virtual void notice(const Warp&, const Operation&, Notice, std::uint32_t lanes, const Operation* other) = 0;
};

} // namespace warpfold::machine
