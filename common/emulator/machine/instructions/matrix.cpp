// Multiplication of matrices that the lanes of a warp hold together (PTX ISA 9.7.14.5): mma.
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
        const AccumulatorPlace at = place_in_sum(lane, reg * parts + part);
        to[at.row * form.n + at.column] = part_of(warp, rows[reg], element, lane, part);
      }
}

void write_sums(Warp& warp, const std::uint32_t* rows, const MatrixForm& form, const std::uint64_t* from) {
  const unsigned parts = packed_in(form.d), bits = form_of(form.d).bits;
  for (unsigned reg = 0; reg < registers_of_sums(form, form.d); ++reg)
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      std::uint64_t whole = 0;
      for (unsigned part = 0; part < parts; ++part) {
        const AccumulatorPlace at = place_in_sum(lane, reg * parts + part);
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
  switch (form.d) {
  case Element::single:
    return form.c == form.d && form.a == form.b &&
           both({Element::half, Element::bfloat, Element::tensor_float});
  case Element::half:
    return form.c == form.d && both({Element::half});
  case Element::real:
    return form.c == form.d && both({Element::real});
  case Element::integer:
    return form.c == form.d &&
           (both({Element::s8, Element::u8}) || both({Element::s4, Element::u4}) || both({Element::bit}));
  default:
    return false;
  }
}

MatrixForm form_from(const ptx::Instruction& in) {
  std::vector<Element> elements;
  const std::string_view* shape_name = nullptr;
  for (const std::string_view& modifier : in.modifiers) {
    if (const ElementForm* named = element_named(modifier)) elements.push_back(named->element);
    if (modifier.starts_with('m') && modifier.find('k') != modifier.npos) shape_name = &modifier;
  }
  if (elements.size() != 4 || !shape_name) refuse(in);
  MatrixForm form{.d = elements[0], .saturates = in.has("satfinite"), .conjoins = in.has("and")};
  form.a = elements[1], form.b = elements[2], form.c = elements[3];
  const auto* const shape = std::ranges::find_if(mma_shapes, [&](const MatrixShape& each) {
    return each.name == *shape_name && each.bits == form_of(form.a).bits;
  });
  if (shape == std::end(mma_shapes) || !go_together(form))
    refuse(in, "there is no such shape for these types");
  form.m = shape->m, form.n = shape->n, form.k = shape->k;
  if (form.a == Element::bit) form.k /= 32;
  return form;
}

// Appends the rows of a matrix's registers; `each` makes a row of an operand.
template <typename Row>
void append_rows(const ptx::Instruction& in, const ptx::Operand& operand, unsigned count,
                 std::vector<std::uint32_t>& rows, Row row_of) {
  const auto* vector = std::get_if<ptx::VectorOperand>(&operand.value);
  const std::span<const ptx::Operand> registers =
      vector ? std::span<const ptx::Operand>(vector->elements) : std::span(&operand, 1);
  if (registers.size() != count)
    refuse(in, fmt::format("a matrix of this shape takes a list of {}, not of {}", count, registers.size()));
  for (const ptx::Operand& each : registers) rows.push_back(row_of(each));
}

void decode_mma(Decoder& decoder, const ptx::Instruction& in) {
  allow(in,
        {"sync",     "aligned", "row",     "col",      "satfinite", "xor",      "and",       "popc",
         "rn",       "tf32",    "s4",      "u4",       "b1",        "m8n8k4",   "m8n8k16",   "m8n8k32",
         "m8n8k128", "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32",  "m16n8k64", "m16n8k128", "m16n8k256"});
  need_operands(in, 4);
  const MatrixForm form = form_from(in);
  std::vector<std::uint32_t> words = words_of(form);
  const auto destination = [&](const ptx::Operand& each) {
    return decoder.destination(each, register_bytes(form.d));
  };
  const auto source = [&](Element element) {
    return [&decoder, element](const ptx::Operand& each) {
      return decoder.source(each, register_bytes(element) == 8 ? ptx::Type::b64 : ptx::Type::b32);
    };
  };
  append_rows(in, in.operands[0], registers_of_sums(form, form.d), words, destination);
  append_rows(in, in.operands[1], registers_of_factor(form.m, form.k, form.a), words, source(form.a));
  append_rows(in, in.operands[2], registers_of_factor(form.n, form.k, form.b), words, source(form.b));
  append_rows(in, in.operands[3], registers_of_sums(form, form.c), words, source(form.c));
  const std::uint32_t list = decoder.list(words);
  decoder.emit(multiply_matrices).list = list;
}

constexpr Opcode opcodes[] = {{"mma", decode_mma, Work::matrix, Guarding::skips}};

} // namespace

std::span<const Opcode> matrix_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
