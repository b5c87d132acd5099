// Asynchronous operations on the shared memory of a cluster (PTX ISA, "st.async", "red.async",
// "cp.async.bulk"): each writes, and its bytes then count at an mbarrier. They are done at once, which is one
// of the orders that PTX allows; the watcher learns of each write, and where it is waited for.
#include "async_cluster.hpp"

#include "lanes.hpp"
#include "mbarrier.hpp"

#include <fmt/format.h>

namespace warpfold::machine {

namespace {

void drop_windows(Request& request) {
  for (u64& address : request.address) address &= ~window_mask;
}

// The lanes' bytes have been written: they count at the barriers.
void complete(Warp& warp, const Operation* op, const Request& barriers, u32 bytes) {
  each_active(warp,
              [&](unsigned lane) { complete_bytes(warp, op, lane, barriers.address[lane], bytes, false); });
  warp.worker->refused_lanes = 0;
  if (Watcher* watcher = warp.worker->grid.watcher)
    watcher->completes(warp, *op, warp.mask, barriers.address);
}

// Words of the operation's list: the barrier's address (3), then the rows of the elements.
constexpr unsigned elements_at = 3;

template <typename T>
const Operation* store_async(Warp& warp, const Operation* op) {
  Request to, barriers = read_listed_address(warp, op, 0);
  read_addresses(warp, op, to);
  drop_windows(to), drop_windows(barriers);
  const std::uint32_t* rows = warp.worker->grid.code.lists.data() + op->list + elements_at;
  const unsigned bytes = op->e, count = bytes / sizeof(T);
  alignas(16) std::byte values[warp_lanes][widest_access];
  warp.changes = true;
  each_active(warp, [&](unsigned lane) {
    for (unsigned i = 0; i < count; ++i)
      std::memcpy(values[lane] + i * sizeof(T), &warp.row<T>(rows[i])[lane], sizeof(T));
  });
  std::byte* places[warp_lanes];
  each_active(warp, [&](unsigned lane) {
    places[lane] = shared_at(warp, op, to.address[lane], bytes, AccessKind::store, 1u << lane);
  });
  note_shared(warp, op, to, AccessKind::store, bytes, {values[0], widest_access});
  each_active(warp, [&](unsigned lane) { std::memcpy(places[lane], values[lane], bytes); });
  complete(warp, op, barriers, bytes);
  return op + 1;
}

enum class Reduction : std::uint8_t { add, least, most, both, either, exclusive, count_up, count_down };

template <typename T>
T reduced(Reduction what, T old, T value) {
  switch (what) {
  case Reduction::add:
    return old + value;
  case Reduction::least:
    return value < old ? value : old;
  case Reduction::most:
    return value > old ? value : old;
  case Reduction::both:
    return old & value;
  case Reduction::either:
    return old | value;
  case Reduction::exclusive:
    return old ^ value;
  case Reduction::count_up:
    return old >= value ? 0 : old + 1;
  case Reduction::count_down:
    return old == 0 || old > value ? value : old - 1;
  }
  return old;
}

template <typename T>
const Operation* reduce_async(Warp& warp, const Operation* op) {
  Request to, barriers = read_listed_address(warp, op, 0);
  read_addresses(warp, op, to);
  drop_windows(to), drop_windows(barriers);
  const auto what = static_cast<Reduction>(op->c);
  const T* value = warp.row<T>(op->b);
  warp.changes = true;
  each_active(warp, [&](unsigned lane) {
    std::byte* const place = shared_at(warp, op, to.address[lane], sizeof(T), AccessKind::atomic, 1u << lane);
    T old;
    std::memcpy(&old, place, sizeof old);
    old = reduced(what, old, value[lane]);
    std::memcpy(place, &old, sizeof old);
  });
  note_shared(warp, op, to, AccessKind::atomic, sizeof(T));
  complete(warp, op, barriers, sizeof(T));
  return op + 1;
}

// Reports a lane's copy in pieces as wide as an access may be.
void tell_copy(Warp& warp, const Operation* op, unsigned lane, u64 first, u32 bytes, ptx::Space space,
               AccessKind kind, bool remote) {
  if (!warp.worker->grid.watcher) return;
  constexpr u32 piece = 16;
  const u32 all = warp.mask;
  warp.set_mask(1u << lane);
  Request request;
  for (u32 done = 0; done < bytes; done += piece) {
    request.address[lane] = first + done;
    tell(warp, op, request, space, kind, piece, {}, remote);
  }
  warp.set_mask(all);
}

// [first, first + bytes) of one block's shared memory, or null where that has been refused.
std::byte* shared_range(Warp& warp, const Operation* op, unsigned lane, u64 first, u32 bytes,
                        AccessKind kind) {
  constexpr u32 unit = 16;
  const u32 refused = std::exchange(warp.worker->refused_lanes, 0);
  std::byte* const begin = shared_at(warp, op, first, unit, kind, 1u << lane);
  bool fits = warp.worker->refused_lanes == 0;
  if (fits) shared_at(warp, op, first + bytes - unit, unit, kind, 1u << lane);
  fits = warp.worker->refused_lanes == 0;
  warp.worker->refused_lanes = refused;
  return fits ? begin : nullptr;
}

struct BulkCopy {
  u64 from = 0, to = 0, barrier = 0;
  u32 bytes = 0;
  bool from_shared = false;
};

void copy_to_block(Warp& warp, const Operation* op, unsigned lane, const BulkCopy& copy,
                   const std::byte* from) {
  const bool remote = names_rank(copy.to) && named_rank(copy.to) != warp.block->rank;
  std::byte* const into = shared_range(warp, op, lane, copy.to, copy.bytes, AccessKind::store);
  if (into && from) {
    const u64 own = names_rank(copy.to) && !remote ? copy.to & cluster_offset_mask : copy.to;
    tell_copy(warp, op, lane, own, copy.bytes, ptx::Space::shared, AccessKind::store, remote);
    std::memmove(into, from, copy.bytes);
  }
  if (remote) {
    OperationCounters& counters = warp.counters[op->index];
    ++counters.dsmem_requests;
    counters.dsmem_bytes += copy.bytes;
  }
  complete_bytes(warp, op, lane, copy.barrier, copy.bytes, false);
  u64 barriers[warp_lanes] = {};
  barriers[lane] = copy.barrier;
  if (Watcher* watcher = warp.worker->grid.watcher) watcher->completes(warp, *op, 1u << lane, barriers);
}

const std::byte* source_of(Warp& warp, const Operation* op, unsigned lane, const BulkCopy& copy) {
  if (copy.from_shared) {
    const std::byte* const from = shared_range(warp, op, lane, copy.from, copy.bytes, AccessKind::load);
    if (from) tell_copy(warp, op, lane, copy.from, copy.bytes, ptx::Space::shared, AccessKind::load, false);
    return from;
  }
  OperationCounters& counters = warp.counters[op->index];
  ++counters.requests, ++counters.lanes;
  counters.bytes += copy.bytes;
  counters.sectors += contiguous_sectors(copy.from, copy.bytes);
  if (!check_global(warp, op, copy.from, copy.bytes, 16, AccessKind::load, 1u << lane)) return nullptr;
  tell_copy(warp, op, lane, copy.from, copy.bytes, ptx::Space::global, AccessKind::load, false);
  return reinterpret_cast<const std::byte*>(copy.from);
}

void set_target(Operation& op, const Decoder::Address& address, std::uint32_t list, unsigned bytes) {
  op.a = address.row;
  op.immediate = address.offset;
  op.width = static_cast<std::uint8_t>(address.width);
  op.list = list;
  op.e = bytes;
}

void need_completion(const ptx::Instruction& in, std::size_t operands) {
  if (!in.has("mbarrier::complete_tx::bytes") || in.operands.size() < operands) refuse(in);
}

} // namespace

// `b`: the row of the mask of blocks, for a copy to several; 0: to one. `e`: from shared memory.
const Operation* copy_bulk_in_cluster(Warp& warp, const Operation* op) {
  Request from, to = read_listed_address(warp, op, 0), barriers = read_listed_address(warp, op, 3);
  read_addresses(warp, op, from);
  drop_windows(to), drop_windows(barriers);
  if (op->e) drop_windows(from);
  const u32* size = warp.row<u32>(op->c);
  constexpr u32 unit = 16;
  const u32 ranks = warp.block->cluster->size();
  warp.changes = true;
  each_active(warp, [&](unsigned lane) {
    BulkCopy copy{from.address[lane], to.address[lane], barriers.address[lane], size[lane], op->e != 0};
    if (copy.bytes % unit)
      stop(warp, op, Fault::Kind::misaligned,
           fmt::format("copies {} bytes, which is not a multiple of {}", copy.bytes, unit), 1u << lane);
    if (copy.bytes == 0) return;
    const std::byte* const source = source_of(warp, op, lane, copy);
    if (!op->b) return copy_to_block(warp, op, lane, copy, source);
    const u32 mask = warp.row<u16>(op->b)[lane];
    if (mask >> ranks)
      stop(warp, op, Fault::Kind::invalid_instruction,
           fmt::format("copies to the blocks in the mask 0x{:x}, but its cluster has {} blocks", mask, ranks),
           1u << lane);
    for (u32 rank = 0; rank < ranks; ++rank) {
      if (!(mask >> rank & 1)) continue;
      BulkCopy part = copy;
      part.to = rank == warp.block->rank ? copy.to & cluster_offset_mask : cluster_address(rank, copy.to);
      part.barrier =
          rank == warp.block->rank ? copy.barrier & cluster_offset_mask : cluster_address(rank, copy.barrier);
      copy_to_block(warp, op, lane, part, source);
    }
  });
  warp.worker->refused_lanes = 0;
  return op + 1;
}

void decode_copy_to_several(Decoder& decoder, const ptx::Instruction& in) {
  if (!in.has("bulk") || !in.has("global") || in.has("tensor") || in.has("reduce")) refuse(in);
  need_completion(in, 5);
  std::vector<std::uint32_t> others;
  append_address(others, decoder.address(in.operands[0], ptx::Space::shared));
  append_address(others, decoder.address(in.operands[3], ptx::Space::shared));
  const Decoder::Address from = decoder.address(in.operands[1], ptx::Space::global);
  const std::uint32_t size = decoder.source(in.operands[2], ptx::Type::u32),
                      mask = decoder.source(in.operands[4], ptx::Type::u16), list = decoder.list(others);
  set_target(decoder.emit(copy_bulk_in_cluster, 0, 0, mask, size), from, list, 0);
}

void decode_store_async(Decoder& decoder, const ptx::Instruction& in) {
  need_completion(in, 3);
  const MemoryForm form = memory_form(in);
  const auto size = static_cast<unsigned>(ptx::size_of(form.type));
  if (size * form.elements > widest_access) refuse(in);
  Handler run = pick<u32, u64>(size == 4   ? ptx::Type::u32
                               : size == 8 ? ptx::Type::u64
                                           : ptx::Type::none,
                               []<typename T>(std::type_identity<T>) -> Handler { return store_async<T>; });
  need(run, in);
  std::vector<std::uint32_t> words;
  append_address(words, decoder.address(in.operands[2], ptx::Space::shared));
  if (form.elements == 1) {
    words.push_back(decoder.source(in.operands[1], form.type));
  } else {
    const auto& elements = decoder.elements(in.operands[1]);
    if (elements.size() != form.elements) refuse(in);
    for (const ptx::Operand& element : elements) words.push_back(decoder.source(element, form.type));
  }
  const Decoder::Address to = decoder.address(in.operands[0], ptx::Space::shared);
  const std::uint32_t list = decoder.list(words);
  set_target(decoder.emit(run), to, list, size * form.elements);
}

void decode_reduce_async(Decoder& decoder, const ptx::Instruction& in) {
  need_completion(in, 3);
  const ptx::Type type = type_modifier(in);
  constexpr std::pair<std::string_view, Reduction> names[] = {
      {"add", Reduction::add},      {"min", Reduction::least},      {"max", Reduction::most},
      {"and", Reduction::both},     {"or", Reduction::either},      {"xor", Reduction::exclusive},
      {"inc", Reduction::count_up}, {"dec", Reduction::count_down},
  };
  const auto* const found = std::ranges::find_if(names, [&](const auto& each) { return in.has(each.first); });
  Handler run =
      pick<u32, s32, u64>(type, []<typename T>(std::type_identity<T>) -> Handler { return reduce_async<T>; });
  if (found == std::end(names) || !run) refuse(in);
  std::vector<std::uint32_t> words;
  append_address(words, decoder.address(in.operands[2], ptx::Space::shared));
  const Decoder::Address to = decoder.address(in.operands[0], ptx::Space::shared);
  const std::uint32_t value = decoder.source(in.operands[1], type), list = decoder.list(words);
  Operation& op = decoder.emit(run, 0, 0, value, static_cast<std::uint32_t>(found->second));
  set_target(op, to, list, static_cast<unsigned>(ptx::size_of(type)));
  op.order = static_cast<std::uint8_t>(MemoryOrder::relaxed);
  op.scope = static_cast<std::uint8_t>(MemoryScope::cluster);
}

} // namespace warpfold::machine
