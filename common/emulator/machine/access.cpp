// The addresses of a request: where they point, whether they are allowed, and what the request costs.
#include "access.hpp"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <fmt/format.h>
#include <vector>

namespace warpfold::machine {

// Composing a message takes long. Each bad access also counts as many instructions, and takes as much of the
// warp's time slice, so a thread that keeps making them is stopped no later than others.
bool is_told(Warp& warp, const Operation* op) {
  constexpr std::uint32_t told = 64, of_a_slice = 64;
  warp.block->steps += 1024;
  if (warp.slice > of_a_slice) warp.slice -= of_a_slice;
  return ++warp.worker->refusals[op->index] <= told;
}

namespace {

constexpr unsigned bank_row_bytes = bank_count * bank_bytes;

const char* verb(AccessKind kind) {
  return kind == AccessKind::load ? "reads" : kind == AccessKind::store ? "writes" : "updates atomically";
}

std::string describe(const Allocation& allocation, std::uint64_t address) {
  if (address < allocation.begin)
    return fmt::format("{} bytes before {}", allocation.begin - address, allocation.label);
  if (address >= allocation.end()) {
    std::uint64_t past = address - allocation.end();
    return past == 0 ? fmt::format("right after the last byte of {}", allocation.label)
                     : fmt::format("{} bytes past the end of {}", past, allocation.label);
  }
  return fmt::format("byte {} of {}", address - allocation.begin, allocation.label);
}

// Where an address in no allocation lies. Between two that are about as near, either may be meant.
std::string describe_outside(const AddressSpace& memory, const Allocation& near, std::uint64_t address) {
  const auto [begin, end] = memory.hole_around(address);
  const std::uint64_t after_one = address - begin, before_other = end - address;
  const bool in_between = begin != 0 && end != ~0ull;
  const auto [nearer, farther] = std::minmax(after_one, before_other);
  if (!near.live || !in_between || farther / 2 > nearer) return describe(near, address);
  return fmt::format("{}, {}", describe(*memory.find(begin - 1), address),
                     describe(*memory.find(end), address));
}

// What an access counts from: the one argument of the launch that can be the pointer.
struct PointerArgument {
  std::int64_t at = -1;            // its byte in the parameters
  std::optional<Allocation> array; // none: it is null
};

// Calls `visit` with each argument of the launch that can be the pointer, and its byte in the parameters.
template <typename Visit>
void each_pointer_argument(const Warp& warp, const Operation* op, Visit visit) {
  const Grid& grid = warp.worker->grid;
  const ptx::ParameterWords words = grid.code.facts[op->index].pointers;
  constexpr std::size_t bytes = sizeof(std::uint64_t);
  for (std::size_t at = 0; at / bytes < 64 && at + bytes <= grid.parameters.size(); at += bytes) {
    if ((words >> (at / bytes) & 1) == 0) continue;
    std::uint64_t address = 0;
    std::memcpy(&address, grid.parameters.data() + at, bytes);
    visit(address, static_cast<std::int64_t>(at), std::has_single_bit(words));
  }
}

std::optional<PointerArgument> pointer_argument(const Warp& warp, const Operation* op) {
  std::vector<PointerArgument> found;
  each_pointer_argument(warp, op, [&](std::uint64_t address, std::int64_t at, bool is_only_one) {
    const auto array = warp.worker->grid.memory.find(address);
    if (array || (address == 0 && is_only_one)) found.push_back({at, array});
  });
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

bool counts_from(const Warp& warp, const Operation* op, const Allocation& array) {
  bool any = false;
  each_pointer_argument(warp, op, [&](std::uint64_t address, std::int64_t, bool) {
    any = any || (address >= array.begin && address < array.end());
  });
  return any;
}

bool points_to_bytes(const Warp& warp, const std::optional<PointerArgument>& pointer) {
  const auto& of_launch = warp.worker->grid.points_to_bytes;
  return pointer && of_launch && of_launch(pointer->at);
}

constexpr std::uint64_t near_enough = 1 << 20; // in bytes, for an array to be what an access is meant for
constexpr std::uint64_t widest_number = 8;     // in bytes; what is wider is a vector

// An access beside an array of elements of `width` bytes, in terms of them.
void count_elements(const Allocation& array, std::uint64_t address, std::uint64_t width, AccessKind kind,
                    Fault& fault) {
  const std::string_view unit = width == 1 ? "byte" : "element";
  const std::uint64_t size = array.end() - array.origin;
  const bool before = address < array.origin;
  const std::uint64_t apart = before ? array.origin - address : address - array.origin;
  if (width > widest_number || size % width != 0 || apart % width != 0 || size == 0) return;
  const std::uint64_t elements = size / width, index = apart / width;
  const bool is_meant = fault.pointer_at >= 0;
  if (before && (is_meant || apart < near_enough))
    fault.message = fmt::format("{} {} -{} of {}", verb(kind), unit, index, array.label);
  if (before || index < elements || (!is_meant && address - array.end() >= near_enough)) return;
  fault.element = index, fault.elements = elements;
  fault.message =
      fmt::format("{} {} {} of {}, which has {}", verb(kind), unit, index, array.label,
                  elements == 1 ? fmt::format("one {}", unit) : fmt::format("{} {}s", elements, unit));
}

// The live allocation that may be meant by an address in none: the closest one, if it is no further away than
// it is long.
std::optional<Allocation> nearest_live(const AddressSpace& memory, std::uint64_t address) {
  const auto [begin, end] = memory.hole_around(address);
  const auto before = begin == 0 ? std::nullopt : memory.find(begin - 1);
  const auto after = end == ~0ull ? std::nullopt : memory.find(end);
  const bool is_after = !before || (after && end - address < address - begin);
  const auto closest = is_after ? after : before;
  const std::uint64_t apart = is_after ? end - address : address - begin;
  return closest && apart <= closest->end() - closest->origin ? closest : std::nullopt;
}

// The first byte of [first, first + bytes) that is in no live allocation.
std::uint64_t first_bad_byte(const AddressSpace& memory, std::uint64_t first, std::uint64_t bytes) {
  auto found = memory.find(first);
  return found && bytes > found->end() - first ? found->end() : first;
}

void refuse_global(Warp& warp, const Operation* op, std::uint64_t first, std::uint64_t bytes, AccessKind kind,
                   std::uint32_t lanes) {
  if (!is_told(warp, op)) return;
  const AddressSpace& memory = warp.worker->grid.memory;
  std::uint64_t bad = first_bad_byte(memory, first, bytes);
  auto near = memory.nearest(bad);
  const auto is_inside = [&] { return near && !near->live && bad >= near->begin && bad < near->end(); };
  const bool counts_from_freed = is_inside() && counts_from(warp, op, *near);
  const auto pointer = counts_from_freed ? std::nullopt : pointer_argument(warp, op);
  if (pointer && pointer->array) near = pointer->array;
  const bool in_freed = is_inside();
  // If the program has allocated memory since then, a wild address is more likely.
  const bool freed = in_freed && (counts_from_freed || !memory.allocated_since(near->died));
  if (in_freed && !freed) near = nearest_live(memory, bad);
  constexpr std::uint64_t null_page = 4096;
  std::string where;
  Fault::Region region{};
  const bool is_of_null = first < null_page || (pointer && !pointer->array);
  if (is_of_null)
    where = first < null_page ? "a null pointer" : fmt::format("{} bytes after a null pointer", first);
  else if (pointer)
    where = describe(*near, bad);
  else if (freed)
    where = fmt::format("{}, which has been freed", describe(*near, bad));
  else if (near && (bad < near->begin ? near->begin - bad : bad - near->end()) < near_enough)
    where = describe_outside(memory, *near, bad);
  else if (in_freed)
    where = "no memory that is in use";
  else
    where = "no memory of the device", region = Fault::Region::nowhere;
  Fault fault{.kind = freed ? Fault::Kind::use_after_free : Fault::Kind::out_of_bounds,
              .message = fmt::format("{} {} bytes at 0x{:x}: {}", verb(kind), bytes, first, where)};
  fault.region = region;
  fault.address = first;
  fault.is_of_null = is_of_null;
  fault.pointer_at = pointer ? pointer->at : -1;
  const bool begins_inside = near && near->live && bad > first && bad == near->end();
  const std::uint64_t size = begins_inside ? near->end() - near->origin : 0;
  if (begins_inside && (size >= bytes || bytes > widest_number)) fault.region = Fault::Region::end_of_array;
  if (begins_inside && size < bytes) {
    fault.message = fmt::format("{} {} bytes from byte {} of {} on, which is shorter", verb(kind), bytes,
                                first - near->origin, near->label);
  } else if (begins_inside) {
    fault.message = fmt::format("{} {} bytes from byte {} of {} on, the last {} of them beyond its end",
                                verb(kind), bytes, first - near->origin, near->label, first + bytes - bad);
  } else if (near && near->live && where == describe(*near, bad))
    count_elements(*near, first, points_to_bytes(warp, pointer) ? 1 : bytes, kind, fault);
  refuse_access(warp, op, std::move(fault), lanes);
}

void refuse_misaligned(Warp& warp, const Operation* op, std::uint64_t address, unsigned width,
                       AccessKind kind, std::uint32_t lanes) {
  if (!is_told(warp, op)) return;
  refuse_access(warp, op,
                {.kind = Fault::Kind::misaligned,
                 .message = fmt::format("{} {} bytes at 0x{:x}, which is not a multiple of {}", verb(kind),
                                        width, address, width)},
                lanes);
}

// Variables do not become accessible with the rest: on an H200, a kernel's access to another device's
// variable ended with cudaErrorIllegalAddress while access was enabled.
bool is_out_of_reach(const Grid& grid, const Allocation& allocation, int owner) {
  const bool is_variable = allocation.kind == MemoryKind::variable || allocation.kind == MemoryKind::constant;
  if (allocation.pool) return !allocation.pool->allows(grid.device);
  return !grid.may_reach(owner) || (is_variable && owner != no_device && owner != grid.device);
}

void refuse_peer(Warp& warp, const Operation* op, const Allocation& allocation, int owner, AccessKind kind,
                 std::uint32_t lanes) {
  if (!is_told(warp, op)) return;
  const Grid& grid = warp.worker->grid;
  const bool is_variable = !allocation.pool && grid.may_reach(owner);
  refuse_access(warp, op,
                {.kind = allocation.pool ? Fault::Kind::peer_pool
                         : is_variable   ? Fault::Kind::peer_variable
                                         : Fault::Kind::peer_access,
                 .message = fmt::format("{} memory of device {} ({}) from device {}, {}", verb(kind), owner,
                                        allocation.label, grid.device,
                                        is_variable ? "which reaches no variable of another device"
                                                    : "which has not been given access to it")},
                lanes);
}

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

} // namespace

bool counts_bytes(const Warp& warp, const Operation& op) {
  return points_to_bytes(warp, pointer_argument(warp, &op));
}

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

// "partial", also for "_ZZ4treePKfE7partial".
std::string last_part(const std::string& mangled) {
  if (!mangled.starts_with("_Z")) return mangled; // the demangler would take `x` for a type
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 && text ? text : mangled;
  std::free(text);
  const std::size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

// Of one element, where a vector of them is accessed.
unsigned width_of_element(const Grid& grid, const Operation* op, unsigned width) {
  const std::string_view name = grid.code.names[op->index];
  const auto is = [name](std::string_view modifier) { return name.find(modifier) != name.npos; };
  constexpr unsigned word = 4;
  if (name.starts_with("cp.async.bulk")) return word; // it moves units of several elements
  return is(".v4.") ? width / 4 : is(".v2.") ? width / 2 : width;
}

// Names the variable that the access most likely means: the last one that begins before it.
void refuse_shared(Warp& warp, const Operation* op, std::uint64_t offset, unsigned width, AccessKind kind,
                   std::uint32_t lanes) {
  if (!is_told(warp, op)) return;
  const Grid& grid = warp.worker->grid;
  const std::uint64_t size = grid.shared_bytes();
  const Code::SharedName* found = nullptr;
  for (const Code::SharedName& variable : grid.code.shared_names)
    if (offset >= variable.offset && (!found || variable.offset >= found->offset)) found = &variable;
  const auto signed_offset = static_cast<std::int64_t>(offset);
  const std::string given = fmt::format("{} bytes of shared memory: {} declared, {} given at the launch",
                                        size, grid.code.static_shared, grid.shape.dynamic_shared);
  if (!found || signed_offset < 0) {
    return refuse_access(
        warp, op,
        {.kind = Fault::Kind::out_of_bounds,
         .message = fmt::format("{} {} bytes at offset {} of shared memory; the block has {}", verb(kind),
                                width, signed_offset, given),
         .region = Fault::Region::shared},
        lanes);
  }
  const std::uint64_t inside = offset - found->offset;
  const std::uint64_t bytes = found->size ? found->size : grid.shape.dynamic_shared;
  const bool missing = found->size == 0 && bytes == 0;
  const std::string name = last_part(found->name);
  const unsigned element = width_of_element(grid, op, width);
  const std::string what = inside % element ? fmt::format("byte {} of {}", inside, name)
                                            : fmt::format("{}[{}]", name, std::max(inside, bytes) / element);
  const std::string message =
      missing ? fmt::format("{} {}, but the launch gave no dynamic shared memory", verb(kind), what)
              : fmt::format("{} {}, past the end of its {} elements (the block has {})", verb(kind), what,
                            bytes / element, given);
  refuse_access(warp, op,
                {.kind = Fault::Kind::out_of_bounds,
                 .message = message,
                 .region = missing ? Fault::Region::missing_shared : Fault::Region::shared},
                lanes);
}

// An access to a block that the cluster does not have, or beyond a block's shared memory.
void refuse_in_cluster(Warp& warp, const Operation* op, std::uint64_t rank, std::uint64_t offset,
                       unsigned width, AccessKind kind, std::uint32_t lanes) {
  if (!is_told(warp, op)) return;
  const Grid& grid = warp.worker->grid;
  const std::uint32_t blocks = warp.block->cluster->size();
  Fault fault{.kind = Fault::Kind::out_of_bounds, .region = Fault::Region::other_block};
  if (rank >= blocks)
    fault.message =
        fmt::format("{} shared memory of the block of rank {}; its cluster has {} (rank 0{})", verb(kind),
                    rank, blocks == 1 ? "one block" : fmt::format("{} blocks", blocks),
                    blocks == 1 ? " only" : fmt::format(" to {}", blocks - 1));
  else
    fault.message = fmt::format(
        "{} {} bytes at offset {} of the shared memory of the block of rank {}, which has {} bytes",
        verb(kind), width, offset, rank, grid.shared_bytes());
  refuse_access(warp, op, std::move(fault), lanes);
}

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
    if (is_told(warp, op))
      refuse_access(warp, op,
                    {.kind = Fault::Kind::out_of_bounds,
                     .message = fmt::format("{} {} bytes at offset {} of its local memory, which ends at {}",
                                            verb(kind), width, static_cast<std::int64_t>(offset), stride),
                     .region = warp.worker->in_clusters && names_rank(offset) ? Fault::Region::local_by_rank
                                                                              : Fault::Region::local},
                    1u << lane);
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

namespace {

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
