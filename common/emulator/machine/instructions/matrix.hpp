// What the instructions on matrices share.
#pragma once

#include "machine/decoder.hpp"
#include "machine/matrix_shapes.hpp"

#include <fmt/format.h>

namespace warpfold::machine {

// Appends the rows of a matrix's registers; row_of(operand) makes a row.
template <typename Row>
void append_rows(const ptx::Instruction& in, const ptx::Operand& operand, unsigned count,
                 std::vector<std::uint32_t>& rows, Row row_of) {
  const std::span<const ptx::Operand> registers = ptx::values_of(operand);
  if (registers.size() != count)
    refuse(in, fmt::format("a matrix of this shape takes a list of {}, not of {}", count, registers.size()));
  for (const ptx::Operand& each : registers) rows.push_back(row_of(each));
}

// The shape that one of the instruction's modifiers names.
inline std::string_view shape_name(const ptx::Instruction& in) {
  for (const std::string_view modifier : in.modifiers)
    if (modifier.starts_with('m') && modifier.find('n') != modifier.npos) return modifier;
  refuse(in, "it names no shape");
}

inline std::vector<Element> elements_named(const ptx::Instruction& in) {
  std::vector<Element> elements;
  for (const std::string_view modifier : in.modifiers)
    if (const ElementForm* named = element_named(modifier)) elements.push_back(named->element);
  return elements;
}

// Registers of a wmma fragment: those of half hold 8 registers, in which elements may stand several times
// (PTX ISA 9.7.14.4.1, "Matrix Fragments for WMMA").
inline unsigned registers_of_fragment(unsigned elements, Element element, bool is_sum) {
  constexpr unsigned of_half = 8;
  return element == Element::half && !is_sum ? of_half : registers_for(elements, element);
}

void decode_wmma_load(Decoder& decoder, const ptx::Instruction& in);
void decode_wmma_store(Decoder& decoder, const ptx::Instruction& in);

} // namespace warpfold::machine
