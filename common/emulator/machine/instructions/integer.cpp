// Integer arithmetic (PTX ISA 9.7.1, 9.7.2). Overflow wraps: the file is compiled with -fwrapv. Instructions
// that share a name with floating-point ones (add, min, ...) pass those on to float.cpp and half.cpp.
#include "arithmetic.hpp"

#include <bit>
#include <limits>

namespace warpfold::machine {

namespace {

constexpr auto plus = [](auto a, auto b) { return a + b; };
constexpr auto minus = [](auto a, auto b) { return a - b; };
constexpr auto times = [](auto a, auto b) {
  return static_cast<decltype(a)>(static_cast<u64>(a) * static_cast<u64>(b));
};
constexpr auto smaller = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto larger = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto absolute = [](auto a) { return a < 0 ? -a : a; };
constexpr auto negative = [](auto a) { return -a; };

// Division by zero gives all ones, as the hardware's division routine does; PTX leaves the result open.
constexpr auto quotient = [](auto a, auto b) {
  using T = decltype(a);
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return static_cast<T>(-a);
  return static_cast<T>(a / b);
};
constexpr auto remainder = [](auto a, auto b) {
  using T = decltype(a);
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return static_cast<T>(0);
  return static_cast<T>(a % b);
};

// 32-bit division through double, which is exact here (a quotient that is not an integer is at least 2^-32
// away from one) and, unlike the integer instruction, vectorises.
constexpr auto quick_quotient = [](auto a, auto b) {
  using T = decltype(a);
  auto exact = static_cast<s64>(static_cast<double>(a) / static_cast<double>(b == 0 ? T{1} : b));
  return b == 0 ? static_cast<T>(-1) : static_cast<T>(exact);
};
constexpr auto quick_remainder = [](auto a, auto b) {
  using T = decltype(a);
  return b == 0 ? a : static_cast<T>(a - static_cast<T>(quick_quotient(a, b) * b));
};

// Most remainders in a reduction use the same power of two for the whole warp.
template <auto General>
const Operation* unsigned_division(Warp& warp, const Operation* op) {
  const u32* b = warp.row<u32>(op->b);
  u32 differs = 0, divisor = b[0];
  for (unsigned lane = 0; lane < warp_lanes; ++lane) differs |= b[lane] ^ divisor;
  if (differs || !std::has_single_bit(divisor)) return binary<General, u32, u32, u32>(warp, op);
  const u32* a = warp.row<u32>(op->a);
  auto shift = static_cast<u32>(std::countr_zero(divisor));
  if (op->immediate)
    write_lanes(warp, warp.row<u32>(op->d), [=](unsigned lane) { return a[lane] & (divisor - 1); });
  else
    write_lanes(warp, warp.row<u32>(op->d), [=](unsigned lane) { return a[lane] >> shift; });
  return op + 1;
}

template <auto Quick, auto Plain>
void decode_division(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {});
  ptx::Type type = type_modifier(in);
  Handler run = is_type<u32>(type)   ? unsigned_division<Quick>
                : is_type<s32>(type) ? binary<Quick, s32, s32, s32>
                                     : pick_binary<Plain, u16, s16, u64, s64>(type);
  emit_binary(decoder, in, run, type).immediate = in.opcode == "rem";
}

template <typename T>
struct WiderType;
template <>
struct WiderType<u16> {
  using type = u32;
};
template <>
struct WiderType<s16> {
  using type = s32;
};
template <>
struct WiderType<u32> {
  using type = u64;
};
template <>
struct WiderType<s32> {
  using type = s64;
};
template <>
struct WiderType<u64> {
  using type = unsigned __int128;
};
template <>
struct WiderType<s64> {
  using type = __int128;
};
template <typename T>
using Wider = typename WiderType<T>::type;

constexpr auto high_times = [](auto a, auto b) {
  using T = decltype(a);
  return static_cast<T>((static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b)) >> (8 * sizeof(T)));
};
constexpr auto wide_times = [](auto a, auto b) {
  using T = decltype(a);
  return static_cast<Wider<T>>(static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b));
};
constexpr auto saturated = [](s64 value) {
  return static_cast<s32>(
      std::clamp<s64>(value, std::numeric_limits<s32>::min(), std::numeric_limits<s32>::max()));
};
constexpr auto plus_saturated = [](s32 a, s32 b) { return saturated(s64{a} + b); };
constexpr auto minus_saturated = [](s32 a, s32 b) { return saturated(s64{a} - b); };

template <auto F, auto Saturated>
void decode_add(Decoder& decoder, const ptx::Instruction& in) {
  ptx::Type type = type_modifier(in);
  if (in.has("sat")) {
    allow(in, {"sat"});
    emit_binary(decoder, in, pick_binary<Saturated, s32>(type), type);
    return;
  }
  decode_binary<F, u16, s16, u32, s32, u64, s64>(decoder, in);
}

void decode_mul(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"lo", "hi", "wide"});
  need_operands(in, 3);
  ptx::Type type = type_modifier(in);
  Handler run = nullptr;
  if (in.has("lo")) run = pick_binary<times, u16, s16, u32, s32, u64, s64>(type);
  if (in.has("hi")) run = pick_binary<high_times, u16, s16, u32, s32, u64, s64>(type);
  if (!in.has("wide")) return void(emit_binary(decoder, in, run, type));
  run = pick<u16, s16, u32, s32>(
      type, []<typename T>(std::type_identity<T>) -> Handler { return binary<wide_times, Wider<T>, T, T>; });
  decoder.emit(need(run, in),
               decoder.destination(in.operands[0], 2 * static_cast<unsigned>(ptx::size_of(type))),
               decoder.source(in.operands[1], type), decoder.source(in.operands[2], type));
}

constexpr auto times_plus = [](auto a, auto b, auto c) { return times(a, b) + c; };
constexpr auto high_times_plus = [](auto a, auto b, auto c) { return high_times(a, b) + c; };
constexpr auto wide_times_plus = [](auto a, auto b, auto c) { return wide_times(a, b) + c; };
constexpr auto high_times_plus_saturated = [](s32 a, s32 b, s32 c) {
  return saturated(s64{high_times(a, b)} + c);
};

void decode_mad(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"lo", "hi", "wide", "sat"});
  need_operands(in, 4);
  ptx::Type type = type_modifier(in);
  if (!in.has("wide")) {
    Handler run = nullptr;
    if (in.has("lo") && !in.has("sat")) run = pick_ternary<times_plus, u16, s16, u32, s32, u64, s64>(type);
    if (in.has("hi")) run = pick_ternary<high_times_plus, u16, s16, u32, s32, u64, s64>(type);
    if (in.has("hi") && in.has("sat")) run = pick_ternary<high_times_plus_saturated, s32>(type);
    return emit_ternary(decoder, in, run, type);
  }
  Handler run = pick<u16, s16, u32, s32>(type, []<typename T>(std::type_identity<T>) -> Handler {
    return ternary<wide_times_plus, Wider<T>, T, T, Wider<T>>;
  });
  auto width = 2 * static_cast<unsigned>(ptx::size_of(type));
  ptx::Type sum = width == 4 ? ptx::Type::u32 : ptx::Type::u64;
  decoder.emit(need(run, in), decoder.destination(in.operands[0], width),
               decoder.source(in.operands[1], type), decoder.source(in.operands[2], type),
               decoder.source(in.operands[3], sum));
}

// The 48-bit product of the low 24 bits: its low half, or bits 16 to 47.
constexpr auto low24 = [](auto a, auto b) {
  using T = decltype(a);
  auto narrow = [](T x) { return static_cast<s64>(static_cast<T>(x << 8) >> 8); };
  return static_cast<T>(narrow(a) * narrow(b));
};
constexpr auto high24 = [](auto a, auto b) {
  using T = decltype(a);
  auto narrow = [](T x) { return static_cast<s64>(static_cast<T>(x << 8) >> 8); };
  return static_cast<T>((narrow(a) * narrow(b)) >> 16);
};
constexpr auto low24_plus = [](auto a, auto b, auto c) { return low24(a, b) + c; };
constexpr auto high24_plus = [](auto a, auto b, auto c) { return high24(a, b) + c; };

void decode_mul24(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"lo", "hi"});
  ptx::Type type = type_modifier(in);
  emit_binary(decoder, in,
              in.has("hi") ? pick_binary<high24, u32, s32>(type) : pick_binary<low24, u32, s32>(type), type);
}

void decode_mad24(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"lo", "hi"});
  ptx::Type type = type_modifier(in);
  emit_ternary(decoder, in,
               in.has("hi") ? pick_ternary<high24_plus, u32, s32>(type)
                            : pick_ternary<low24_plus, u32, s32>(type),
               type);
}

constexpr auto difference_plus = [](auto a, auto b, auto c) { return c + (a < b ? b - a : a - b); };

// Dot products of bytes and halves (dp4a, dp2a).
template <typename A, typename B>
s32 bytes_dot(u32 a, u32 b, s32 c) {
  for (unsigned i = 0; i < 4; ++i) c += static_cast<A>(a >> 8 * i) * static_cast<B>(b >> 8 * i);
  return c;
}
template <typename A, typename B, unsigned FirstByte>
s32 halves_dot(u32 a, u32 b, s32 c) {
  using Half = std::conditional_t<std::is_signed_v<A>, s16, u16>;
  for (unsigned i = 0; i < 2; ++i)
    c += static_cast<Half>(a >> 16 * i) * static_cast<B>(b >> 8 * (FirstByte + i));
  return c;
}
template <typename A, typename B>
struct Dots {
  static constexpr auto four = [](u32 a, u32 b, s32 c) { return bytes_dot<A, B>(a, b, c); };
  static constexpr auto low = [](u32 a, u32 b, s32 c) { return halves_dot<A, B, 0>(a, b, c); };
  static constexpr auto high = [](u32 a, u32 b, s32 c) { return halves_dot<A, B, 2>(a, b, c); };
  static Handler pick(const ptx::Instruction& in) {
    if (in.opcode == "dp4a") return ternary<four, s32, u32, u32, s32>;
    return in.has("hi") ? ternary<high, s32, u32, u32, s32> : ternary<low, s32, u32, u32, s32>;
  }
};

void decode_dot(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"lo", "hi"});
  bool a_signed = type_modifier(in, 1) == ptx::Type::s32, b_signed = type_modifier(in) == ptx::Type::s32;
  Handler run = a_signed ? (b_signed ? Dots<s8, s8>::pick(in) : Dots<s8, u8>::pick(in))
                         : (b_signed ? Dots<u8, s8>::pick(in) : Dots<u8, u8>::pick(in));
  emit_ternary(decoder, in, run, ptx::Type::u32);
}

// Extended precision (PTX ISA 9.7.2): each lane's carry is kept in Warp::carry. A subtraction adds the
// complement and 1, so its carry means that nothing was borrowed: nvcc's 128-bit division reads it with addc.
enum class Carry : std::uint8_t { out, in, in_out };
template <typename T, Carry Mode, bool Subtract>
const Operation* with_carry(Warp& warp, const Operation* op) {
  const T* a = warp.row<T>(op->a);
  const T* b = warp.row<T>(op->b);
  T* d = warp.row<T>(op->d);
  std::uint32_t carries = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    if (!(warp.mask >> lane & 1)) continue;
    T carry = Mode == Carry::out ? T{Subtract} : static_cast<T>(warp.carry >> lane & 1);
    T first = a[lane], second = Subtract ? static_cast<T>(~b[lane]) : b[lane], sum = first + second + carry;
    bool overflow = sum < first || (carry && sum == first);
    d[lane] = sum;
    carries |= static_cast<std::uint32_t>(overflow) << lane;
  }
  if (Mode != Carry::in) warp.carry = (warp.carry & ~warp.mask) | carries;
  return op + 1;
}

template <Carry Mode, bool Subtract>
Handler pick_carry(ptx::Type type) {
  if (is_type<u32>(type) || is_type<s32>(type)) return with_carry<u32, Mode, Subtract>;
  if (is_type<u64>(type) || is_type<s64>(type)) return with_carry<u64, Mode, Subtract>;
  return nullptr;
}

template <bool Subtract>
void decode_carry_in(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"cc"});
  ptx::Type type = type_modifier(in);
  emit_binary(
      decoder, in,
      in.has("cc") ? pick_carry<Carry::in_out, Subtract>(type) : pick_carry<Carry::in, Subtract>(type), type);
}

template <bool Subtract>
void decode_carry_out(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"cc"});
  emit_binary(decoder, in, pick_carry<Carry::out, Subtract>(type_modifier(in)), type_modifier(in));
}

// mad.lo.cc, madc.hi and the like: first the product, then a sum with carry.
void decode_mad_carry(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"lo", "hi", "cc"});
  need_operands(in, 4);
  ptx::Type type = type_modifier(in);
  auto width = static_cast<unsigned>(ptx::size_of(type));
  Handler product = in.has("hi") ? pick_binary<high_times, u32, s32, u64, s64>(type)
                                 : pick_binary<times, u32, s32, u64, s64>(type);
  std::uint32_t between = decoder.scratch(width);
  decoder.emit(need(product, in), between, decoder.source(in.operands[1], type),
               decoder.source(in.operands[2], type));
  Handler sum = in.opcode == "mad" ? pick_carry<Carry::out, false>(type)
                : in.has("cc")     ? pick_carry<Carry::in_out, false>(type)
                                   : pick_carry<Carry::in, false>(type);
  decoder.emit(need(sum, in), decoder.destination(in.operands[0], width), between,
               decoder.source(in.operands[3], type));
}

bool is_half(ptx::Type type) {
  using enum ptx::Type;
  return type == f16 || type == f16x2 || type == bf16 || type == bf16x2;
}

// One name, three kinds of numbers.
template <Decode Integer, Decode Float, Decode Half>
void by_kind(Decoder& decoder, const ptx::Instruction& in) {
  ptx::Type type = type_modifier(in);
  if (type == ptx::Type::f32 || type == ptx::Type::f64) return Float(decoder, in);
  if (is_half(type)) return Half(decoder, in);
  Integer(decoder, in);
}

// With .relu, min and max clamp at 0 (s32 only).
template <auto F>
constexpr auto clipped = [](s32 a, s32 b) { return std::max(F(a, b), 0); };
template <auto F, Decode Packed>
void decode_extreme(Decoder& decoder, const ptx::Instruction& in) {
  if (is_packed_integer(in)) return Packed(decoder, in);
  allow(in, {"relu"});
  ptx::Type type = type_modifier(in);
  emit_binary(decoder, in,
              in.has("relu") ? pick_binary<clipped<F>, s32>(type)
                             : pick_binary<F, u16, s16, u32, s32, u64, s64>(type),
              type);
}

void decode_add_form(Decoder& decoder, const ptx::Instruction& in) {
  if (is_packed_integer(in)) return decode_packed_add(decoder, in);
  in.has("cc") ? decode_carry_out<false>(decoder, in) : decode_add<plus, plus_saturated>(decoder, in);
}
void decode_sub_form(Decoder& decoder, const ptx::Instruction& in) {
  in.has("cc") ? decode_carry_out<true>(decoder, in) : decode_add<minus, minus_saturated>(decoder, in);
}
void decode_mad_form(Decoder& decoder, const ptx::Instruction& in) {
  in.has("cc") ? decode_mad_carry(decoder, in) : decode_mad(decoder, in);
}

constexpr Opcode opcodes[] = {
    {"add", by_kind<decode_add_form, decode_float_add, decode_half_add>, Work::arithmetic},
    {"sub", by_kind<decode_sub_form, decode_float_sub, decode_half_sub>, Work::arithmetic},
    {"mul", by_kind<decode_mul, decode_float_mul, decode_half_mul>, Work::arithmetic},
    {"mad", by_kind<decode_mad_form, decode_float_fma, decode_half_fma>, Work::arithmetic},
    {"div", by_kind<decode_division<quick_quotient, quotient>, decode_float_div, decode_no_half>,
     Work::arithmetic},
    {"rem", decode_division<quick_remainder, remainder>},
    {"min", by_kind<decode_extreme<smaller, decode_packed_min>, decode_float_min, decode_half_min>},
    {"max", by_kind<decode_extreme<larger, decode_packed_max>, decode_float_max, decode_half_max>},
    {"abs", by_kind<decode_unary<absolute, s16, s32, s64>, decode_float_abs, decode_half_abs>},
    {"neg", by_kind<decode_unary<negative, s16, s32, s64>, decode_float_neg, decode_half_neg>},
    {"sad", decode_ternary<difference_plus, u16, s16, u32, s32, u64, s64>},
    {"mul24", decode_mul24},
    {"mad24", decode_mad24},
    {"dp4a", decode_dot},
    {"dp2a", decode_dot},
    {"addc", decode_carry_in<false>},
    {"subc", decode_carry_in<true>},
    {"madc", decode_mad_carry},
};

} // namespace

std::span<const Opcode> integer_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
