// The registers that an operand names.
#pragma once

#include "ptx/module.hpp"

#include <cstdint>
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

} // namespace warpfold::ptx
