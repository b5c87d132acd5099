#include "ptx/restored_loads.hpp"

#include "ptx/registers.hpp"

#include <cstddef>
#include <cstdint>
#include <variant>

namespace warpfold::ptx {
namespace {

const VectorOperand* vector_at(const Instruction& instruction, std::size_t operand) {
  if (operand >= instruction.operands.size()) return nullptr;
  return std::get_if<VectorOperand>(&instruction.operands[operand].value);
}

bool is_same_address(const Operand& one, const Operand& other) {
  const auto* a = std::get_if<AddressOperand>(&one.value);
  const auto* b = std::get_if<AddressOperand>(&other.value);
  const auto* a_base = a ? std::get_if<RegisterOperand>(&a->base) : nullptr;
  const auto* b_base = b ? std::get_if<RegisterOperand>(&b->base) : nullptr;
  return a_base && b_base && a_base->index == b_base->index && a->offset == b->offset;
}

bool is_restored(const Instruction& load, const Instruction& store, const std::vector<std::uint32_t>& uses) {
  const VectorOperand *loaded = vector_at(load, 0), *stored = vector_at(store, 1);
  if (!loaded || !stored || loaded->elements.size() != stored->elements.size() || load.operands.size() < 2 ||
      !is_same_address(load.operands[1], store.operands[0]))
    return false;
  bool any = false;
  for (std::size_t i = 0; i < loaded->elements.size(); ++i) {
    const auto* from = std::get_if<RegisterOperand>(&loaded->elements[i].value);
    const auto* to = std::get_if<RegisterOperand>(&stored->elements[i].value);
    const bool is_put_back = from && to && from->index == to->index;
    if (from && uses[from->index] != (is_put_back ? 1 : 0)) return false;
    any |= is_put_back;
  }
  return any;
}

} // namespace

std::vector<bool> restored_loads(const Function& function) {
  const std::size_t none = function.body.size();
  std::vector<std::uint32_t> uses(function.registers.size());
  std::vector<std::size_t> loaded_by(function.registers.size(), none); // the last load of a vector so far
  std::vector<bool> found(function.body.size());
  for (const Instruction& instruction : function.body)
    each_source(instruction, [&](std::uint32_t index) { ++uses[index]; });
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Instruction& instruction = function.body[i];
    if (instruction.opcode == "ld" && vector_at(instruction, 0))
      each_destination(instruction, [&](std::uint32_t index) { loaded_by[index] = i; });
    if (instruction.opcode != "st" || !vector_at(instruction, 1)) continue;
    each_register(instruction.operands[1], [&](std::uint32_t index) {
      const std::size_t load = loaded_by[index];
      if (load != none && is_restored(function.body[load], instruction, uses)) found[load] = true;
    });
  }
  return found;
}

} // namespace warpfold::ptx
