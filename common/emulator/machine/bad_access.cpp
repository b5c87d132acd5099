// What is said of a bad access: which array or variable it was meant for, and where beside it the address
// lies.
#include "bad_access.hpp"

#include "demangled.hpp"

#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <vector>

namespace warpfold::machine {

// Composing a message takes long. Each bad access also counts as many instructions, and takes as much of the
// warp's time slice, so a thread that keeps making them is stopped no later than others.
bool is_reported(Warp& warp, const Operation* op) {
  constexpr std::uint32_t reported = 64, of_a_slice = 64;
  warp.block->steps += 1024;
  if (warp.slice > of_a_slice) warp.slice -= of_a_slice;
  return ++warp.worker->refusals[op->index] <= reported;
}

namespace {

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

} // namespace

void refuse_global(Warp& warp, const Operation* op, std::uint64_t first, std::uint64_t bytes, AccessKind kind,
                   std::uint32_t lanes) {
  if (!is_reported(warp, op)) return;
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
  if (!is_reported(warp, op)) return;
  refuse_access(warp, op,
                {.kind = Fault::Kind::misaligned,
                 .message = fmt::format("{} {} bytes at 0x{:x}, which is not a multiple of {}", verb(kind),
                                        width, address, width)},
                lanes);
}

void refuse_peer(Warp& warp, const Operation* op, const Allocation& allocation, int owner, AccessKind kind,
                 std::uint32_t lanes) {
  if (!is_reported(warp, op)) return;
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

bool counts_bytes(const Warp& warp, const Operation& op) {
  return points_to_bytes(warp, pointer_argument(warp, &op));
}

namespace {

// Of one element, where a vector of them is accessed.
unsigned width_of_element(const Grid& grid, const Operation* op, unsigned width) {
  const std::string_view name = grid.code.names[op->index];
  const auto is = [name](std::string_view modifier) { return name.find(modifier) != name.npos; };
  constexpr unsigned word = 4;
  if (name.starts_with("cp.async.bulk")) return word; // it moves units of several elements
  return is(".v4.") ? width / 4 : is(".v2.") ? width / 2 : width;
}

} // namespace

// Names the variable that the access most likely means: the last one that begins before it.
void refuse_shared(Warp& warp, const Operation* op, std::uint64_t offset, unsigned width, AccessKind kind,
                   std::uint32_t lanes) {
  if (!is_reported(warp, op)) return;
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

void refuse_in_cluster(Warp& warp, const Operation* op, std::uint64_t rank, std::uint64_t offset,
                       unsigned width, AccessKind kind, std::uint32_t lanes) {
  if (!is_reported(warp, op)) return;
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

void refuse_local(Warp& warp, const Operation* op, std::uint64_t offset, unsigned width, AccessKind kind,
                  std::uint32_t lanes) {
  if (!is_reported(warp, op)) return;
  refuse_access(
      warp, op,
      {.kind = Fault::Kind::out_of_bounds,
       .message = fmt::format("{} {} bytes at offset {} of its local memory, which ends at {}", verb(kind),
                              width, static_cast<std::int64_t>(offset), warp.worker->local_stride),
       .region = warp.worker->in_clusters && names_rank(offset) ? Fault::Region::local_by_rank
                                                                : Fault::Region::local},
      lanes);
}

} // namespace warpfold::machine
