// Operands of PTX instructions, as rows and addresses.
#include "decoder.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::machine {

namespace {

std::uint64_t immediate_bits(const ptx::Immediate& value, ptx::Type type) {
  using Kind = ptx::Immediate::Kind;
  if (value.kind == Kind::real && type == ptx::Type::f32)
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(value.bits)));
  if (value.kind == Kind::single && type == ptx::Type::f64)
    return std::bit_cast<std::uint64_t>(double{std::bit_cast<float>(static_cast<std::uint32_t>(value.bits))});
  if (value.kind == Kind::integer && type == ptx::Type::f32)
    return std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int64_t>(value.bits)));
  if (value.kind == Kind::integer && type == ptx::Type::f64)
    return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(value.bits)));
  return value.bits;
}

} // namespace

std::uint32_t Decoder::allocate(std::uint32_t bytes, std::uint32_t alignment) {
  std::uint32_t at = (frame_bytes_ + alignment - 1) / alignment * alignment;
  frame_bytes_ = at + bytes;
  return at;
}

std::uint32_t Decoder::register_row(std::uint32_t index) {
  auto [entry, is_new] = register_rows_.try_emplace(index, 0);
  if (is_new) {
    unsigned width = register_width(register_type(index));
    entry->second = width ? allocate(width * warp_lanes, row_alignment) : allocate(4, 4);
  }
  return entry->second;
}

ptx::Type Decoder::register_type(std::uint32_t index) const {
  return function_->registers[index].type;
}

std::uint32_t Decoder::constant(std::uint64_t bits, unsigned width, bool local_address) {
  if (width < 8 && width > 0) bits &= (1ull << (8 * width)) - 1;
  auto [entry, is_new] = constant_rows_.try_emplace({bits, width, local_address}, 0);
  if (is_new) {
    entry->second = width ? allocate(width * warp_lanes, row_alignment) : allocate(4, 4);
    std::uint64_t high = static_cast<std::int64_t>(bits) < 0 && width == 16 ? ~0ull : 0;
    code_.frames[frame_].constants.push_back(
        {entry->second, static_cast<std::uint8_t>(width), local_address, bits, high});
  }
  return entry->second;
}

std::uint32_t Decoder::scratch(unsigned width) {
  return allocate(std::max(width, 2u) * warp_lanes, row_alignment);
}

std::uint32_t Decoder::special(ptx::Special name, std::uint8_t component) {
  auto [entry, is_new] = special_rows_.try_emplace({name, component}, 0);
  if (is_new) {
    entry->second = allocate(4 * warp_lanes, row_alignment);
    code_.frames[frame_].specials.push_back({entry->second, name, component});
  }
  return entry->second;
}

std::uint64_t Decoder::symbol_bits(const ptx::Symbol& symbol, bool& is_local) const {
  using Scope = ptx::Symbol::Scope;
  is_local = false;
  switch (symbol.scope) {
  case Scope::function:
    return program_.address_of(symbol);
  case Scope::module_variable: {
    const ptx::Variable& variable = module().variables[symbol.index];
    if (variable.space != ptx::Space::shared) return program_.address_of(symbol);
    if (variable.is_extern) return code_.dynamic_shared_offset;
    return shared_offsets_.at(symbol.index);
  }
  case Scope::local_variable: {
    const ptx::Variable& variable = function_->variables[symbol.index];
    if (variable.space == ptx::Space::shared && variable.is_extern) return code_.dynamic_shared_offset;
    if (variable.space == ptx::Space::parameter)
      throw NotSupported(
          fmt::format("taking the address of the parameter {} is not supported", variable.name));
    is_local = variable.space == ptx::Space::local;
    return variable_offsets_[symbol.index];
  }
  case Scope::parameter: {
    if (!in_kernel()) throw NotSupported("taking the address of a function's parameter is not supported");
    return parameter_window | lay_out_parameters(*function_)[symbol.index].offset;
  }
  default:
    throw NotSupported("this use of a name is not supported");
  }
}

std::uint32_t Decoder::source(const ptx::Operand& operand, ptx::Type type) {
  unsigned width = register_width(type);
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value)) return register_row(reg->index);
  if (auto* value = std::get_if<ptx::Immediate>(&operand.value))
    return constant(immediate_bits(*value, type), width);
  if (auto* name = std::get_if<ptx::SpecialOperand>(&operand.value))
    return special(name->name, name->component);
  if (auto* symbol = std::get_if<ptx::SymbolOperand>(&operand.value)) {
    bool is_local = false;
    std::uint64_t bits = symbol_bits(symbol->symbol, is_local) + static_cast<std::uint64_t>(symbol->offset);
    return constant(bits, width, is_local);
  }
  throw NotSupported("an operand of this form is not supported here");
}

std::uint32_t Decoder::destination(const ptx::Operand& operand, unsigned width) {
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value)) return register_row(reg->index);
  if (std::holds_alternative<ptx::Sink>(operand.value)) return scratch(width);
  throw NotSupported("an operand of this form cannot be written");
}

std::uint32_t Decoder::predicate(const ptx::Operand& operand) {
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value)) return register_row(reg->index);
  if (auto* value = std::get_if<ptx::Immediate>(&operand.value)) return constant(value->bits != 0, 0);
  if (std::holds_alternative<ptx::Sink>(operand.value)) return allocate(4, 4);
  throw NotSupported("a predicate is expected here");
}

bool Decoder::is_negated(const ptx::Operand& operand) const {
  auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value);
  return reg && reg->negated;
}

unsigned Decoder::width_of(const ptx::Operand& operand) const {
  auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value);
  return reg ? register_width(register_type(reg->index)) : 0;
}

const std::vector<ptx::Operand>& Decoder::elements(const ptx::Operand& operand) const {
  if (auto* vector = std::get_if<ptx::VectorOperand>(&operand.value)) return vector->elements;
  throw NotSupported("a list of operands is expected here");
}

std::uint32_t Decoder::variable_row(std::uint32_t variable) {
  auto [entry, is_new] = variable_rows_.try_emplace(variable, 0);
  if (is_new) {
    auto width = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, function_->variables[variable].size));
    entry->second = allocate(width * warp_lanes, row_alignment);
  }
  return entry->second;
}

Decoder::Address Decoder::address(const ptx::Operand& operand, ptx::Space space) {
  Address result{.space = space};
  auto from_symbol = [&](const ptx::Symbol& symbol, std::int64_t offset) {
    result.offset = offset;
    using Scope = ptx::Symbol::Scope;
    if (symbol.scope == Scope::parameter || symbol.scope == Scope::result ||
        (symbol.scope == Scope::local_variable &&
         function_->variables[symbol.index].space == ptx::Space::parameter)) {
      if (symbol.scope == Scope::parameter && in_kernel()) {
        bool is_local = false;
        result.is_kernel_parameter = true;
        result.offset += static_cast<std::int64_t>(symbol_bits(symbol, is_local) & ~window_mask);
        return;
      }
      const Frame& frame = code_.frames[frame_];
      Frame::Slot place =
          symbol.scope == Scope::parameter ? frame.parameters.at(symbol.index)
          : symbol.scope == Scope::result
              ? frame.results.at(symbol.index)
              : Frame::Slot{variable_row(symbol.index),
                            static_cast<std::uint32_t>(function_->variables[symbol.index].size)};
      result.in_frame = true;
      result.row = place.row;
      result.stride = place.width;
      return;
    }
    bool is_local = false;
    std::uint64_t bits = symbol_bits(symbol, is_local);
    if (space == ptx::Space::generic) {
      ptx::Space known = symbol.scope == Scope::module_variable ? module().variables[symbol.index].space
                                                                : function_->variables[symbol.index].space;
      if (known == ptx::Space::shared || known == ptx::Space::local) result.space = known;
    }
    result.row = constant(bits, 8, is_local);
  };
  if (auto* symbol = std::get_if<ptx::SymbolOperand>(&operand.value)) {
    from_symbol(symbol->symbol, symbol->offset);
    return result;
  }
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value)) {
    result.row = register_row(reg->index);
    result.width = width_of(operand);
    return result;
  }
  auto* address = std::get_if<ptx::AddressOperand>(&operand.value);
  if (!address) throw NotSupported("an address is expected here");
  result.offset = address->offset;
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&address->base)) {
    result.row = register_row(reg->index);
    result.width = register_width(register_type(reg->index));
  } else if (auto* symbol = std::get_if<ptx::Symbol>(&address->base)) {
    from_symbol(*symbol, address->offset);
  } else {
    result.row = constant(0, 8);
  }
  return result;
}

Frame::Slot Decoder::slot(const ptx::Operand& operand) {
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value))
    return {register_row(reg->index), register_width(register_type(reg->index))};
  if (auto* value = std::get_if<ptx::Immediate>(&operand.value)) return {constant(value->bits, 8), 8};
  if (auto* symbol = std::get_if<ptx::SymbolOperand>(&operand.value))
    if (symbol->symbol.scope == ptx::Symbol::Scope::local_variable)
      return {variable_row(symbol->symbol.index),
              static_cast<std::uint32_t>(function_->variables[symbol->symbol.index].size)};
  throw NotSupported("an argument of this form is not supported");
}

} // namespace warpfold::machine
