// Logic, shifts and bit fields (PTX ISA 9.7.8 and the bit counting part of 9.7.1).
#include "lanes.hpp"

#include <bit>

namespace warpfold::machine {

namespace {

constexpr auto both = [](auto a, auto b) { return a & b; };
constexpr auto either = [](auto a, auto b) { return a | b; };
constexpr auto exclusive = [](auto a, auto b) { return a ^ b; };
constexpr auto complement = [](auto a) { return ~a; };
constexpr auto is_zero = [](auto a) { return a == 0 ? 1 : 0; };

// Shifts by the register's width or more leave zeros, or copies of the sign.
constexpr auto left = [](auto a, u32 by) {
  using T = decltype(a);
  return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << by);
};
constexpr auto right = [](auto a, u32 by) {
  using T = decltype(a);
  constexpr u32 width = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(a >> std::min(by, width - 1));
  else
    return by >= width ? T{0} : static_cast<T>(a >> by);
};

template <auto F, typename... T>
void decode_shift(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {});
  need_operands(in, 3);
  ptx::Type type = type_modifier(in);
  Handler run =
      pick<T...>(type, []<typename U>(std::type_identity<U>) -> Handler { return binary<F, U, U, u32>; });
  decoder.emit(need(run, in), decoder.destination(in.operands[0], static_cast<unsigned>(ptx::size_of(type))),
               decoder.source(in.operands[1], type), decoder.source(in.operands[2], ptx::Type::u32));
}

// Funnel shifts: 64 bits made of b (high) and a (low).
constexpr auto funnel_left = [](u32 low, u32 high, u32 by) {
  return static_cast<u32>((u64{high} << 32 | low) << by >> 32);
};
constexpr auto funnel_right = [](u32 low, u32 high, u32 by) {
  return static_cast<u32>((u64{high} << 32 | low) >> by);
};
constexpr auto funnel_left_wrap = [](u32 a, u32 b, u32 c) { return funnel_left(a, b, c & 31); };
constexpr auto funnel_left_clamp = [](u32 a, u32 b, u32 c) { return funnel_left(a, b, std::min(c, 32u)); };
constexpr auto funnel_right_wrap = [](u32 a, u32 b, u32 c) { return funnel_right(a, b, c & 31); };
constexpr auto funnel_right_clamp = [](u32 a, u32 b, u32 c) { return funnel_right(a, b, std::min(c, 32u)); };

void decode_shf(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"l", "r", "wrap", "clamp"});
  Handler run = in.has("l") ? (in.has("wrap") ? ternary<funnel_left_wrap, u32, u32, u32, u32>
                                              : ternary<funnel_left_clamp, u32, u32, u32, u32>)
                            : (in.has("wrap") ? ternary<funnel_right_wrap, u32, u32, u32, u32>
                                              : ternary<funnel_right_clamp, u32, u32, u32, u32>);
  emit_ternary(decoder, in, run, ptx::Type::u32);
}

// Any function of three bits, given as its truth table.
const Operation* lookup3(Warp& warp, const Operation* op) {
  const u32 *a = warp.row<u32>(op->a), *b = warp.row<u32>(op->b), *c = warp.row<u32>(op->c);
  u32 table[8];
  for (unsigned i = 0; i < 8; ++i) table[i] = op->immediate >> i & 1 ? ~0u : 0u;
  write_lanes(warp, warp.row<u32>(op->d), [=](unsigned lane) {
    u32 x = a[lane], y = b[lane], z = c[lane];
    return (~x & ~y & ~z & table[0]) | (~x & ~y & z & table[1]) | (~x & y & ~z & table[2]) |
           (~x & y & z & table[3]) | (x & ~y & ~z & table[4]) | (x & ~y & z & table[5]) |
           (x & y & ~z & table[6]) | (x & y & z & table[7]);
  });
  return op + 1;
}

void decode_lop3(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {});
  need_operands(in, 5);
  auto* table = std::get_if<ptx::Immediate>(&in.operands[4].value);
  if (!table) refuse(in, "its table must be a constant");
  decoder
      .emit(lookup3, decoder.destination(in.operands[0], 4), decoder.source(in.operands[1], ptx::Type::b32),
            decoder.source(in.operands[2], ptx::Type::b32), decoder.source(in.operands[3], ptx::Type::b32))
      .immediate = static_cast<std::int64_t>(table->bits);
}

// Logic on predicates works on all lanes' bits at once.
template <auto F>
const Operation* predicates(Warp& warp, const Operation* op) {
  u32 result = F(*warp.row<u32>(op->a), *warp.row<u32>(op->b));
  u32& d = *warp.row<u32>(op->d);
  d = (d & ~warp.mask) | (result & warp.mask);
  return op + 1;
}
constexpr auto not_first = [](u32 a, u32) { return ~a; };

template <auto F>
void decode_logic(Decoder& decoder, const ptx::Instruction& in) {
  if (type_modifier(in) != ptx::Type::pred) return decode_binary<F, u16, u32, u64>(decoder, in);
  need_operands(in, 3);
  decoder.emit(predicates<F>, decoder.predicate(in.operands[0]), decoder.predicate(in.operands[1]),
               decoder.predicate(in.operands[2]));
}

void decode_not(Decoder& decoder, const ptx::Instruction& in) {
  if (type_modifier(in) != ptx::Type::pred) return decode_unary<complement, u16, u32, u64>(decoder, in);
  need_operands(in, 2);
  std::uint32_t a = decoder.predicate(in.operands[1]);
  decoder.emit(predicates<not_first>, decoder.predicate(in.operands[0]), a, a);
}

constexpr auto population = [](auto a) { return std::popcount(a); };
constexpr auto leading_zeros = [](auto a) { return std::countl_zero(a); };
template <auto F>
void decode_count(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {});
  need_operands(in, 2);
  ptx::Type type = type_modifier(in);
  Handler run =
      pick<u32, u64>(type, []<typename T>(std::type_identity<T>) -> Handler { return unary<F, u32, T>; });
  decoder.emit(need(run, in), decoder.destination(in.operands[0], 4), decoder.source(in.operands[1], type));
}

// The position of the highest bit that differs from the sign; -1 if there is none.
constexpr auto highest_bit = [](auto a) -> u32 {
  using T = decltype(a);
  auto bits = static_cast<std::make_unsigned_t<T>>(std::is_signed_v<T> && a < 0 ? ~a : a);
  return bits ? static_cast<u32>(std::bit_width(bits)) - 1 : ~0u;
};
constexpr auto highest_bit_shift = [](auto a) -> u32 {
  u32 position = highest_bit(a);
  return position == ~0u ? position : static_cast<u32>(8 * sizeof(a)) - 1 - position;
};
void decode_bfind(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"shiftamt"});
  need_operands(in, 2);
  ptx::Type type = type_modifier(in);
  bool shift = in.has("shiftamt");
  Handler run = pick<u32, s32, u64, s64>(type, [=]<typename T>(std::type_identity<T>) -> Handler {
    return shift ? Handler{unary<highest_bit_shift, u32, T>} : Handler{unary<highest_bit, u32, T>};
  });
  decoder.emit(need(run, in), decoder.destination(in.operands[0], 4), decoder.source(in.operands[1], type));
}

constexpr auto reversed = [](auto a) {
  decltype(a) result = 0;
  for (unsigned i = 0; i < 8 * sizeof(a); ++i) result |= (a >> i & 1) << (8 * sizeof(a) - 1 - i);
  return result;
};

constexpr auto extract = [](auto a, u32 position, u32 length) {
  using T = decltype(a);
  using U = std::make_unsigned_t<T>;
  constexpr u32 width = 8 * sizeof(T);
  position &= 0xff;
  length &= 0xff;
  u32 top = std::min(position + length - 1, width - 1);
  U sign = std::is_signed_v<T> && length != 0 ? static_cast<U>(a) >> top & 1 : U{0};
  U field = position < width ? static_cast<U>(a) >> position : (sign ? ~U{0} : U{0});
  u32 kept = position < width ? std::min(length, width - position) : 0;
  if (kept >= width) return static_cast<T>(field);
  U low = (U{1} << kept) - 1;
  return static_cast<T>((field & low) | (sign ? ~low : U{0}));
};
void decode_bfe(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {});
  need_operands(in, 4);
  ptx::Type type = type_modifier(in);
  Handler run = pick<u32, s32, u64, s64>(
      type, []<typename T>(std::type_identity<T>) -> Handler { return ternary<extract, T, T, u32, u32>; });
  decoder.emit(need(run, in), decoder.destination(in.operands[0], static_cast<unsigned>(ptx::size_of(type))),
               decoder.source(in.operands[1], type), decoder.source(in.operands[2], ptx::Type::u32),
               decoder.source(in.operands[3], ptx::Type::u32));
}

template <typename T>
const Operation* insert(Warp& warp, const Operation* op) {
  const T *a = warp.row<T>(op->a), *b = warp.row<T>(op->b);
  const u32 *position = warp.row<u32>(op->c), *length = warp.row<u32>(op->e);
  constexpr u32 width = 8 * sizeof(T);
  write_lanes(warp, warp.row<T>(op->d), [=](unsigned lane) {
    u32 at = position[lane] & 0xff, count = length[lane] & 0xff;
    if (at >= width || count == 0) return b[lane];
    count = std::min(count, width - at);
    T field = count >= width ? ~T{0} : ((T{1} << count) - 1) << at;
    return (b[lane] & ~field) | ((a[lane] << at) & field);
  });
  return op + 1;
}
void decode_bfi(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {});
  need_operands(in, 5);
  ptx::Type type = type_modifier(in);
  Handler run = pick<u32, u64>(type, []<typename T>(std::type_identity<T>) -> Handler { return insert<T>; });
  std::uint32_t length = decoder.source(in.operands[4], ptx::Type::u32);
  decoder
      .emit(need(run, in), decoder.destination(in.operands[0], static_cast<unsigned>(ptx::size_of(type))),
            decoder.source(in.operands[1], type), decoder.source(in.operands[2], type),
            decoder.source(in.operands[3], ptx::Type::u32))
      .e = length;
}

constexpr auto mask_clamp = [](u32 position, u32 length) -> u32 {
  if (position >= 32) return 0;
  u32 field = length >= 32 ? ~0u : (1u << length) - 1;
  return field << position;
};
constexpr auto mask_wrap = [](u32 position, u32 length) { return mask_clamp(position & 31, length & 31); };
void decode_bmsk(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"clamp", "wrap"});
  emit_binary(decoder, in,
              in.has("wrap") ? binary<mask_wrap, u32, u32, u32> : binary<mask_clamp, u32, u32, u32>,
              ptx::Type::u32);
}

constexpr auto sign_extend = [](auto a, u32 length) -> decltype(a) {
  using T = decltype(a);
  if (length >= 32) return a;
  if (length == 0) return 0;
  return static_cast<T>(a << (32 - length)) >> (32 - length);
};
void decode_szext(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"clamp", "wrap"});
  if (in.has("wrap")) refuse(in);
  ptx::Type type = type_modifier(in);
  emit_binary(
      decoder, in,
      pick<u32, s32>(
          type, []<typename T>(std::type_identity<T>) -> Handler { return binary<sign_extend, T, T, u32>; }),
      type);
}

// fns: the position of the n-th set bit at or after (before) a base.
constexpr auto find_set = [](u32 mask, u32 base, s32 offset) -> u32 {
  if (offset == 0) return mask >> (base & 31) & 1 ? base : ~0u;
  int step = offset > 0 ? 1 : -1, wanted = offset > 0 ? offset : -offset;
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step)
    if ((mask >> at & 1) && --wanted == 0) return static_cast<u32>(at);
  return ~0u;
};
void decode_fns(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {});
  emit_ternary(decoder, in, ternary<find_set, u32, u32, u32, s32>, ptx::Type::u32);
}

constexpr Opcode opcodes[] = {
    {"and", decode_logic<both>},
    {"or", decode_logic<either>},
    {"xor", decode_logic<exclusive>},
    {"not", decode_not},
    {"cnot", decode_unary<is_zero, u16, u32, u64>},
    {"shl", decode_shift<left, u16, u32, u64>},
    {"shr", decode_shift<right, u16, s16, u32, s32, u64, s64>},
    {"shf", decode_shf},
    {"lop3", decode_lop3},
    {"popc", decode_count<population>},
    {"clz", decode_count<leading_zeros>},
    {"bfind", decode_bfind},
    {"brev", decode_unary<reversed, u32, u64>},
    {"bfe", decode_bfe},
    {"bfi", decode_bfi},
    {"bmsk", decode_bmsk},
    {"szext", decode_szext},
    {"fns", decode_fns},
};

} // namespace

std::span<const Opcode> logic_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
