#include "ptx/variables.hpp"

#include <numeric>
#include <variant>

namespace warpfold::ptx {
namespace {

// In a debug build, variables are in local memory and are addressed through this register or a copy of it.
bool is_stack_pointer(const Function& function, std::uint32_t index) {
  return function.registers[index].name.starts_with("%SP");
}

} // namespace

const AddressOperand* stack_place(const Function& function, const Instruction& instruction,
                                  StackPlace& place) {
  if (instruction.opcode != "ld" && instruction.opcode != "st") return nullptr;
  if (instruction.operands.size() < 2) return nullptr;
  const auto* address =
      std::get_if<AddressOperand>(&instruction.operands[instruction.opcode == "st" ? 0 : 1].value);
  const auto* base = address ? std::get_if<RegisterOperand>(&address->base) : nullptr;
  if (base == nullptr || !is_stack_pointer(function, base->index)) return nullptr;
  place = {base->index, address->offset};
  return address;
}

Variables::Variables(const Function& function) : same_(function.registers.size()) {
  std::iota(same_.begin(), same_.end(), 0);
  for (const Instruction& instruction : function.body) {
    for (const Operand& operand : instruction.operands)
      if (const auto* address = std::get_if<AddressOperand>(&operand.value))
        if (const auto* symbol = std::get_if<Symbol>(&address->base)) of_symbol(*symbol);
    if (instruction.operands.size() != 2) continue;
    const auto* first = std::get_if<RegisterOperand>(&instruction.operands[0].value);
    const auto* second = std::get_if<RegisterOperand>(&instruction.operands[1].value);
    const auto* symbol = std::get_if<SymbolOperand>(&instruction.operands[1].value);
    const bool copies = instruction.opcode == "mov" || instruction.opcode == "cvta";
    StackPlace place;
    if (copies && first && second) {
      join(first->index, second->index);
    } else if (copies && first && symbol && symbol->offset == 0) {
      join(first->index, of_symbol(symbol->symbol));
    } else if (stack_place(function, instruction, place)) {
      const auto [known, is_new] = places_.try_emplace(place, static_cast<std::uint32_t>(same_.size()));
      if (is_new) same_.push_back(known->second);
      if (const auto* value = instruction.opcode == "st" ? second : first) join(value->index, known->second);
    }
  }
}

std::uint32_t Variables::of(std::uint32_t index) const {
  while (same_[index] != index) index = same_[index];
  return index;
}

std::uint32_t Variables::of_symbol(const Symbol& symbol) {
  const auto [known, is_new] =
      symbols_.try_emplace({symbol.scope, symbol.index}, static_cast<std::uint32_t>(same_.size()));
  if (is_new) same_.push_back(known->second);
  return known->second;
}

void Variables::join(std::uint32_t one, std::uint32_t other) {
  same_[of(one)] = of(other);
}

bool Variables::is_same_place(const AddressOperand& one, const AddressOperand& other) const {
  const auto base = [&](const AddressOperand& address) -> std::int64_t {
    if (const auto* index = std::get_if<RegisterOperand>(&address.base)) return of(index->index);
    const auto* symbol = std::get_if<Symbol>(&address.base);
    return symbol ? of(symbols_.at({symbol->scope, symbol->index})) : -1; // -1: an absolute address
  };
  return one.offset == other.offset && base(one) == base(other);
}

} // namespace warpfold::ptx
