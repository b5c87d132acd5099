// Asynchronous copies (PTX ISA 9.7.9.25). They are done at once, which is one of the orders that PTX allows.
// The watcher learns when they may have begun and when they must be complete.
#include "async_cluster.hpp"
#include "bulk.hpp"
#include "lanes.hpp"
#include "mbarrier.hpp"

#include <fmt/format.h>

namespace warpfold::machine {

namespace {

// cp.async.ca.shared.global [to], [from], size, bytes from the source; the rest is filled with zeros.
const Operation* copy_to_shared(Warp& warp, const Operation* op) {
  Request from, to = read_listed_address(warp, op, 0);
  read_addresses(warp, op, from);
  const u32* limit = warp.row<u32>(op->c);
  unsigned size = op->e;
  warp.changes = true;
  each_active(warp, [&](unsigned lane) {
    std::byte* into =
        shared_at(warp, op, to.address[lane] & ~window_mask, size, AccessKind::store, 1u << lane);
    unsigned bytes = std::min(limit[lane], size);
    std::memset(into, 0, size);
    if (bytes == 0) return;
    std::memcpy(into, global_at(warp, op, from.address[lane], bytes, size, AccessKind::load, lane), bytes);
  });
  count_global(warp, op, from, size, AccessKind::load);
  const u32 refused = warp.worker->refused_lanes; // at either end: neither access happened
  tell(warp, op, from, ptx::Space::global, AccessKind::load, size);
  warp.worker->refused_lanes = refused;
  tell(warp, op, to, ptx::Space::shared, AccessKind::store, size);
  if (Watcher* watcher = warp.worker->grid.watcher) {
    std::uint64_t offsets[warp_lanes];
    each_active(warp, [&](unsigned lane) { offsets[lane] = to.address[lane] & ~window_mask; });
    watcher->copy_begins(warp, *op, offsets, size);
  }
  return op + 1;
}

// cp.async.mbarrier.arrive.noinc: the copies before it are complete, so it is an arrival. Without .noinc, it
// also adds the arrival that it then makes to the barrier's count.
const Operation* arrive_after_copies(Warp& warp, const Operation* op) {
  Request request;
  read_addresses(warp, op, request);
  each_active(warp, [&](unsigned lane) { arrive_at_mbarrier(warp, op, lane, request.address[lane]); });
  warp.worker->refused_lanes = 0;
  if (Watcher* watcher = warp.worker->grid.watcher) watcher->copies_waited_for(warp, Watcher::all_copies);
  return op + 1;
}

const Operation* commit_copies(Warp& warp, const Operation* op) {
  if (Watcher* watcher = warp.worker->grid.watcher) watcher->copies_committed(warp);
  return op + 1;
}

// Waits for all groups except the last `e`. A thread that waits at an mbarrier also waits for the copies that
// the mbarrier tracks; they count as complete from that point on.
const Operation* wait_for_copies(Warp& warp, const Operation* op) {
  if (Watcher* watcher = warp.worker->grid.watcher) watcher->copies_waited_for(warp, op->e);
  return op + 1;
}

void set_source(Operation& op, const Decoder::Address& from, std::uint32_t list) {
  op.a = from.row;
  op.immediate = from.offset;
  op.width = static_cast<std::uint8_t>(from.width);
  op.list = list;
}

void decode_cp(Decoder& decoder, const ptx::Instruction& in) {
  if (!in.has("async")) refuse(in);
  if (in.has("reduce")) return decode_bulk_reduction(decoder, in);
  if (in.has("multicast::cluster")) return decode_copy_to_several(decoder, in);
  if (in.has("bulk")) return decode_bulk_copy(decoder, in);
  if (in.has("commit_group")) return void(decoder.emit(commit_copies));
  if (in.has("wait_group")) {
    const auto* left = in.operands.size() == 1 ? std::get_if<ptx::Immediate>(&in.operands[0].value) : nullptr;
    if (!left) refuse(in);
    decoder.emit(wait_for_copies).e = static_cast<u32>(left->bits);
    return;
  }
  if (in.has("wait_all")) {
    decoder.emit(wait_for_copies).e = Watcher::all_copies;
    return;
  }
  if (in.has("mbarrier")) {
    if (!in.has("noinc")) {
      decoder.emit(wait_for_copies).e = Watcher::all_copies;
      return;
    }
    Decoder::Address barrier = decoder.address(in.operands.at(0), ptx::Space::shared);
    set_source(decoder.emit(arrive_after_copies), barrier, 0);
    return;
  }
  auto* size = in.operands.size() >= 3 ? std::get_if<ptx::Immediate>(&in.operands[2].value) : nullptr;
  if (!size || (size->bits != 4 && size->bits != 8 && size->bits != 16))
    refuse(in, "4, 8 or 16 bytes are copied at once");
  std::vector<std::uint32_t> to;
  append_address(to, decoder.address(in.operands[0], ptx::Space::shared));
  Decoder::Address from = decoder.address(in.operands[1], ptx::Space::global);
  std::uint32_t limit = in.operands.size() > 3 ? decoder.source(in.operands[3], ptx::Type::u32)
                                               : decoder.constant(size->bits, 4);
  std::uint32_t list = decoder.list(to);
  Operation& op = decoder.emit(copy_to_shared, 0, 0, 0, limit);
  set_source(op, from, list);
  op.e = static_cast<std::uint32_t>(size->bits);
}

constexpr Opcode opcodes[] = {{"cp", decode_cp, Work::load}};

} // namespace

std::span<const Opcode> async_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
