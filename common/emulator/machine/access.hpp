// Memory accesses of a warp: addresses, bounds, patterns, counting. Used by loads, stores, atomics and
// builtins.
#pragma once

#include "decoder.hpp"

#include <cstring>
#include <utility>

namespace warpfold::machine {

// The addresses of one request, by lane; those of inactive lanes are whatever their registers hold.
struct Request {
  alignas(64) std::uint64_t address[warp_lanes];
  std::uint64_t first = 0, stride = 0;
  bool even = false; // address[i] == first + i * stride for every active lane i
};

// Reads the base registers (`a`, 4 or 8 bytes wide), adds the offset, and looks for an even stride.
// Operation::e is the width of the access, in bytes per lane.
void read_addresses(Warp& warp, const Operation* op, Request& request);

// Whether [first, first + bytes) lies in [begin, end). An address may be any number, so nothing is added to
// it.
inline bool lies_in(std::uint64_t begin, std::uint64_t end, std::uint64_t first, std::uint64_t bytes) {
  return first >= begin && first <= end && bytes <= end - first;
}

// Whether [first, first + bytes) lies in one allocation and is aligned to `width`.
bool check_global(Warp& warp, const Operation* op, std::uint64_t first, std::uint64_t bytes, unsigned width,
                  AccessKind kind, std::uint32_t lanes);
inline bool in_known_range(const Warp& warp, const Operation* op, std::uint64_t first, std::uint64_t bytes) {
  const KnownRange& range = warp.worker->ranges[op->index];
  return lies_in(range.begin, range.end, first, bytes);
}
// The host address of a lane's bytes of global memory.
std::byte* global_at(Warp& warp, const Operation* op, std::uint64_t address, std::uint64_t bytes,
                     unsigned width, AccessKind kind, unsigned lane);
// The same for shared memory: `offset` may name another block of the cluster (cluster.hpp).
std::byte* shared_at(Warp& warp, const Operation* op, std::uint64_t offset, unsigned width, AccessKind kind,
                     std::uint32_t lanes);
// A lane's local memory.
std::byte* local_at(Warp& warp, const Operation* op, unsigned lane, std::uint64_t offset, unsigned width,
                    AccessKind kind);

// The host address of a lane's generic address, checked for `bytes` bytes.
std::byte* generic_at(Warp& warp, const Operation* op, unsigned lane, std::uint64_t address,
                      std::uint64_t bytes, unsigned width, AccessKind kind);

// A store by a thread to the element that has the thread's own number: in its block, for shared memory; in
// the grid, for global memory, counted from where the allocation begins. `first` is the first lane's address.
inline bool is_own_place(const Warp& warp, const Operation* op, ptx::Space space, std::uint64_t first,
                         unsigned width) {
  const std::uint64_t number = std::uint64_t{warp.index} * warp_lanes;
  if (space == ptx::Space::shared) return first == number * width;
  return first - warp.worker->ranges[op->index].begin ==
         (warp.block->linear_id * warp.block->threads + number) * width;
}
void count_own_places(Warp& warp, const Operation* op, ptx::Space space, const Request& request,
                      unsigned width);

// Counts a request: sectors of global memory, wavefronts of shared memory.
void count_global(Warp& warp, const Operation* op, const Request& request, unsigned width, AccessKind kind);
void count_shared(Warp& warp, const Operation* op, const Request& request, unsigned width);
// Whether a lane's address in shared memory names a block of the cluster, be it the thread's own.
bool names_ranks(const Warp& warp, const Request& request);

// What a store is about to write, lane after lane, `stride` bytes apart.
struct StoredValues {
  const std::byte* first = nullptr;
  unsigned stride = 0;
};

// Tells the watcher, if there is one.
inline void tell(Warp& warp, const Operation* op, const Request& request, ptx::Space space, AccessKind kind,
                 unsigned width, StoredValues values = {}, bool remote = false) {
  const std::uint32_t mask = warp.mask & ~std::exchange(warp.worker->refused_lanes, 0);
  Watcher* watcher = warp.worker->grid.watcher;
  if (watcher && mask)
    watcher->access({.warp = warp,
                     .operation = *op,
                     .space = space,
                     .kind = kind,
                     .order = static_cast<MemoryOrder>(op->order),
                     .scope = static_cast<MemoryScope>(op->scope),
                     .mask = mask,
                     .width = width,
                     .addresses = request.address,
                     .first = request.first,
                     .contiguous = request.even && request.stride == width,
                     .values = values.first,
                     .value_stride = values.stride,
                     .remote = remote});
}

// Counts a request in shared memory and tells the watcher: what goes to other blocks of the cluster apart.
void note_shared(Warp& warp, const Operation* op, Request& request, AccessKind kind, unsigned width,
                 StoredValues values = {});

// Tells the watcher that a strong access has read.
inline void tell_read(Warp& warp) {
  if (Watcher* watcher = warp.worker->grid.watcher) watcher->has_read(warp);
}

// The space that the generic addresses of all active lanes lie in; `generic` if they differ. Addresses of
// shared and local memory become offsets.
ptx::Space resolve_generic(const Warp& warp, Request& request);

// For a request whose lanes point to different spaces: visits the lanes of each space by themselves, as a
// request that has offsets where the space has a window. The window of a kernel's parameters stays `generic`.
template <typename Visit>
inline void each_space(Warp& warp, const Request& request, Visit visit) {
  const std::uint32_t all = warp.mask;
  for (std::uint32_t left = all; left != 0;) {
    const std::uint64_t window = request.address[std::countr_zero(left)] & window_mask;
    std::uint32_t here = 0;
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
      here |= static_cast<std::uint32_t>((request.address[lane] & window_mask) == window) << lane;
    here &= left;
    left &= ~here;
    warp.set_mask(here);
    Request part = request;
    part.even = false;
    visit(resolve_generic(warp, part), part);
    warp.worker->refused_lanes = 0; // this part has been reported
  }
  warp.set_mask(all);
}

// Spinning on memory uses up a time slice faster than computing does, and fastest on memory that other blocks
// write: they may not have run yet.
inline void note_possible_spin(Warp& warp, std::uint32_t cost = spin_cost) {
  warp.slice = warp.slice > cost ? warp.slice - cost : 1;
  warp.spins = true;
}
inline void note_possible_spin(Warp& warp, const Operation* op, std::uint32_t cost = spin_cost) {
  note_possible_spin(warp, cost);
  warp.polls |= warp.worker->grid.code.facts[op->index].synchronising.polls;
}

template <typename Visit>
inline void each_active(const Warp& warp, Visit visit) {
  for (std::uint32_t mask = warp.mask; mask; mask &= mask - 1)
    visit(static_cast<unsigned>(std::countr_zero(mask)));
}

// The space, order and scope that a memory instruction's modifiers give. Refuses modifiers that the machine
// does not support.
struct MemoryForm {
  ptx::Space space = ptx::Space::generic;
  MemoryOrder order = MemoryOrder::weak;
  MemoryScope scope = MemoryScope::block;
  unsigned elements = 1;
  ptx::Type type = ptx::Type::none;
};
MemoryForm memory_form(const ptx::Instruction& in);
void set_form(Operation& op, const MemoryForm& form, const Decoder::Address& address, unsigned width);

} // namespace warpfold::machine
