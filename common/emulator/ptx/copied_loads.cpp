#include "ptx/copied_loads.hpp"

#include "ptx/registers.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

namespace warpfold::ptx {
namespace {

unsigned bits_of(std::string_view type) { // "u64": 64
  unsigned bits = 0;
  if (!type.empty()) std::from_chars(type.data() + 1, type.data() + type.size(), bits);
  return bits;
}

// cvt.u32.u64
bool cuts_off(const Instruction& instruction) {
  const std::size_t count = instruction.modifiers.size();
  return instruction.opcode == "cvt" && count >= 2 &&
         bits_of(instruction.modifiers[count - 2]) < bits_of(instruction.modifiers[count - 1]);
}

// Whether the instruction passes this operand on as it is.
bool is_passed(const Instruction& instruction, std::size_t operand) {
  const std::string_view opcode = instruction.opcode;
  if (opcode == "selp") return operand == 1 || operand == 2;
  return operand == 1 && (opcode == "st" || opcode == "mov" || opcode == "shfl");
}

// Of a mov that takes a register apart, one part may be computed with: then it is what the structure has
// there.
bool any_copied(const Instruction& instruction, const std::vector<bool>& only_copied) {
  if (instruction.operands.empty()) return false;
  if (const auto* pair =
          std::get_if<PairOperand>(&instruction.operands[0].value)) // a value, and whether it is one
    return !pair->first_is_sink && only_copied[pair->first.index];
  bool any = false;
  each_destination(instruction, [&](std::uint32_t index) { any |= only_copied[index]; });
  return any;
}

// Those that the instruction computes with are no longer only copied. Returns whether it was any.
bool take_away_uses(const Instruction& instruction, std::vector<bool>& only_copied) {
  bool any = false;
  const auto is_used = [&](std::uint32_t index) {
    any |= only_copied[index];
    only_copied[index] = false;
  };
  if (instruction.guard.predicate >= 0) is_used(static_cast<std::uint32_t>(instruction.guard.predicate));
  if (cuts_off(instruction)) return any;
  const bool goes_on = instruction.opcode == "st" || any_copied(instruction, only_copied);
  for (std::size_t i = first_source(instruction); i < instruction.operands.size(); ++i)
    if (!goes_on || !is_passed(instruction, i)) each_register(instruction.operands[i], is_used);
  return any;
}

} // namespace

std::vector<bool> copied_loads(const Function& function) {
  std::vector<bool> only_copied(function.registers.size(), true), found(function.body.size());
  for (const std::uint32_t index : function.result_registers) only_copied[index] = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& instruction : function.body) changed |= take_away_uses(instruction, only_copied);
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i] = function.body[i].opcode == "ld" && any_copied(function.body[i], only_copied);
  return found;
}

} // namespace warpfold::ptx
