// The shapes of matrix operations, and which element of a matrix each lane holds in which register (PTX ISA
// 9.7.14.5, "Matrix Fragments for mma").
//
// All fragments follow one rule. For mma, PTX prescribes it; for wmma it leaves the places open. The lanes
// form 8 groups of 4. A register of A or B holds `packed` neighbours along k, and the 4 lanes of a group hold
// the next ones, so that a register covers 8 rows (columns of B) and 4 * packed of k. The registers then go
// down the rows of A first, and along k second. A lane's accumulators are pairs of neighbours in a row: the
// group says which row, the lane in it which pair.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace warpfold::machine {

// What a matrix holds. `single` and `integer` are accumulators only.
enum class Element : std::uint8_t { half, bfloat, tensor_float, real, s8, u8, s4, u4, bit, single, integer };

struct ElementForm {
  std::string_view name; // as a modifier
  Element element{};
  unsigned bits = 0; // in a register
};
inline constexpr ElementForm element_forms[] = {
    {"f16", Element::half, 16},   {"bf16", Element::bfloat, 16}, {"tf32", Element::tensor_float, 32},
    {"f64", Element::real, 64},   {"s8", Element::s8, 8},        {"u8", Element::u8, 8},
    {"s4", Element::s4, 4},       {"u4", Element::u4, 4},        {"b1", Element::bit, 1},
    {"f32", Element::single, 32}, {"s32", Element::integer, 32},
};
constexpr const ElementForm& form_of(Element element) {
  return element_forms[static_cast<unsigned>(element)];
}
constexpr const ElementForm* element_named(std::string_view name) {
  const auto* const found = std::ranges::find(element_forms, name, &ElementForm::name);
  return found == std::end(element_forms) ? nullptr : found;
}
// Elements in one register.
constexpr unsigned packed_in(Element element) {
  return std::max(1u, 32 / form_of(element).bits);
}
constexpr unsigned register_bytes(Element element) {
  return std::max(4u, form_of(element).bits / 8);
}

// D = A * B + C, where A has m rows, B has n columns, and they share k.
struct MatrixShape {
  std::string_view name;
  std::uint16_t m = 0, n = 0, k = 0;
  unsigned bits = 0; // of an element of A and B
};
// The shapes of mma, by the size of the elements (PTX ISA 9.7.14.5, table "shapes"). The oldest one, m8n8k4
// of half, has fragments of its own kind and is left out: it is slow on everything after Volta.
inline constexpr MatrixShape mma_shapes[] = {
    {"m16n8k8", 16, 8, 8, 16},    {"m16n8k16", 16, 8, 16, 16},  {"m16n8k4", 16, 8, 4, 32},
    {"m16n8k8", 16, 8, 8, 32},    {"m8n8k4", 8, 8, 4, 64},      {"m16n8k4", 16, 8, 4, 64},
    {"m16n8k8", 16, 8, 8, 64},    {"m16n8k16", 16, 8, 16, 64},  {"m8n8k16", 8, 8, 16, 8},
    {"m16n8k16", 16, 8, 16, 8},   {"m16n8k32", 16, 8, 32, 8},   {"m8n8k32", 8, 8, 32, 4},
    {"m16n8k32", 16, 8, 32, 4},   {"m16n8k64", 16, 8, 64, 4},   {"m8n8k128", 8, 8, 128, 1},
    {"m16n8k128", 16, 8, 128, 1}, {"m16n8k256", 16, 8, 256, 1},
};
// The shapes of wmma (PTX ISA 9.7.14.4, table "shapes").
inline constexpr MatrixShape wmma_shapes[] = {
    {"m16n16k16", 16, 16, 16, 16}, {"m32n8k16", 32, 8, 16, 16}, {"m8n32k16", 8, 32, 16, 16},
    {"m16n16k8", 16, 16, 8, 32},   {"m8n8k4", 8, 8, 4, 64},     {"m16n16k16", 16, 16, 16, 8},
    {"m32n8k16", 32, 8, 16, 8},    {"m8n32k16", 8, 32, 16, 8},  {"m8n8k32", 8, 8, 32, 4},
    {"m8n8k128", 8, 8, 128, 1},
};
inline constexpr unsigned most_rows = 32, most_columns = 32;

// Where in its matrix an element of a fragment is.
struct ElementPlace {
  unsigned line = 0; // the row of A, the column of B
  unsigned k = 0;
};
struct AccumulatorPlace {
  unsigned row = 0, column = 0;
};

constexpr unsigned lanes_of_group = 4, lines_of_register = 8;

// `part` counts from the register's lowest bits; `lines` is m for A, and n for B.
constexpr ElementPlace place_in_factor(unsigned lines, unsigned packed, unsigned lane, unsigned reg,
                                       unsigned part) {
  const unsigned down = lines / lines_of_register;
  return {.line = lane / lanes_of_group + reg % down * lines_of_register,
          .k = (reg / down * lanes_of_group + lane % lanes_of_group) * packed + part};
}
// `index` counts the lane's accumulators: two in each block of 8 x 8, and these go down the `rows` first.
constexpr AccumulatorPlace place_in_sum(unsigned rows, unsigned lane, unsigned index) {
  const unsigned block = index / 2, down = rows / lines_of_register;
  return {.row = lane / lanes_of_group + block % down * lines_of_register,
          .column = block / down * lines_of_register + lane % lanes_of_group * 2 + index % 2};
}

// What is multiplied for an accumulator: a register of A and one of B that hold the same places along k.
struct FactorRegisters {
  unsigned lane_of_a = 0, of_a = 0, lane_of_b = 0, of_b = 0;
};
constexpr FactorRegisters factors_of(AccumulatorPlace sum, unsigned rows, unsigned columns, unsigned number) {
  const unsigned lane = number % lanes_of_group, along = number / lanes_of_group;
  const auto lane_with = [&](unsigned line) { return line % lines_of_register * lanes_of_group + lane; };
  const auto register_with = [&](unsigned line, unsigned lines) {
    return line / lines_of_register + lines / lines_of_register * along;
  };
  return {lane_with(sum.row), register_with(sum.row, rows), lane_with(sum.column),
          register_with(sum.column, columns)};
}

// Registers per lane of a matrix with that many elements.
constexpr unsigned registers_for(unsigned elements, Element element) {
  return elements / 32 / packed_in(element);
}

} // namespace warpfold::machine
