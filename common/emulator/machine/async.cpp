// Asynchronous copies (PTX ISA 9.7.9.25): done at once, which is one of the orders that they allow.
#include "memory.hpp"

namespace warpfold::machine {

namespace {

// cp.async.ca.shared.global [to], [from], size, bytes from the source; the rest is zeros.
const Operation* copy_to_shared(Warp& warp, const Operation* op) {
  Request from, to;
  read_addresses(warp, op, from);
  const std::uint32_t* second = warp.worker->grid.code.lists.data() + op->list; // row, width and offset of `to`
  Operation target = *op;
  target.a = second[0];
  target.width = static_cast<std::uint8_t>(second[1]);
  target.immediate = static_cast<std::int32_t>(second[2]);
  read_addresses(warp, &target, to);
  const u32* limit = warp.row<u32>(op->c);
  unsigned size = op->e;
  each_active(warp, [&](unsigned lane) {
    std::byte* into = shared_at(warp, op, to.address[lane] & ~window_mask, size, AccessKind::store, 1u << lane);
    unsigned bytes = std::min(limit[lane], size);
    std::memset(into, 0, size);
    if (bytes == 0) return;
    std::memcpy(into, global_at(warp, op, from.address[lane], bytes, size, AccessKind::load, lane), bytes);
  });
  count_global(warp, op, from, size);
  tell(warp, op, from, ptx::Space::global, AccessKind::load, size);
  tell(warp, op, to, ptx::Space::shared, AccessKind::store, size);
  return op + 1;
}

const Operation* nothing(Warp&, const Operation* op) { return op + 1; }

void decode_cp(Decoder& decoder, const ptx::Instruction& in) {
  if (!in.has("async") || in.has("bulk") || in.has("mbarrier") || in.has("reduce")) refuse(in);
  if (in.has("commit_group") || in.has("wait_group") || in.has("wait_all")) {
    decoder.emit(nothing);
    return;
  }
  auto* size = in.operands.size() >= 3 ? std::get_if<ptx::Immediate>(&in.operands[2].value) : nullptr;
  if (!size) refuse(in);
  Decoder::Address to = decoder.address(in.operands[0], ptx::Space::shared);
  Decoder::Address from = decoder.address(in.operands[1], ptx::Space::global);
  std::uint32_t limit = in.operands.size() > 3 ? decoder.source(in.operands[3], ptx::Type::u32) : decoder.constant(size->bits, 4);
  const std::uint32_t second[] = {to.row, to.width, static_cast<std::uint32_t>(to.offset)};
  std::uint32_t list = decoder.list(second);
  Operation& op = decoder.emit(copy_to_shared, 0, from.row, 0, limit);
  op.immediate = from.offset;
  op.width = static_cast<std::uint8_t>(from.width);
  op.e = static_cast<std::uint32_t>(size->bits);
  op.list = list;
}

constexpr Opcode opcodes[] = {{"cp", decode_cp}};

} // namespace

std::span<const Opcode> async_opcodes() { return opcodes; }

} // namespace warpfold::machine
