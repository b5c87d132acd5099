// Registers that a kernel may read before anything was put into them. On a GPU such a register holds what
// another thread left there. So it does here: its bits are such that a float is no number and an index leads
// nowhere, and nothing is right by luck.
#include "../decoder.hpp"

#include <algorithm>

namespace warpfold::machine {

// The register of row `a`, `e` bytes a lane, holds anything; the lanes of row `d` have set it: none of these.
const Operation* forget_register(Warp& warp, const Operation* op) {
  constexpr u64 leftovers = 0x7fbadbad7fbadbadull;
  *warp.row<u32>(op->d) &= ~warp.mask;
  u8* const bytes = warp.row<u8>(op->a);
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    if (warp.mask >> lane & 1) {
      for (unsigned byte = 0; byte < op->e; ++byte)
        bytes[lane * op->e + byte] = static_cast<u8>(leftovers >> 8 * (byte % 8));
    }
  }
  return op + 1;
}

const Operation* check_set(Warp& warp, const Operation* op) {
  const u32 unset = warp.mask & ~*warp.row<u32>(op->d);
  if (unset && warp.watched) {
    warp.worker->grid.watcher->notice(warp, *op, Notice::reads_unset_register, unset, nullptr);
  }
  return op + 1;
}

const Operation* note_set(Warp& warp, const Operation* op) {
  *warp.row<u32>(op->d) |= warp.mask;
  return op + 1;
}

void Decoder::emit_forget_registers() {
  for (const auto& [index, row] : set_rows_) {
    Operation& op = emit(forget_register, row, register_row(index));
    op.e = register_width(register_type(index));
  }
}

void Decoder::emit_check_set(const ptx::Instruction& instruction) {
  // What a value is copied from, or chosen from, matters only where the copy is used.
  if (set_rows_.empty() || instruction.opcode == "mov" || instruction.opcode == "selp") return;
  for (const std::uint32_t index : ptx::registers_of(instruction).read) {
    if (const auto found = set_rows_.find(index); found != set_rows_.end()) emit(check_set, found->second);
  }
}

void Decoder::emit_set(const ptx::Instruction& instruction) {
  if (set_rows_.empty() || instruction.opcode == "bra" || instruction.opcode == "brx") return;
  for (const std::uint32_t index : ptx::registers_of(instruction).written) {
    if (const auto found = set_rows_.find(index); found != set_rows_.end()) emit(note_set, found->second);
  }
}

} // namespace warpfold::machine
