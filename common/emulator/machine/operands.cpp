// Operands of PTX instructions, as rows and addresses.
#include "decoder.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::machine {

namespace {

constexpr unsigned widest_register = 16; // bytes per lane

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

std::uint32_t Decoder::allocate(std::uint64_t bytes, std::uint32_t alignment) {
  constexpr std::uint64_t largest_frame = 64u << 20;
  const std::uint64_t at = (std::uint64_t{frame_bytes_} + alignment - 1) / alignment * alignment;
  if (bytes > largest_frame || at + bytes > largest_frame)
    throw std::runtime_error(fmt::format("the registers and parameters of {} take more than {} MiB per warp",
                                         function_->name, largest_frame >> 20));
  frame_bytes_ = static_cast<std::uint32_t>(at + bytes);
  return static_cast<std::uint32_t>(at);
}

Frame::Slot Decoder::slot_of(const ptx::Variable& variable) {
  const std::uint64_t width = std::max<std::uint64_t>(variable.size, 1);
  const std::uint32_t row = allocate(width * warp_lanes, row_alignment);
  return {row, static_cast<std::uint32_t>(width)};
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

std::uint32_t Decoder::checked_row(std::uint32_t reg, unsigned least, unsigned most) {
  const unsigned width = register_width(register_type(reg));
  if (width < least || width > most)
    throw NotSupported(fmt::format("the register {} does not have the width of the instruction's type",
                                   function_->registers[reg].name));
  return register_row(reg);
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
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value))
    return checked_row(reg->index, width, width);
  if (auto* value = std::get_if<ptx::Immediate>(&operand.value))
    return constant(immediate_bits(*value, type), width);
  if (auto* name = std::get_if<ptx::SpecialOperand>(&operand.value)) {
    if (width != sizeof(std::uint32_t)) throw NotSupported("a special register is read as 32 bits");
    return special(name->name, name->component);
  }
  if (auto* symbol = std::get_if<ptx::SymbolOperand>(&operand.value)) {
    bool is_local = false;
    std::uint64_t bits = symbol_bits(symbol->symbol, is_local) + static_cast<std::uint64_t>(symbol->offset);
    return constant(bits, width, is_local);
  }
  throw NotSupported("an operand of this form is not supported here");
}

std::uint32_t Decoder::destination(const ptx::Operand& operand, unsigned width) {
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value)) return destination(*reg, width);
  if (std::holds_alternative<ptx::Sink>(operand.value)) return scratch(width);
  throw NotSupported("an operand of this form cannot be written");
}

std::uint32_t Decoder::destination(const ptx::RegisterOperand& operand, unsigned width) {
  const unsigned held = std::max(width, register_width(ptx::Type::b8));
  return checked_row(operand.index, held, held);
}

std::uint32_t Decoder::wide_source(const ptx::Operand& operand, ptx::Type type) {
  auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value);
  return reg ? checked_row(reg->index, std::max(1u, register_width(type)), widest_register)
             : source(operand, type);
}

std::uint32_t Decoder::wide_destination(const ptx::Operand& operand, unsigned width) {
  auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value);
  return reg ? checked_row(reg->index, std::max(1u, width), widest_register) : destination(operand, width);
}

std::uint32_t Decoder::predicate(const ptx::Operand& operand) {
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value)) return predicate(*reg);
  if (auto* name = std::get_if<ptx::SpecialOperand>(&operand.value);
      name && name->name == ptx::Special::is_explicit_cluster)
    return special(name->name, 0);
  if (auto* value = std::get_if<ptx::Immediate>(&operand.value)) return constant(value->bits != 0, 0);
  if (std::holds_alternative<ptx::Sink>(operand.value)) return allocate(4, 4);
  throw NotSupported("a predicate is expected here");
}

std::uint32_t Decoder::predicate(const ptx::RegisterOperand& operand) {
  return checked_row(operand.index, 0, 0);
}

std::uint32_t Decoder::row_of_guard(const ptx::Instruction& instruction) {
  return checked_row(static_cast<std::uint32_t>(instruction.guard.predicate), 0, 0);
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

Frame::Slot Decoder::variable_slot(std::uint32_t variable) {
  auto [entry, is_new] = variable_slots_.try_emplace(variable);
  if (is_new) entry->second = slot_of(function_->variables[variable]);
  return entry->second;
}

Decoder::Address Decoder::address(const ptx::Operand& operand, ptx::Space space, unsigned bytes) {
  Address result = address_of(operand, space);
  if (!result.in_frame && !result.is_kernel_parameter) return result;
  if (bytes == 0) throw NotSupported("this instruction cannot access parameters");
  if (result.offset < 0 || result.offset > result.end || bytes > result.end - result.offset)
    throw NotSupported(fmt::format("an access of {} bytes at byte {} of {} bytes of parameters", bytes,
                                   result.offset, result.end));
  return result;
}

Decoder::Address Decoder::address_of(const ptx::Operand& operand, ptx::Space space) {
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
        const std::uint64_t place = symbol_bits(symbol, is_local) & ~window_mask;
        if (__builtin_add_overflow(offset, static_cast<std::int64_t>(place), &result.offset))
          result.offset = -1;
        result.end = parameter_bytes(*function_);
        return;
      }
      const Frame& frame = code_.frames[frame_];
      Frame::Slot place = symbol.scope == Scope::parameter ? frame.parameters.at(symbol.index)
                          : symbol.scope == Scope::result  ? frame.results.at(symbol.index)
                                                           : variable_slot(symbol.index);
      result.in_frame = true;
      result.row = place.row;
      result.stride = result.end = place.width;
      return;
    }
    bool is_local = false;
    std::uint64_t bits = symbol_bits(symbol, is_local);
    if (space == ptx::Space::generic) {
      ptx::Space known = ptx::Space::generic;
      if (symbol.scope == Scope::module_variable) known = module().variables[symbol.index].space;
      if (symbol.scope == Scope::local_variable) known = function_->variables[symbol.index].space;
      if (known == ptx::Space::shared || known == ptx::Space::local) result.space = known;
    }
    result.row = constant(bits, 8, is_local);
  };
  if (auto* symbol = std::get_if<ptx::SymbolOperand>(&operand.value)) {
    from_symbol(symbol->symbol, symbol->offset);
    return result;
  }
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value)) {
    result.width = width_of(operand);
    result.row = checked_row(reg->index, 4, 8);
    return result;
  }
  auto* address = std::get_if<ptx::AddressOperand>(&operand.value);
  if (!address) throw NotSupported("an address is expected here");
  result.offset = address->offset;
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&address->base)) {
    result.row = checked_row(reg->index, 4, 8);
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
      return variable_slot(symbol->symbol.index);
  throw NotSupported("an argument of this form is not supported");
}

} // namespace warpfold::machine
