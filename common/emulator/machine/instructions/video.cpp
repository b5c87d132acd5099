// SIMD video instructions (PTX ISA 9.7.17): arithmetic on the four bytes or two halves of a register.
#include "lanes.hpp"

namespace warpfold::machine {

namespace {

constexpr auto sum = [](int a, int b) { return a + b; };
constexpr auto difference = [](int a, int b) { return a - b; };
constexpr auto average = [](int a, int b) { return (a + b + (a + b >= 0)) >> 1; }; // halves away from zero
constexpr auto distance = [](int a, int b) { return a > b ? a - b : b - a; };
constexpr auto least = [](int a, int b) { return a < b ? a : b; };
constexpr auto most = [](int a, int b) { return a > b ? a : b; };

// What the handler needs to know about the types: Operation::immediate.
enum Form : unsigned { result_signed = 1, a_signed = 2, b_signed = 4, saturates = 8, adds_up = 16 };

// Parts of `Bits` bits; with .add, their results are added to c, otherwise each goes to its own place.
template <auto F, unsigned Bits>
u32 by_parts(u32 a, u32 b, u32 c, unsigned form) {
  constexpr u32 mask = (1u << Bits) - 1;
  auto part = [](u32 value, unsigned at, bool is_signed) {
    u32 raw = value >> at & mask;
    return is_signed && raw >> (Bits - 1) ? static_cast<int>(raw) - (1 << Bits) : static_cast<int>(raw);
  };
  u32 total = c, packed = 0;
  for (unsigned at = 0; at < 32; at += Bits) {
    int result = F(part(a, at, form & a_signed), part(b, at, form & b_signed));
    if (form & saturates)
      result = form & result_signed ? std::clamp(result, -(1 << (Bits - 1)), (1 << (Bits - 1)) - 1)
                                    : std::clamp(result, 0, (1 << Bits) - 1);
    total += static_cast<u32>(result);
    packed |= (static_cast<u32>(result) & mask) << at;
  }
  return form & adds_up ? total : packed;
}

template <auto F, unsigned Bits>
const Operation* parts(Warp& warp, const Operation* op) {
  const u32 *a = warp.row<u32>(op->a), *b = warp.row<u32>(op->b), *c = warp.row<u32>(op->c);
  auto form = static_cast<unsigned>(op->immediate);
  write_lanes(warp, warp.row<u32>(op->d),
              [=](unsigned lane) { return by_parts<F, Bits>(a[lane], b[lane], c[lane], form); });
  return op + 1;
}

template <auto F, unsigned Bits>
void decode_parts(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"sat", "add"});
  need_operands(in, 4);
  auto is_signed = [&](unsigned from_last) { return type_modifier(in, from_last) == ptx::Type::s32; };
  unsigned form = (is_signed(2) ? result_signed : 0u) | (is_signed(1) ? a_signed : 0u) |
                  (is_signed(0) ? b_signed : 0u) | (in.has("sat") ? saturates : 0u) |
                  (in.has("add") ? adds_up : 0u);
  decoder
      .emit(parts<F, Bits>, decoder.destination(in.operands[0], 4),
            decoder.source(in.operands[1], ptx::Type::u32), decoder.source(in.operands[2], ptx::Type::u32),
            decoder.source(in.operands[3], ptx::Type::u32))
      .immediate = form;
}

constexpr Opcode opcodes[] = {
    {"vadd2", decode_parts<sum, 16>},          {"vadd4", decode_parts<sum, 8>},
    {"vsub2", decode_parts<difference, 16>},   {"vsub4", decode_parts<difference, 8>},
    {"vavrg2", decode_parts<average, 16>},     {"vavrg4", decode_parts<average, 8>},
    {"vabsdiff2", decode_parts<distance, 16>}, {"vabsdiff4", decode_parts<distance, 8>},
    {"vmin2", decode_parts<least, 16>},        {"vmin4", decode_parts<least, 8>},
    {"vmax2", decode_parts<most, 16>},         {"vmax4", decode_parts<most, 8>},
};

} // namespace

std::span<const Opcode> video_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
