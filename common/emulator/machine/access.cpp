// The addresses of a request: where they point, and whether they are allowed.
#include "access.hpp"

#include "bad_access.hpp"

#include <bit>

namespace warpfold::machine {
namespace {

// The stride between active lanes, computed from the first two of them; a single lane counts as a row of
// neighbours.
std::uint64_t stride_of(const std::uint64_t* address, std::uint32_t mask, unsigned width) {
  auto first = static_cast<unsigned>(std::countr_zero(mask));
  std::uint32_t rest = mask & (mask - 1);
  if (rest == 0) return width;
  auto second = static_cast<unsigned>(std::countr_zero(rest));
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(address[second] - address[first]) /
                                    static_cast<std::int64_t>(second - first));
}

// One pass over the row if all lanes are active: what was stored a moment ago is still in registers.
template <typename Base>
void read_row(const Warp& warp, const Base* base, Base offset, unsigned width, Request& request) {
  std::uint64_t differs = 0;
  if (warp.mask == all_lanes) {
    std::uint64_t first = static_cast<Base>(base[0] + offset),
                  stride = static_cast<Base>(base[1] + offset) - first;
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      std::uint64_t address = static_cast<Base>(base[lane] + offset);
      request.address[lane] = address;
      differs |= address ^ (first + lane * stride);
    }
    request.first = first;
    request.stride = stride;
  } else {
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
      request.address[lane] = static_cast<Base>(base[lane] + offset);
    std::uint64_t stride = stride_of(request.address, warp.mask, width);
    auto leader = static_cast<unsigned>(std::countr_zero(warp.mask));
    std::uint64_t first = request.address[leader] - leader * stride;
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      std::uint64_t active = static_cast<std::uint64_t>(static_cast<std::int64_t>(warp.lanes[lane]));
      differs |= (request.address[lane] ^ (first + lane * stride)) & active;
    }
    request.first = first;
    request.stride = stride;
  }
  request.even = differs == 0;
}

} // namespace

void read_addresses(Warp& warp, const Operation* op, Request& request) {
  if (op->width == 8)
    read_row(warp, warp.row<u64>(op->a), static_cast<u64>(op->immediate), op->e, request);
  else
    read_row(warp, warp.row<u32>(op->a), static_cast<u32>(op->immediate), op->e, request);
}

namespace {

// Variables do not become accessible with the rest: on an H200, a kernel's access to another device's
// variable ended with cudaErrorIllegalAddress while access was enabled.
bool is_out_of_reach(const Grid& grid, const Allocation& allocation, int owner) {
  const bool is_variable = allocation.kind == MemoryKind::variable || allocation.kind == MemoryKind::constant;
  if (allocation.pool) return !allocation.pool->allows(grid.device);
  return !grid.may_reach(owner) || (is_variable && owner != no_device && owner != grid.device);
}

bool in_known_hole(const Worker& worker, std::uint64_t address) {
  const KnownHole& hole = worker.hole;
  return address >= hole.begin && address < hole.end && hole.changes == worker.grid.memory.changes();
}

void note_hole(Worker& worker, std::uint64_t address) {
  const std::uint64_t changes = worker.grid.memory.changes();
  const auto [begin, end] = worker.grid.memory.hole_around(address);
  worker.hole = {begin, end, changes};
}

} // namespace

bool check_global(Warp& warp, const Operation* op, std::uint64_t first, std::uint64_t bytes, unsigned width,
                  AccessKind kind, std::uint32_t lanes) {
  if (!in_known_range(warp, op, first, bytes)) {
    const auto refuse = [&] {
      refuse_global(warp, op, first, bytes, kind, lanes);
      if (first % width) refuse_misaligned(warp, op, first, width, kind, lanes);
      return false;
    };
    if (in_known_hole(*warp.worker, first)) return refuse();
    auto found = warp.worker->grid.memory.find(first);
    if (!found) note_hole(*warp.worker, first);
    if (!found || !lies_in(found->begin, found->end(), first, bytes)) return refuse();
    const Grid& grid = warp.worker->grid;
    const int owner = grid.memory.owner(first);
    if (is_out_of_reach(grid, *found, owner)) return refuse_peer(warp, op, *found, owner, kind, lanes), false;
    warp.worker->ranges[op->index] = {found->begin, found->end(), first,
                                      owner != no_device && owner != grid.device};
  }
  if (first % width) return refuse_misaligned(warp, op, first, width, kind, lanes), false;
  return true;
}

std::byte* global_at(Warp& warp, const Operation* op, std::uint64_t address, std::uint64_t bytes,
                     unsigned width, AccessKind kind, unsigned lane) {
  bool known = in_known_range(warp, op, address, bytes) && address % width == 0;
  if (known || check_global(warp, op, address, bytes, width, kind, 1u << lane))
    return reinterpret_cast<std::byte*>(address);
  return warp.worker->nowhere(1u << lane);
}

namespace {

// What is not simply in the block's own shared memory: another block's, or refused.
[[gnu::noinline]] std::byte* odd_shared_at(Warp& warp, const Operation* op, std::uint64_t address,
                                           unsigned width, AccessKind kind, std::uint32_t lanes) {
  const Cluster& cluster = *warp.block->cluster;
  const std::uint64_t offset = names_rank(address) ? address & cluster_offset_mask : address,
                      rank = names_rank(address) ? named_rank(address) : warp.block->rank;
  const bool fits = lies_in(0, warp.worker->grid.shared_bytes(), offset, width);
  // Alone in its cluster, a block has no name, and a rank that no cluster has is rather a wild offset.
  const bool is_wild = names_rank(address) && (rank >= cluster.size() ? !fits : cluster.size() == 1);
  if (is_wild || (!fits && !names_rank(address)))
    refuse_shared(warp, op, address, width, kind, lanes);
  else if (rank >= cluster.size() || !fits)
    refuse_in_cluster(warp, op, rank, offset, width, kind, lanes);
  else if (offset % width)
    refuse_misaligned(warp, op, offset, width, kind, lanes);
  else
    return cluster.blocks[rank]->shared.data() + offset;
  return warp.worker->nowhere(lanes);
}

} // namespace

std::byte* shared_at(Warp& warp, const Operation* op, std::uint64_t offset, unsigned width, AccessKind kind,
                     std::uint32_t lanes) {
  const bool is_aligned = (offset & (width - 1)) == 0; // widths are powers of two
  if (is_aligned && lies_in(0, warp.worker->grid.shared_bytes(), offset, width))
    return warp.block->shared.data() + offset;
  return odd_shared_at(warp, op, offset, width, kind, lanes);
}

std::byte* local_at(Warp& warp, const Operation* op, unsigned lane, std::uint64_t offset, unsigned width,
                    AccessKind kind) {
  std::uint32_t stride = warp.worker->local_stride;
  if (!lies_in(0, stride, offset, width)) {
    refuse_local(warp, op, offset, width, kind, 1u << lane);
    return warp.worker->nowhere(1u << lane);
  }
  if (offset % width) {
    refuse_misaligned(warp, op, offset, width, kind, 1u << lane);
    return warp.worker->nowhere(1u << lane);
  }
  return warp.local_memory + lane * stride + offset;
}

std::byte* generic_at(Warp& warp, const Operation* op, unsigned lane, std::uint64_t address,
                      std::uint64_t bytes, unsigned width, AccessKind kind) {
  std::uint64_t window = address & window_mask, offset = address & ~window_mask;
  if (window == shared_window)
    return shared_at(warp, op, offset, static_cast<unsigned>(bytes), kind, 1u << lane);
  if (window == local_window) return local_at(warp, op, lane, offset, static_cast<unsigned>(bytes), kind);
  if (window == parameter_window) {
    auto parameters = warp.worker->grid.parameters;
    if (kind != AccessKind::load || !lies_in(0, parameters.size(), offset, bytes))
      stop(warp, op, Fault::Kind::out_of_bounds, "reaches beyond the kernel's parameters", 1u << lane);
    if (offset % width) {
      refuse_misaligned(warp, op, offset, width, kind, 1u << lane);
      return warp.worker->nowhere(1u << lane);
    }
    return const_cast<std::byte*>(parameters.data()) + offset;
  }
  return global_at(warp, op, address, bytes, width, kind, lane);
}

ptx::Space resolve_generic(const Warp& warp, Request& request) {
  std::uint64_t any = 0, all = ~0ull;
  each_active(warp, [&](unsigned lane) {
    any |= request.address[lane] & window_mask;
    all &= request.address[lane] & window_mask;
  });
  if (any == 0) return ptx::Space::global;
  if (any != all || (any != shared_window && any != local_window)) return ptx::Space::generic;
  for (std::uint64_t& address : request.address) address &= ~window_mask;
  request.first &= ~window_mask;
  return any == shared_window ? ptx::Space::shared : ptx::Space::local;
}

MemoryForm memory_form(const ptx::Instruction& in) {
  MemoryForm form;
  form.type = type_modifier(in);
  for (std::string_view m : in.modifiers) {
    if (m == "global")
      form.space = ptx::Space::global;
    else if (m == "const")
      form.space = ptx::Space::constant;
    else if (m == "shared" || m == "shared::cta" || m == "shared::cluster")
      form.space = ptx::Space::shared;
    else if (m == "local")
      form.space = ptx::Space::local;
    else if (m == "param" || m == "param::entry" || m == "param::func")
      form.space = ptx::Space::parameter;
    else if (m == "v2")
      form.elements = 2;
    else if (m == "v4")
      form.elements = 4;
    else if (m == "v8")
      form.elements = 8;
    else if (m == "relaxed")
      form.order = MemoryOrder::relaxed;
    else if (m == "acquire")
      form.order = MemoryOrder::acquire;
    else if (m == "release")
      form.order = MemoryOrder::release;
    else if (m == "acq_rel")
      form.order = MemoryOrder::acquire_release;
    else if (m == "volatile" || m == "mmio")
      form.order = MemoryOrder::unordered, form.scope = MemoryScope::system;
    else if (m == "cta")
      form.scope = MemoryScope::block;
    else if (m == "cluster")
      form.scope = MemoryScope::cluster;
    else if (m == "gpu")
      form.scope = MemoryScope::device;
    else if (m == "sys")
      form.scope = MemoryScope::system;
    else if (m == "weak" || m == "nc" || m == "ca" || m == "cg" || m == "cs" || m == "lu" || m == "cv" ||
             m == "wb" || m == "wt" || m == "noftz" || m.starts_with("L1::") || m.starts_with("L2::"))
      continue; // caching never changes a result
  }
  return form;
}

void set_form(Operation& op, const MemoryForm& form, const Decoder::Address& address, unsigned width) {
  op.a = address.row;
  op.immediate = address.offset;
  op.width = static_cast<std::uint8_t>(address.width);
  op.order = static_cast<std::uint8_t>(form.order);
  op.scope = static_cast<std::uint8_t>(form.scope);
  op.e = width;
}

} // namespace warpfold::machine
