// Bulk asynchronous copies (PTX ISA 9.7.9.25.4 and 9.7.9.25.5), usually executed by one lane. They are done
// at once, which is one of the orders that PTX allows. The watcher sees what they read and write as an
// access of the lane that starts them, when they may have begun, and what says that they are complete: the
// phase of an mbarrier, or a wait for their group.
#include "bulk.hpp"

#include "async_cluster.hpp"
#include "half.hpp"
#include "lanes.hpp"
#include "mbarrier.hpp"

#include "machine/access.hpp"

#include <atomic>
#include <fmt/format.h>

namespace warpfold::machine {

namespace {

// Sizes and addresses are multiples of this many bytes.
constexpr u32 unit = 16;

// Where a lane's copy leads: offsets in shared memory, addresses in global memory.
struct End {
  ptx::Space space{};
  std::uint64_t address = 0;
};

std::uint64_t offset_in_shared(std::uint64_t address) {
  return address & ~window_mask;
}

// Whether a lane's copy consists of whole units; if not, it is reported and does not happen.
bool is_in_units(const Warp& warp, const Operation* op, unsigned lane, const End& from, const End& to,
                 u32 bytes) {
  const auto refuse_it = [&](const std::string& message) {
    refuse_access(warp, op, {.kind = Fault::Kind::bulk_units, .message = message}, 1u << lane);
    return false;
  };
  if (bytes % unit != 0)
    return refuse_it(fmt::format("copies {} bytes, which is not a multiple of {}", bytes, unit));
  for (const End* end : {&from, &to})
    if (end->address % unit != 0)
      return refuse_it(fmt::format(
          "copies {} {}, which is not a multiple of {}", end == &from ? "from" : "to",
          end->space == ptx::Space::global ? fmt::format("0x{:x}", end->address)
                                           : fmt::format("byte {} of shared memory", end->address),
          unit));
  return true;
}

// The host address of all of the bytes; null if some are not there, which has then been reported.
std::byte* bytes_at(Warp& warp, const Operation* op, const End& end, u32 bytes, AccessKind kind,
                    unsigned lane) {
  const std::uint32_t lanes = 1u << lane;
  if (end.space == ptx::Space::global) {
    const bool there = check_global(warp, op, end.address, bytes, unit, kind, lanes);
    return there ? reinterpret_cast<std::byte*>(end.address) : nullptr;
  }
  // The first place beyond the end is named.
  const std::uint64_t all = warp.worker->grid.shared_bytes();
  const std::uint64_t fitting =
      end.address < all ? std::min<std::uint64_t>(bytes, (all - end.address) / unit * unit) : 0;
  std::byte* const first =
      shared_at(warp, op, fitting < bytes ? end.address + fitting : end.address, unit, kind, lanes);
  return fitting == bytes && end.address % unit == 0 ? first : nullptr;
}

// Tells the watcher of the lane's access to bytes in a row. `width`: of what it accesses as a whole.
void tell_lane(Warp& warp, const Operation* op, const End& end, AccessKind kind, unsigned lane, u32 width,
               const std::byte* values = nullptr) {
  Watcher* const watcher = warp.worker->grid.watcher;
  if (!watcher) return;
  std::uint64_t addresses[warp_lanes] = {};
  addresses[lane] = end.address;
  const bool is_atomic = kind == AccessKind::atomic;
  watcher->access({.warp = warp,
                   .operation = *op,
                   .space = end.space,
                   .kind = kind,
                   .order = is_atomic ? MemoryOrder::relaxed : MemoryOrder::weak,
                   .scope = is_atomic ? MemoryScope::device : MemoryScope::block,
                   .mask = 1u << lane,
                   .width = width,
                   .addresses = addresses,
                   .values = values});
}

void count_transfer(Warp& warp, const Operation* op, unsigned lane, const End& from, const End& to,
                    u32 bytes) {
  OperationCounters& counters = warp.counters[op->index];
  ++counters.lanes;
  const bool loads = from.space == ptx::Space::global;
  if (!loads && to.space != ptx::Space::global) return;
  counters.bytes += bytes;
  const std::uint64_t address = loads ? from.address : to.address;
  if (bytes != 0) counters.sectors += contiguous_sectors(address, bytes);
  if (!loads || bytes == 0) return;
  warp.from_global.by_some += bytes;
  warp.from_global.by_lane[lane] += bytes;
  warp.from_global.reach(address, bytes);
}

// What Operation::scope holds: the spaces of both ends.
enum class Route : std::uint8_t { global_to_shared, shared_to_shared, shared_to_global };
Route route_of(const Operation* op) {
  return static_cast<Route>(op->scope);
}

Request in_shared_window(Request request) {
  for (std::uint64_t& address : request.address) address = offset_in_shared(address);
  return request;
}

// Visits each lane's copy. `perform(lane, from, to, bytes, source, destination)` moves the bytes.
template <typename Perform>
void transfer(Warp& warp, const Operation* op, Perform perform) {
  const Route route = route_of(op);
  const bool completes = route != Route::shared_to_global; // at an mbarrier
  Request from, to = read_listed_address(warp, op, 0);
  Request barrier = completes ? read_listed_address(warp, op, 3) : to;
  read_addresses(warp, op, from);
  // So does an H100; PTX does not say it.
  if (route == Route::shared_to_shared && !warp.worker->grid.shape.explicit_cluster)
    stop(warp, op, Fault::Kind::invalid_instruction,
         "copies within shared memory, for which a kernel must be launched with a cluster size, be it 1");
  const u32* size = warp.row<u32>(op->c);
  ++warp.counters[op->index].requests;
  warp.changes = true;
  each_active(warp, [&](unsigned lane) {
    const u32 bytes = size[lane];
    const bool loads = route == Route::global_to_shared, stores = route == Route::shared_to_global;
    const End source{loads ? ptx::Space::global : ptx::Space::shared,
                     loads ? from.address[lane] : offset_in_shared(from.address[lane])};
    const End target{stores ? ptx::Space::global : ptx::Space::shared,
                     stores ? to.address[lane] : offset_in_shared(to.address[lane])};
    count_transfer(warp, op, lane, source, target, bytes);
    Watcher* const watcher = warp.worker->grid.watcher;
    const std::uint64_t barrier_at = completes ? offset_in_shared(barrier.address[lane]) : 0;
    if (is_in_units(warp, op, lane, source, target, bytes) && bytes != 0) {
      const std::byte* const read = bytes_at(warp, op, source, bytes, AccessKind::load, lane);
      std::byte* const written = bytes_at(warp, op, target, bytes, AccessKind::store, lane);
      if (read && written) {
        tell_lane(warp, op, source, AccessKind::load, lane, bytes);
        if (watcher && !loads) watcher->bulk_read_begins(warp, *op, lane, source.address, bytes, stores);
        perform(lane, target, bytes, read, written);
        if (watcher && !stores)
          watcher->bulk_write_begins(warp, *op, lane, target.address, bytes, barrier_at,
                                     phase_of(warp, op, lane, barrier_at));
      }
    }
    if (completes) complete_bytes(warp, op, lane, barrier_at, bytes);
    warp.worker->refused_lanes = 0;
  });
}

const Operation* copy_in_bulk(Warp& warp, const Operation* op) {
  if (warp.worker->in_clusters && route_of(op) != Route::shared_to_global &&
      names_ranks(warp, in_shared_window(read_listed_address(warp, op, 0))))
    return copy_bulk_in_cluster(warp, op);
  transfer(warp, op, [&](unsigned lane, const End& target, u32 bytes, const std::byte* from, std::byte* to) {
    tell_lane(warp, op, target, AccessKind::store, lane, bytes, from);
    std::memmove(to, from, bytes);
  });
  return op + 1;
}

// The value at `place` becomes combine(old, value). Other blocks may do the same at this time.
template <typename T, auto Combine>
void combine_at(std::byte* place, const std::byte* with) {
  using Bits = std::conditional_t<sizeof(T) == 2, u16, std::conditional_t<sizeof(T) == 4, u32, u64>>;
  T value;
  std::memcpy(&value, with, sizeof value);
  std::atomic_ref<Bits> word(*reinterpret_cast<Bits*>(place));
  Bits seen = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(
      seen, std::bit_cast<Bits>(static_cast<T>(Combine(std::bit_cast<T>(seen), value))))) {
  }
}

template <typename T, auto Combine>
const Operation* reduce_in_bulk(Warp& warp, const Operation* op) {
  transfer(warp, op, [&](unsigned lane, const End& target, u32 bytes, const std::byte* from, std::byte* to) {
    for (u32 at = 0; at < bytes; at += sizeof(T)) {
      tell_lane(warp, op, {target.space, target.address + at}, AccessKind::atomic, lane, sizeof(T));
      combine_at<T, Combine>(to + at, from + at);
    }
  });
  return op + 1;
}

constexpr auto sum = [](auto old, auto value) {
  if constexpr (requires { old + value; })
    return old + value;
  else
    return decltype(old)(double(old) + double(value));
};
template <typename T>
auto comparable(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return value;
  else
    return double(value);
}
constexpr auto least = [](auto old, auto value) { return comparable(value) < comparable(old) ? value : old; };
constexpr auto most = [](auto old, auto value) { return comparable(value) > comparable(old) ? value : old; };
constexpr auto both = [](auto old, auto value) { return old & value; };
constexpr auto either = [](auto old, auto value) { return old | value; };
constexpr auto exclusive = [](auto old, auto value) { return old ^ value; };
constexpr auto count_up = [](u32 old, u32 limit) { return old >= limit ? 0u : old + 1; };
constexpr auto count_down = [](u32 old, u32 limit) { return old == 0 || old > limit ? limit : old - 1; };

template <auto Combine, typename... T>
Handler pick_reduction(ptx::Type type) {
  return pick<T...>(type,
                    []<typename U>(std::type_identity<U>) -> Handler { return reduce_in_bulk<U, Combine>; });
}
template <auto Combine>
Handler pick_half_reduction(ptx::Type type) {
  if (type == ptx::Type::f16) return reduce_in_bulk<Half, Combine>;
  if (type == ptx::Type::bf16) return reduce_in_bulk<BFloat, Combine>;
  return nullptr;
}
template <auto Combine>
Handler pick_comparison(ptx::Type type) {
  const Handler whole = pick_reduction<Combine, u32, s32, u64, s64>(type);
  return whole ? whole : pick_half_reduction<Combine>(type);
}

Handler reduction_of(const ptx::Instruction& in, ptx::Type type) {
  if (in.has("add")) {
    const Handler plain = pick_reduction<sum, u32, s32, u64, s64, float, double>(type);
    return plain ? plain : pick_half_reduction<sum>(type);
  }
  if (in.has("min")) return pick_comparison<least>(type);
  if (in.has("max")) return pick_comparison<most>(type);
  if (in.has("and")) return pick_reduction<both, u32, u64>(type);
  if (in.has("or")) return pick_reduction<either, u32, u64>(type);
  if (in.has("xor")) return pick_reduction<exclusive, u32, u64>(type);
  if (in.has("inc")) return pick_reduction<count_up, u32>(type);
  if (in.has("dec")) return pick_reduction<count_down, u32>(type);
  return nullptr;
}

const Operation* commit_bulk(Warp& warp, const Operation* op) {
  warp.has_bulk_groups |= warp.mask;
  if (Watcher* watcher = warp.worker->grid.watcher) watcher->bulk_committed(warp);
  return op + 1;
}
const Operation* wait_for_bulk(Warp& warp, const Operation* op) {
  warp.counters[op->index].lanes += static_cast<u64>(std::popcount(warp.has_bulk_groups & warp.mask));
  if (Watcher* watcher = warp.worker->grid.watcher) watcher->bulk_waited_for(warp, op->e);
  return op + 1;
}

// The destination and the source are the first two spaces of the name, in this order.
Route route_from(const ptx::Instruction& in) {
  std::vector<std::string_view> spaces;
  for (const std::string_view modifier : in.modifiers)
    if (modifier == "global" || modifier.starts_with("shared::")) spaces.push_back(modifier);
  if (spaces.size() != 2) refuse(in);
  const bool to_global = spaces[0] == "global", from_global = spaces[1] == "global";
  if (to_global == from_global && to_global) refuse(in);
  const Route route = to_global     ? Route::shared_to_global
                      : from_global ? Route::global_to_shared
                                    : Route::shared_to_shared;
  if (in.has("bulk_group") != (route == Route::shared_to_global) ||
      in.has("mbarrier::complete_tx::bytes") == (route == Route::shared_to_global))
    refuse(in, "copies to global memory complete by groups, all others at an mbarrier");
  return route;
}

void emit_transfer(Decoder& decoder, const ptx::Instruction& in, Handler run, Work work) {
  if (in.has("tensor") || in.has("multicast::cluster") || in.has("cp_mask")) refuse(in);
  const Route route = route_from(in);
  const bool stores = route == Route::shared_to_global;
  if (in.operands.size() < (stores ? 3u : 4u)) refuse(in);
  std::vector<std::uint32_t> others;
  append_address(others, decoder.address(in.operands[0], stores ? ptx::Space::global : ptx::Space::shared));
  if (!stores) append_address(others, decoder.address(in.operands[3], ptx::Space::shared));
  const Decoder::Address from = decoder.address(
      in.operands[1], route == Route::global_to_shared ? ptx::Space::global : ptx::Space::shared);
  const std::uint32_t size = decoder.source(in.operands[2], ptx::Type::u32), list = decoder.list(others);
  Operation& op = decoder.emit(run, 0, 0, 0, size);
  op.a = from.row, op.immediate = from.offset, op.width = static_cast<std::uint8_t>(from.width);
  op.list = list;
  op.scope = static_cast<std::uint8_t>(route);
  op.e = route == Route::shared_to_shared;
  decoder.code().facts[op.index].work = work;
}

} // namespace

void decode_bulk_copy(Decoder& decoder, const ptx::Instruction& in) {
  if (in.has("commit_group")) return void(decoder.emit(commit_bulk));
  if (in.has("wait_group")) {
    const auto* left = in.operands.size() == 1 ? std::get_if<ptx::Immediate>(&in.operands[0].value) : nullptr;
    if (!left) refuse(in);
    decoder.emit(wait_for_bulk).e = static_cast<u32>(left->bits);
    return;
  }
  if (in.has("prefetch")) { // it changes nothing but the caches
    if (in.has("tensor")) refuse(in);
    decoder.emit([](Warp&, const Operation* op) { return op + 1; });
    return;
  }
  const bool stores = in.has("bulk_group");
  emit_transfer(decoder, in, copy_in_bulk, stores ? Work::store : Work::load);
}

void decode_bulk_reduction(Decoder& decoder, const ptx::Instruction& in) {
  emit_transfer(decoder, in, need(reduction_of(in, type_modifier(in)), in), Work::atomic);
}

} // namespace warpfold::machine
