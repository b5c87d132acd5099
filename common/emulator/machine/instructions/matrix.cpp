// Multiplication of matrices that the lanes of a warp hold together: mma (PTX ISA 9.7.14.5) and wmma.mma
// (9.7.14.4).
#include "matrix.hpp"

#include "lanes.hpp"
#include "whole_warp.hpp"

#include "machine/matrix_arithmetic.hpp"

namespace warpfold::machine {

namespace {

// What Code::lists says of an instruction: its form, then the rows of its registers, matrix after matrix.
struct Listed {
  static constexpr unsigned form_words = 9;
  MatrixForm form;
  const std::uint32_t *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr; // rows
};

unsigned parts_in(Element element) {
  return element == Element::bit ? 1 : packed_in(element);
}
unsigned registers_of_factor(unsigned lines, unsigned k, Element element) {
  return lines * k / warp_lanes / parts_in(element);
}
unsigned registers_of_sums(const MatrixForm& form, Element element) {
  return form.m * form.n / warp_lanes / packed_in(element);
}

std::vector<std::uint32_t> words_of(const MatrixForm& form) {
  return {form.m,
          form.n,
          form.k,
          static_cast<std::uint32_t>(form.a),
          static_cast<std::uint32_t>(form.b),
          static_cast<std::uint32_t>(form.c),
          static_cast<std::uint32_t>(form.d),
          form.saturates,
          form.conjoins};
}

Listed read_list(const Warp& warp, const Operation* op) {
  const std::uint32_t* words = warp.worker->grid.code.lists.data() + op->list;
  Listed listed{.form = {.m = words[0],
                         .n = words[1],
                         .k = words[2],
                         .a = static_cast<Element>(words[3]),
                         .b = static_cast<Element>(words[4]),
                         .c = static_cast<Element>(words[5]),
                         .d = static_cast<Element>(words[6]),
                         .saturates = words[7] != 0,
                         .conjoins = words[8] != 0}};
  const MatrixForm& form = listed.form;
  listed.d = words + Listed::form_words;
  listed.a = listed.d + registers_of_sums(form, form.d);
  listed.b = listed.a + registers_of_factor(form.m, form.k, form.a);
  listed.c = listed.b + registers_of_factor(form.n, form.k, form.b);
  return listed;
}

// The bits of one element in a lane's register.
std::uint64_t part_of(Warp& warp, std::uint32_t row, Element element, unsigned lane, unsigned part) {
  const unsigned bits = form_of(element).bits;
  if (bits == 64) return warp.row<u64>(row)[lane];
  const u32 whole = warp.row<u32>(row)[lane];
  return element == Element::bit || bits == 32 ? whole : whole >> part * bits & ((1u << bits) - 1);
}

void read_factor(Warp& warp, const std::uint32_t* rows, Element element, unsigned lines, unsigned k,
                 std::uint64_t* to) {
  const unsigned parts = parts_in(element);
  for (unsigned reg = 0; reg < registers_of_factor(lines, k, element); ++reg)
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
      for (unsigned part = 0; part < parts; ++part) {
        const ElementPlace at = place_in_factor(lines, parts, lane, reg, part);
        to[at.line * k + at.k] = part_of(warp, rows[reg], element, lane, part);
      }
}

void read_sums(Warp& warp, const std::uint32_t* rows, Element element, const MatrixForm& form,
               std::uint64_t* to) {
  const unsigned parts = packed_in(element);
  for (unsigned reg = 0; reg < registers_of_sums(form, element); ++reg)
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
      for (unsigned part = 0; part < parts; ++part) {
        const AccumulatorPlace at = place_in_sum(form.m, lane, reg * parts + part);
        to[at.row * form.n + at.column] = part_of(warp, rows[reg], element, lane, part);
      }
}

void write_sums(Warp& warp, const std::uint32_t* rows, const MatrixForm& form, const std::uint64_t* from) {
  const unsigned parts = packed_in(form.d), bits = form_of(form.d).bits;
  for (unsigned reg = 0; reg < registers_of_sums(form, form.d); ++reg)
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      std::uint64_t whole = 0;
      for (unsigned part = 0; part < parts; ++part) {
        const AccumulatorPlace at = place_in_sum(form.m, lane, reg * parts + part);
        whole |= from[at.row * form.n + at.column] << part * bits;
      }
      if (bits == 64)
        warp.row<u64>(rows[reg])[lane] = whole;
      else
        warp.row<u32>(rows[reg])[lane] = static_cast<u32>(whole);
    }
}

const Operation* multiply_matrices(Warp& warp, const Operation* op) {
  return in_whole_warp(warp, op, [&] {
    const Listed listed = read_list(warp, op);
    const MatrixForm& form = listed.form;
    MatrixOperands operands;
    read_factor(warp, listed.a, form.a, form.m, form.k, operands.a);
    read_factor(warp, listed.b, form.b, form.n, form.k, operands.b);
    read_sums(warp, listed.c, form.c, form, operands.c);
    multiply(form, operands);
    write_sums(warp, listed.d, form, operands.d);
  });
}

// Which elements may be multiplied by which, and what they are added up in (PTX ISA 9.7.14.5, "mma").
bool go_together(const MatrixForm& form) {
  const auto both = [&](std::initializer_list<Element> allowed) {
    const auto is_allowed = [&](Element element) {
      return std::ranges::find(allowed, element) != allowed.end();
    };
    return is_allowed(form.a) && is_allowed(form.b);
  };
  const bool mixes_halves = (form.c == Element::half || form.c == Element::single) && both({Element::half});
  switch (form.d) {
  case Element::single:
    return mixes_halves ||
           (form.c == form.d && form.a == form.b && both({Element::bfloat, Element::tensor_float}));
  case Element::half:
    return mixes_halves;
  case Element::real:
    return form.c == form.d && both({Element::real});
  case Element::integer:
    return form.c == form.d &&
           (both({Element::s8, Element::u8}) || both({Element::s4, Element::u4}) || both({Element::bit}));
  default:
    return false;
  }
}

MatrixForm form_from(const ptx::Instruction& in, std::span<const MatrixShape> shapes,
                     const std::vector<Element>& elements) {
  if (elements.size() != 4) refuse(in);
  MatrixForm form{.a = elements[1], .b = elements[2], .c = elements[3], .d = elements[0]};
  form.saturates = in.has("satfinite"), form.conjoins = in.has("and");
  const std::string_view name = shape_name(in);
  const auto shape = std::ranges::find_if(shapes, [&](const MatrixShape& each) {
    return each.name == name && each.bits == form_of(form.a).bits;
  });
  if (shape == shapes.end() || !go_together(form)) refuse(in, "there is no such shape for these types");
  form.m = shape->m, form.n = shape->n, form.k = shape->k;
  if (form.a == Element::bit) form.k /= 32;
  return form;
}

// The rows of all operands, of which the first `of_*` registers hold each element once.
void emit_multiplication(Decoder& decoder, const ptx::Instruction& in, const MatrixForm& form,
                         unsigned registers_of_a, unsigned registers_of_b) {
  std::vector<std::uint32_t> words = words_of(form);
  const auto add = [&](std::size_t operand, unsigned listed, unsigned needed, Element element) {
    std::vector<std::uint32_t> rows;
    append_rows(in, in.operands[operand], listed, rows, [&](const ptx::Operand& each) {
      if (operand == 0) return decoder.destination(each, register_bytes(element));
      return decoder.source(each, register_bytes(element) == 8 ? ptx::Type::b64 : ptx::Type::b32);
    });
    words.insert(words.end(), rows.begin(), rows.begin() + needed);
  };
  add(0, registers_of_sums(form, form.d), registers_of_sums(form, form.d), form.d);
  add(1, registers_of_a, registers_of_factor(form.m, form.k, form.a), form.a);
  add(2, registers_of_b, registers_of_factor(form.n, form.k, form.b), form.b);
  add(3, registers_of_sums(form, form.c), registers_of_sums(form, form.c), form.c);
  const std::uint32_t list = decoder.list(words);
  decoder.emit(multiply_matrices).list = list;
}

void decode_mma(Decoder& decoder, const ptx::Instruction& in) {
  if (in.has("sp") || in.has("sp::ordered_metadata") || in.has("block_scale")) refuse(in);
  need_operands(in, 4);
  const MatrixForm form = form_from(in, mma_shapes, elements_named(in));
  if (form.c != form.d) refuse(in, "there is no such shape for these types");
  emit_multiplication(decoder, in, form, registers_of_factor(form.m, form.k, form.a),
                      registers_of_factor(form.n, form.k, form.b));
}

// Where only two types are named, they are those of D and C, and the factors are half. The layouts say how
// the fragments were loaded, and each element is in the same place whichever it was.
void decode_wmma(Decoder& decoder, const ptx::Instruction& in) {
  if (in.has("load")) return decode_wmma_load(decoder, in);
  if (in.has("store")) return decode_wmma_store(decoder, in);
  need_operands(in, 4);
  std::vector<Element> elements = elements_named(in);
  if (elements.size() == 2) elements = {elements[0], Element::half, Element::half, elements[1]};
  const MatrixForm form = form_from(in, wmma_shapes, elements);
  const unsigned words = form.a == Element::bit ? 32 : 1; // form.k counts words of bits
  emit_multiplication(decoder, in, form, registers_of_fragment(form.m * form.k * words, form.a, false),
                      registers_of_fragment(form.n * form.k * words, form.b, false));
}

constexpr Opcode opcodes[] = {{"mma", decode_mma, Work::matrix, Guarding::skips},
                              {"wmma", decode_wmma, Work::matrix, Guarding::skips}};

} // namespace

std::span<const Opcode> matrix_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
