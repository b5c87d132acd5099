// The registers that an operand names, and those that an instruction reads and writes.
#pragma once

#include "ptx/module.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <variant>

namespace warpfold::ptx {

// The registers that the operand reads or, if it is a destination, writes. They include the base of an
// address.
template <typename Visit>
void each_register(const Operand& operand, Visit visit) {
  if (const auto* one = std::get_if<RegisterOperand>(&operand.value)) {
    visit(one->index);
  } else if (const auto* address = std::get_if<AddressOperand>(&operand.value)) {
    if (const auto* base = std::get_if<RegisterOperand>(&address->base)) visit(base->index);
  } else if (const auto* vector = std::get_if<VectorOperand>(&operand.value)) {
    for (const Operand& element : vector->elements) each_register(element, visit);
  } else if (const auto* pair = std::get_if<PairOperand>(&operand.value)) {
    if (!pair->first_is_sink) visit(pair->first.index);
    if (!pair->second_is_sink) visit(pair->second.index);
  }
}

// Operands from this one on are read; those before it are written.
inline std::size_t first_source(const Instruction& instruction) {
  constexpr std::string_view without_destination[] = {"st",      "red",    "bra",   "brx", "bar",  "sust",
                                                      "barrier", "membar", "fence", "ret", "exit", "sured"};
  const bool writes_none = std::find(std::begin(without_destination), std::end(without_destination),
                                     instruction.opcode) != std::end(without_destination);
  const bool is_reducing_barrier = instruction.opcode.starts_with("bar") && instruction.has("red");
  return (writes_none && !is_reducing_barrier) || instruction.operands.empty() ? 0 : 1;
}

template <typename Visit>
void each_destination(const Instruction& instruction, Visit visit) {
  if (first_source(instruction) == 0) return;
  if (std::holds_alternative<AddressOperand>(instruction.operands[0].value)) return;
  each_register(instruction.operands[0], visit);
}

template <typename Visit>
void each_source(const Instruction& instruction, Visit visit) {
  if (instruction.guard.predicate >= 0) visit(static_cast<std::uint32_t>(instruction.guard.predicate));
  for (std::size_t i = first_source(instruction); i < instruction.operands.size(); ++i)
    each_register(instruction.operands[i], visit);
}

} // namespace warpfold::ptx
