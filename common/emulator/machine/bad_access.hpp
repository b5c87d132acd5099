// Bad accesses, in words. One stops the launch, unless there is a watcher to report it to. In that case the
// launch continues, reads give 0 and writes go nowhere (Worker::nowhere), so that one mistake does not hide
// the next.
#pragma once

#include "decoder.hpp"

namespace warpfold::machine {

// Whether one more bad access of the operation is reported; only its first few are, since a loop that runs
// wild makes millions of them.
bool is_reported(Warp& warp, const Operation* op);

// That these lanes access [first, first + bytes), of which not all is in one allocation.
void refuse_global(Warp& warp, const Operation* op, std::uint64_t first, std::uint64_t bytes, AccessKind kind,
                   std::uint32_t lanes);
void refuse_misaligned(Warp& warp, const Operation* op, std::uint64_t address, unsigned width,
                       AccessKind kind, std::uint32_t lanes);
// Memory of the device `owner`, which this one may not access.
void refuse_peer(Warp& warp, const Operation* op, const Allocation& allocation, int owner, AccessKind kind,
                 std::uint32_t lanes);
// Beyond the block's shared memory.
void refuse_shared(Warp& warp, const Operation* op, std::uint64_t offset, unsigned width, AccessKind kind,
                   std::uint32_t lanes);
// In a block that the cluster does not have, or beyond a block's shared memory.
void refuse_in_cluster(Warp& warp, const Operation* op, std::uint64_t rank, std::uint64_t offset,
                       unsigned width, AccessKind kind, std::uint32_t lanes);
// Beyond the lanes' local memory.
void refuse_local(Warp& warp, const Operation* op, std::uint64_t offset, unsigned width, AccessKind kind,
                  std::uint32_t lanes);

} // namespace warpfold::machine
