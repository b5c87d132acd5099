// What a frame contains before the first operation runs: constants and special registers, one copy per lane.
#include "block.hpp"
#include "reach.hpp"

#include <algorithm>

namespace warpfold::machine {

namespace {

template <typename T>
void spread(std::byte* row, T value) {
  std::fill_n(reinterpret_cast<T*>(row), warp_lanes, value);
}

void fill_constant(const Constant& constant, std::byte* storage, std::uint32_t local_base) {
  std::byte* row = storage + constant.row;
  std::uint64_t bits = constant.bits + (constant.local_address ? local_base : 0);
  switch (constant.width) {
  case 0:
    *reinterpret_cast<std::uint32_t*>(row) = bits ? all_lanes : 0;
    break;
  case 2:
    spread(row, static_cast<std::uint16_t>(bits));
    break;
  case 4:
    spread(row, static_cast<std::uint32_t>(bits));
    break;
  case 8:
    spread(row, bits);
    break;
  default:
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      reinterpret_cast<std::uint64_t*>(row)[2 * lane] = bits;
      reinterpret_cast<std::uint64_t*>(row)[2 * lane + 1] = constant.high_bits;
    }
  }
}

std::uint32_t component(const Dim3& value, unsigned which) {
  return which == 0 ? value.x : which == 1 ? value.y : value.z;
}

bool changes_with_block(ptx::Special name) {
  using enum ptx::Special;
  return name == ctaid || name == smid || name == clusterid || name == cluster_ctaid ||
         name == cluster_ctarank;
}

std::uint32_t lane_mask(ptx::Special name, unsigned lane) {
  using enum ptx::Special;
  std::uint32_t below = (1u << lane) - 1, self = 1u << lane;
  switch (name) {
  case lanemask_eq:
    return self;
  case lanemask_le:
    return below | self;
  case lanemask_lt:
    return below;
  case lanemask_ge:
    return ~below;
  default:
    return ~(below | self);
  }
}

// The value that all lanes have in common; lanes differ only in tid, laneid and the lane masks.
std::uint32_t uniform_value(const Warp& warp, const SpecialRow& special) {
  using enum ptx::Special;
  const Block& block = *warp.block;
  const Grid& grid = block.worker.grid;
  const LaunchShape& shape = grid.shape;
  switch (special.name) {
  case ntid:
    return component(shape.block, special.component);
  case nctaid:
    return component(shape.grid, special.component);
  case nclusterid:
    return component(shape.grid, special.component) / component(shape.cluster, special.component);
  case ctaid:
    return component(block.id, special.component);
  case clusterid:
    return component(block.id, special.component) / component(shape.cluster, special.component);
  case cluster_ctaid:
    return component(block.id, special.component) % component(shape.cluster, special.component);
  case cluster_ctarank:
    return block.rank;
  case warpid:
    return warp.index;
  case nwarpid:
    return Limits::threads_per_multiprocessor / warp_lanes;
  case smid:
    return static_cast<std::uint32_t>(block.linear_id % Limits::multiprocessors);
  case nsmid:
    return Limits::multiprocessors;
  case gridid:
    return static_cast<std::uint32_t>(grid.id);
  case cluster_nctaid:
    return component(shape.cluster, special.component);
  case cluster_nctarank:
    return static_cast<std::uint32_t>(shape.cluster.count());
  case is_explicit_cluster: // a predicate: a bit for each lane
    return shape.explicit_cluster ? all_lanes : 0;
  case dynamic_smem_size:
    return shape.dynamic_shared;
  case total_smem_size:
  case aggr_smem_size:
    return grid.code.dynamic_shared_offset + shape.dynamic_shared;
  case reserved_smem_offset_begin:
  case reserved_smem_offset:
    return grid.code.static_shared - reserved_shared_bytes;
  case reserved_smem_offset_end:
    return grid.code.static_shared;
  case reserved_smem_offset_cap:
    return reserved_shared_bytes;
  case envreg: // the driver's: the workspace's address, upper half first, as cooperative_groups.h reads it
    if (special.component == 1) return static_cast<std::uint32_t>(shape.grid_workspace >> 32);
    return special.component == 2 ? static_cast<std::uint32_t>(shape.grid_workspace) : 0;
  default:
    return 0;
  }
}

void fill_special(const Warp& warp, const SpecialRow& special, std::byte* storage) {
  using enum ptx::Special;
  auto* row = reinterpret_cast<std::uint32_t*>(storage + special.row);
  for (unsigned lane = 0; lane < warp_lanes; ++lane) switch (special.name) {
    case tid:
      row[lane] = component(warp.block->thread_of(warp, lane), special.component);
      break;
    case laneid:
      row[lane] = lane;
      break;
    case lanemask_eq:
    case lanemask_le:
    case lanemask_lt:
    case lanemask_ge:
    case lanemask_gt:
      row[lane] = lane_mask(special.name, lane);
      break;
    default:
      row[lane] = uniform_value(warp, special);
    }
}

} // namespace

void fill_frame(const Warp& warp, const Frame& frame, std::byte* storage, std::uint32_t local_base) {
  for (const Constant& constant : frame.constants) fill_constant(constant, storage, local_base);
  for (const SpecialRow& special : frame.specials) fill_special(warp, special, storage);
}

void fill_block_specials(const Warp& warp, const Frame& frame, std::byte* storage) {
  for (const SpecialRow& special : frame.specials)
    if (changes_with_block(special.name)) spread(storage + special.row, uniform_value(warp, special));
}

} // namespace warpfold::machine
