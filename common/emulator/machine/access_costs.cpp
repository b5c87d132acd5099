// What a request costs: sectors of global memory, wavefronts of shared memory, traffic between devices and
// between the blocks of a cluster.
#include "access.hpp"

#include <bit>

namespace warpfold::machine {
namespace {

constexpr unsigned bank_row_bytes = bank_count * bank_bytes;

std::size_t slot_of(const Pattern& p) {
  std::uint64_t mixed = (p.stride * 0x9e3779b97f4a7c15ull) ^ (std::uint64_t{p.mask} * 0xc2b2ae3d27d4eb4full) ^
                        (std::uint64_t{p.first} << 7 | p.width) * 0x165667b19e3779f9ull;
  return (mixed >> 40) % Worker::pattern_count;
}

template <typename Compute>
const Pattern& remembered(Pattern* patterns, const Request& request, std::uint32_t mask, unsigned width,
                          Compute compute) {
  Pattern key{.stride = request.stride,
              .mask = mask,
              .first = static_cast<std::uint32_t>(request.first % bank_row_bytes),
              .width = width};
  Pattern& known = patterns[slot_of(key)];
  if (known.stride != key.stride || known.mask != key.mask || known.first != key.first ||
      known.width != key.width) {
    known = key;
    compute(known);
  }
  return known;
}

// The part of a request that goes to other devices.
void count_links(Warp& warp, const Operation* op, const Request& request, unsigned width, AccessKind kind) {
  Worker& worker = *warp.worker;
  const Grid& grid = worker.grid;
  std::uint32_t left = 0;
  each_active(warp, [&](unsigned lane) {
    const int owner = grid.memory.owner(request.address[lane]);
    if (owner == no_device || owner == grid.device) return;
    const auto from_pool = [&] {
      const auto found = grid.memory.find(request.address[lane]);
      return found && found->pool && found->pool->allows(grid.device);
    };
    if (grid.may_reach(owner) || from_pool()) left |= 1u << lane;
  });
  if (left != 0) ++warp.counters[op->index].peer_requests;
  while (left != 0) {
    const auto owner_of = [&](unsigned lane) { return grid.memory.owner(request.address[lane]); };
    const int owner = owner_of(static_cast<unsigned>(std::countr_zero(left)));
    std::uint32_t lanes = 0;
    for (std::uint32_t mask = left; mask; mask &= mask - 1)
      if (const auto lane = static_cast<unsigned>(std::countr_zero(mask)); owner_of(lane) == owner)
        lanes |= 1u << lane;
    const unsigned count = sectors(request.address, lanes, width);
    warp.counters[op->index].peer_sectors += count;
    auto& of_owner = kind == AccessKind::load ? worker.links.load_sectors : worker.links.store_sectors;
    of_owner[static_cast<unsigned>(owner)] += count;
    left &= ~lanes;
  }
}

} // namespace

void count_own_places(Warp& warp, const Operation* op, ptx::Space space, const Request& request,
                      unsigned width) {
  each_active(warp, [&](unsigned lane) {
    if (is_own_place(warp, op, space, request.address[lane] - std::uint64_t{lane} * width, width))
      ++warp.counters[op->index].own_places;
  });
}

void count_global(Warp& warp, const Operation* op, const Request& request, unsigned width, AccessKind kind) {
  if (warp.worker->grid.memory.devices() > 1) count_links(warp, op, request, width, kind);
  OperationCounters& counters = warp.counters[op->index];
  auto lanes = static_cast<unsigned>(std::popcount(warp.mask));
  ++counters.requests;
  counters.lanes += lanes;
  counters.first_threads += warp.index == 0 ? warp.mask & 1 : 0;
  counters.bytes += lanes * width;
  if (request.even && request.stride == width && warp.mask == all_lanes) {
    counters.sectors += contiguous_sectors(request.first, warp_lanes * width);
  } else if (request.even) {
    counters.sectors +=
        remembered(warp.worker->sector_patterns, request, warp.mask, width, [&](Pattern& pattern) {
          pattern.count = static_cast<std::uint16_t>(sectors(request.address, warp.mask, width));
        }).count;
  } else {
    counters.sectors += sectors(request.address, warp.mask, width);
  }
}

void count_shared(Warp& warp, const Operation* op, const Request& request, unsigned width) {
  OperationCounters& counters = warp.counters[op->index];
  auto lanes = static_cast<unsigned>(std::popcount(warp.mask));
  ++counters.requests;
  counters.lanes += lanes;
  if (request.even && request.stride == width && width == bank_bytes) {
    ++counters.wavefronts;
    ++counters.ideal_wavefronts;
  } else if (request.even) {
    const Pattern& known =
        remembered(warp.worker->bank_patterns, request, warp.mask, width, [&](Pattern& pattern) {
          Wavefronts cost = wavefronts(request.address, warp.mask, width);
          pattern.count = static_cast<std::uint16_t>(cost.count);
          pattern.ideal = static_cast<std::uint16_t>(cost.ideal);
        });
    counters.wavefronts += known.count;
    counters.ideal_wavefronts += known.ideal;
  } else {
    Wavefronts cost = wavefronts(request.address, warp.mask, width);
    counters.wavefronts += cost.count;
    counters.ideal_wavefronts += cost.ideal;
  }
}

bool names_ranks(const Warp& warp, const Request& request) {
  std::uint64_t any = 0;
  each_active(warp, [&](unsigned lane) { any |= request.address[lane]; });
  return names_rank(any);
}

namespace {

// What goes to other blocks of the cluster passes no banks of this multiprocessor.
void count_remote(Warp& warp, const Operation* op, unsigned width) {
  const auto lanes = static_cast<unsigned>(std::popcount(warp.mask));
  OperationCounters& counters = warp.counters[op->index];
  ++counters.dsmem_requests;
  counters.dsmem_bytes += std::uint64_t{lanes} * width;
  counters.lanes += lanes;
}

void note_in_cluster(Warp& warp, const Operation* op, Request& request, AccessKind kind, unsigned width,
                     StoredValues values) {
  const std::uint32_t all = warp.mask, refused = std::exchange(warp.worker->refused_lanes, 0);
  std::uint32_t remote = 0;
  each_active(warp, [&](unsigned lane) {
    std::uint64_t& address = request.address[lane];
    if (!names_rank(address) || named_rank(address) >= warp.block->cluster->size()) return;
    if (named_rank(address) == warp.block->rank)
      address &= cluster_offset_mask;
    else
      remote |= 1u << lane;
  });
  // A row of neighbours lies in one block's memory, of which `first` is then an address, too.
  request.even = request.even && (remote == 0 || remote == all);
  if (remote == 0) request.first &= cluster_offset_mask;
  const auto note = [&](std::uint32_t lanes, bool is_remote) {
    if (!lanes) return;
    warp.set_mask(lanes);
    if (is_remote)
      count_remote(warp, op, width);
    else
      count_shared(warp, op, request, width);
    warp.worker->refused_lanes = refused;
    tell(warp, op, request, ptx::Space::shared, kind, width, values, is_remote);
  };
  note(all & ~remote, false);
  note(all & remote, true);
  warp.set_mask(all);
}

} // namespace

void note_shared(Warp& warp, const Operation* op, Request& request, AccessKind kind, unsigned width,
                 StoredValues values) {
  if (warp.worker->in_clusters && names_ranks(warp, request))
    return note_in_cluster(warp, op, request, kind, width, values);
  count_shared(warp, op, request, width);
  tell(warp, op, request, ptx::Space::shared, kind, width, values);
}

} // namespace warpfold::machine
