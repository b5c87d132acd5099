#include "ptx/printed_loads.hpp"

#include "ptx/registers.hpp"

#include <algorithm>
#include <variant>

namespace warpfold::ptx {
namespace {

bool prints(const Module& module, const Instruction& instruction) {
  if (instruction.opcode != "call") return false;
  return std::ranges::any_of(instruction.operands, [&](const Operand& operand) {
    const auto* called = std::get_if<SymbolOperand>(&operand.value);
    return called && called->symbol.scope == Symbol::Scope::function &&
           module.functions[called->symbol.index].name == "vprintf";
  });
}

// Takes away what the instruction does with registers that are printed only. Returns whether it was any.
bool use(const Instruction& instruction, std::vector<bool>& only_printed) {
  bool any = false;
  const auto is_used = [&](std::uint32_t index) {
    any |= only_printed[index];
    only_printed[index] = false;
  };
  const bool is_moved = instruction.opcode == "mov" || instruction.opcode == "cvt";
  const bool is_argument = instruction.opcode == "st" && instruction.has("local");
  bool goes_on = !is_moved && !is_argument;
  if (is_moved) each_destination(instruction, [&](std::uint32_t index) { goes_on |= !only_printed[index]; });
  if (goes_on)
    each_source(instruction, is_used);
  else if (is_argument)
    each_register(instruction.operands[0], is_used);
  return any;
}

} // namespace

std::vector<bool> printed_loads(const Module& module, const Function& function) {
  const auto is_printf = [&](const Instruction& each) { return prints(module, each); };
  std::vector<bool> found(function.body.size());
  if (std::ranges::none_of(function.body, is_printf)) return found;
  std::vector<bool> only_printed(function.registers.size(), true);
  for (const std::uint32_t index : function.result_registers) only_printed[index] = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& instruction : function.body) changed |= use(instruction, only_printed);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    bool is_printed = function.body[i].opcode == "ld";
    each_destination(function.body[i], [&](std::uint32_t index) { is_printed &= only_printed[index]; });
    found[i] = is_printed;
  }
  return found;
}

} // namespace warpfold::ptx
