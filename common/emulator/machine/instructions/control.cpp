// Control flow (PTX ISA 9.7.12): branches, calls, exits, and what the decoder adds by itself: block leaders
// and guards.
#include "lanes.hpp"

#include "machine/access.hpp"
#include "machine/builtins.hpp"
#include "machine/device_runtime.hpp"

#include <fmt/format.h>

namespace warpfold::machine {

// Begins a basic block: diverged lanes may reconverge here, and each entry into the block is counted here.
const Operation* lead_block(Warp& warp, const Operation* op) {
  if (warp.reconvergence_at == op) [[unlikely]]
    return warp.arrive();
  OperationCounters& counters = warp.counters[op->index];
  ++counters.warps;
  counters.threads += static_cast<unsigned>(std::popcount(warp.mask));
  return op + 1;
}

const Operation* guard(Warp& warp, const Operation* op) {
  u32 all = warp.mask, active = all & (*warp.row<u32>(op->guard) ^ (op->guard_negated ? all_lanes : 0));
  if (active == 0) return op + 1;
  if (active == all) return op->guarded(warp, op);
  warp.set_mask(active);
  const Operation* next = op->guarded(warp, op);
  warp.set_mask(all);
  return next;
}

namespace {

u32 guard_mask(Warp& warp, const Operation* op) {
  return warp.mask & (*warp.row<u32>(op->guard) ^ (op->guard_negated ? all_lanes : 0));
}

const Operation* go_to(Warp& warp, const Operation* op, const Operation* target) {
  if (target > op) return target;
  return --warp.slice == 0 ? warp.slice_over(target) : target;
}

// A branch leads to the leader of a basic block. If no lanes reconverge there, the leader's work is done
// here, which saves a step.
inline const Operation* enter(Warp& warp, const Operation* leader) {
  if (warp.reconvergence_at == leader) return leader;
  return lead_block(warp, leader);
}

const Operation* branch(Warp& warp, const Operation* op) {
  return go_to(warp, op, op->target);
}

const Operation* branch_if(Warp& warp, const Operation* op) {
  u32 taken = guard_mask(warp, op);
  OperationCounters& counters = warp.counters[op->index];
  ++counters.requests;
  if (taken == 0) return enter(warp, op + 1);
  if (taken == warp.mask) {
    const Operation* next = go_to(warp, op, op->target);
    return next ? enter(warp, next) : next;
  }
  ++counters.divergent;
  const Operation* next = warp.diverge(op->target, taken, op + 1, op->reconvergence);
  return next && next <= op ? go_to(warp, op, next) : next;
}

void decode_bra(Decoder& decoder, const ptx::Instruction& in) {
  auto* label = in.operands.empty() ? nullptr : std::get_if<ptx::LabelOperand>(&in.operands[0].value);
  if (!label) refuse(in);
  bool conditional = in.guard.predicate >= 0;
  std::uint32_t predicate = conditional ? decoder.row_of_guard(in) : 0;
  Operation& op = decoder.emit(conditional ? branch_if : branch);
  op.guard = predicate;
  op.guard_negated = in.guard.negated;
  decoder.set_target(op, label->target);
  if (conditional) decoder.set_reconvergence(op);
}

// Lanes with the same index jump together; the others come back to this operation.
const Operation* branch_by_index(Warp& warp, const Operation* op) {
  const u32* index = warp.row<u32>(op->a);
  u32 first = index[std::countr_zero(warp.mask)], together = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    together |= static_cast<u32>(index[lane] == first) << lane;
  together &= warp.mask;
  if (first >= op->e)
    stop(warp, op, Fault::Kind::invalid_instruction, "jumps through a table with an index beyond its end",
         together);
  const Code& code = warp.worker->grid.code;
  const Operation* target = code.operations.data() + code.lists[op->list + first];
  ++warp.counters[op->index].requests;
  if (together == warp.mask) return go_to(warp, op, target);
  ++warp.counters[op->index].divergent;
  return warp.diverge(op, warp.mask & ~together, target, op->reconvergence);
}

void decode_brx(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 2);
  std::vector<std::uint32_t> targets;
  for (const ptx::Operand& element : decoder.elements(in.operands[1]))
    if (auto* label = std::get_if<ptx::LabelOperand>(&element.value))
      targets.push_back(label->target);
    else
      refuse(in, "a label is expected here");
  Operation& op = decoder.emit(branch_by_index, 0, decoder.source(in.operands[0], ptx::Type::u32));
  decoder.set_jump_table(op, targets);
  decoder.set_reconvergence(op);
}

const Operation* exit_kernel(Warp& warp, const Operation* op) {
  return warp.leave(warp.mask, op + 1);
}

const Operation* trap(Warp& warp, const Operation* op) {
  stop(warp, op, Fault::Kind::trap, "executes trap: the kernel stops itself here", warp.mask);
}

void decode_ret(Decoder& decoder, const ptx::Instruction&) {
  decoder.emit(leave_function);
}
void decode_exit(Decoder& decoder, const ptx::Instruction&) {
  decoder.emit(exit_kernel);
}
void decode_trap(Decoder& decoder, const ptx::Instruction&) {
  decoder.emit(trap);
}

const Operation* call_function(Warp& warp, const Operation* op) {
  return warp.call(op, static_cast<std::uint32_t>(op->immediate));
}

// Lanes that call the same function go together; the others come back here for their own calls.
const Operation* call_address(Warp& warp, const Operation* op) {
  const u64* address = warp.row<u64>(op->a);
  u64 first = address[std::countr_zero(warp.mask)];
  u32 together = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    together |= static_cast<u32>(address[lane] == first) << lane;
  together &= warp.mask;
  const Code& code = warp.worker->grid.code;
  u64 function = first & ~window_mask;
  if ((first & window_mask) != function_window || function >= code.frame_of_function.size() ||
      code.frame_of_function[function] < 0)
    stop(warp, op, Fault::Kind::invalid_instruction,
         fmt::format("calls 0x{:x}, which is not a function", first), together);
  if (together != warp.mask) warp.diverge(op, warp.mask & ~together, nullptr, op->reconvergence);
  return warp.call(op, static_cast<std::uint32_t>(code.frame_of_function[function]));
}

std::uint32_t list_slots(Decoder& decoder, const ptx::Instruction& in) {
  std::vector<std::uint32_t> words;
  auto add = [&](const ptx::Operand& operands) {
    const auto& elements = decoder.elements(operands);
    words.push_back(static_cast<std::uint32_t>(elements.size()));
    for (const ptx::Operand& element : elements) {
      Frame::Slot slot = decoder.slot(element);
      words.push_back(slot.row);
      words.push_back(slot.width);
    }
  };
  add(in.operands.at(2));
  add(in.operands.at(0));
  return decoder.list(words);
}

void decode_call(Decoder& decoder, const ptx::Instruction& in) {
  if (in.operands.size() < 3) refuse(in);
  std::uint32_t slots = list_slots(decoder, in);
  if (auto* symbol = std::get_if<ptx::SymbolOperand>(&in.operands[1].value)) {
    if (symbol->symbol.scope != ptx::Symbol::Scope::function) refuse(in, "a function is expected here");
    const ptx::Function& callee = decoder.module().functions.at(symbol->symbol.index);
    if (!callee.has_body || is_of_device_runtime(callee.name)) // libcudadevrt defines some for the hardware
      return decode_builtin(decoder, in, callee, slots);
    Operation& op = decoder.emit(call_function);
    op.immediate = decoder.code().frame_of_function.at(symbol->symbol.index);
    op.list = slots;
    return;
  }
  Operation& op = decoder.emit(call_address, 0, decoder.source(in.operands[1], ptx::Type::u64));
  op.list = slots;
  decoder.reconverge_after(op.index);
}

void decode_nothing(Decoder& decoder, const ptx::Instruction&) {
  decoder.emit([](Warp&, const Operation* op) { return op + 1; });
}

// A thread that sleeps gives way to other threads.
const Operation* sleep(Warp& warp, const Operation* op) {
  note_possible_spin(warp);
  return op + 1;
}
void decode_nanosleep(Decoder& decoder, const ptx::Instruction&) {
  decoder.emit(sleep);
}

constexpr Opcode opcodes[] = {
    {"bra", decode_bra, Work::branch, Guarding::decodes},
    {"brx", decode_brx, Work::branch, Guarding::skips},
    {"call", decode_call, Work::other, Guarding::skips},
    {"ret", decode_ret, Work::other, Guarding::skips},
    {"exit", decode_exit, Work::other, Guarding::skips},
    {"trap", decode_trap, Work::other, Guarding::skips},
    {"brkpt", decode_nothing},
    {"pmevent", decode_nothing},
    {"nanosleep", decode_nanosleep},
    {"griddepcontrol",
     decode_nothing}, // launches run one after another, so what they would wait for is complete
    {"setmaxnreg", decode_nothing},
};

} // namespace

const Operation* leave_function(Warp& warp, const Operation* op) {
  return warp.frame_index == 0 ? exit_kernel(warp, op) : warp.return_from_call();
}

const Operation* skip_unless(Warp& warp, const Operation* op) {
  u32 active = guard_mask(warp, op);
  if (active == warp.mask) return op + 1;
  if (active == 0) return op->target;
  return warp.diverge(op->target, warp.mask & ~active, op + 1, op->reconvergence);
}

const Operation* stop_unsupported(Warp& warp, const Operation* op) {
  stop(warp, op, Fault::Kind::unsupported, warp.worker->grid.code.messages[op->list], warp.mask);
}

std::span<const Opcode> control_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
