// Floating-point arithmetic in float and double (PTX ISA 9.7.3). Compiled with -ffp-contract=off: a
// multiplication and an addition round twice unless the program says fma.
#include "arithmetic.hpp"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

namespace warpfold::machine {

namespace {

constexpr auto plus = [](auto a, auto b) { return a + b; };
constexpr auto minus = [](auto a, auto b) { return a - b; };
constexpr auto times = [](auto a, auto b) { return a * b; };
constexpr auto fused = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
constexpr auto quotient = [](auto a, auto b) { return a / b; };
// minNum and maxNum of IEEE 754-2008: a number is preferred to a NaN, and -0 is smaller than +0.
constexpr auto smaller = [](auto a, auto b) {
  auto least = (a < b || (a == b && std::signbit(a))) ? a : b;
  return a != a ? b : b != b ? a : least;
};
constexpr auto larger = [](auto a, auto b) {
  auto most = (a > b || (a == b && std::signbit(b))) ? a : b;
  return a != a ? b : b != b ? a : most;
};
constexpr auto smaller_or_nan = [](auto a, auto b) {
  return a != a || b != b ? std::numeric_limits<decltype(a)>::quiet_NaN() : smaller(a, b);
};
constexpr auto larger_or_nan = [](auto a, auto b) {
  return a != a || b != b ? std::numeric_limits<decltype(a)>::quiet_NaN() : larger(a, b);
};
constexpr auto absolute = [](auto a) { return std::fabs(a); };
constexpr auto negative = [](auto a) { return -a; };
constexpr auto square_root = [](auto a) { return std::sqrt(a); };
constexpr auto reciprocal = [](auto a) { return 1 / a; };
constexpr auto reciprocal_root = [](auto a) { return 1 / std::sqrt(a); };
constexpr auto sine = [](float a) { return std::sin(a); };
constexpr auto cosine = [](float a) { return std::cos(a); };
constexpr auto logarithm = [](float a) { return std::log2(a); };
constexpr auto power = [](float a) { return std::exp2(a); };
constexpr auto hyperbolic_tangent = [](float a) { return std::tanh(a); };
constexpr auto signed_as = [](auto a, auto b) { return std::copysign(b, a); };

// .ftz: subnormal inputs and results become zero of the same sign.
constexpr auto flushed = [](auto a) {
  using T = decltype(a);
  return std::fabs(a) < std::numeric_limits<T>::min() ? std::copysign(T{0}, a) : a;
};
template <auto F>
constexpr auto flushing = [](auto... a) { return flushed(F(flushed(a)...)); };
// .sat: clamped to [0, 1]; NaN becomes 0.
constexpr auto clamped = [](auto a) { return a > 0 ? (a < 1 ? a : decltype(a){1}) : decltype(a){0}; };
template <auto F>
constexpr auto saturating = [](auto... a) { return clamped(F(a...)); };

// Directed rounding: sets the host's rounding mode around one operation. Rare, so it need not be fast.
template <auto F, int Mode>
constexpr auto rounding = [](auto... a) __attribute__((noinline)) {
  int before = std::fegetround();
  std::fesetround(Mode);
  volatile auto result = F(*const_cast<const volatile decltype(a)*>(&a)...);
  std::fesetround(before);
  return result;
};

// Variants by modifier. `Rounded` operations also have directed modes.
template <auto F, bool Rounded, unsigned Sources>
struct Make {
  template <auto G>
  static Handler for_sources(ptx::Type type) {
    if constexpr (Sources == 1)
      return type == ptx::Type::f64 ? Handler{unary<G, double, double>} : Handler{unary<G, float, float>};
    else if constexpr (Sources == 2)
      return type == ptx::Type::f64 ? Handler{binary<G, double, double, double>}
                                    : Handler{binary<G, float, float, float>};
    else
      return type == ptx::Type::f64 ? Handler{ternary<G, double, double, double, double>}
                                    : Handler{ternary<G, float, float, float, float>};
  }
  template <auto G>
  static Handler for_float() {
    if constexpr (Sources == 1)
      return unary<G, float, float>;
    else if constexpr (Sources == 2)
      return binary<G, float, float, float>;
    else
      return ternary<G, float, float, float, float>;
  }
  template <int Mode>
  static Handler directed(const ptx::Instruction& in, ptx::Type type) {
    if (in.has("sat") && in.has("ftz")) return for_float<saturating<flushing<rounding<F, Mode>>>>();
    if (in.has("sat")) return type == ptx::Type::f32 ? for_float<saturating<rounding<F, Mode>>>() : nullptr;
    return in.has("ftz") ? for_float<flushing<rounding<F, Mode>>>() : for_sources<rounding<F, Mode>>(type);
  }
  static Handler pick(const ptx::Instruction& in, ptx::Type type) {
    if (in.has("ftz") && type == ptx::Type::f64) return nullptr;
    if constexpr (Rounded) {
      if (in.has("rz")) return directed<FE_TOWARDZERO>(in, type);
      if (in.has("rm")) return directed<FE_DOWNWARD>(in, type);
      if (in.has("rp")) return directed<FE_UPWARD>(in, type);
      if (in.has("sat"))
        return in.has("ftz") ? for_float<saturating<flushing<F>>>() : for_sources<saturating<F>>(type);
    }
    if (in.has("ftz")) return for_float<flushing<F>>();
    return for_sources<F>(type);
  }
};

template <auto F, bool Rounded, unsigned Sources>
void decode_float(Decoder& decoder, const ptx::Instruction& in) {
  if (Rounded)
    allow(in, {"rn", "rz", "rm", "rp", "ftz", "sat", "approx", "full"});
  else
    allow(in, {"ftz", "approx"});
  ptx::Type type = type_modifier(in);
  if (type != ptx::Type::f32 && type != ptx::Type::f64) refuse(in);
  need_operands(in, Sources + 1);
  Handler run = need(Make<F, Rounded, Sources>::pick(in, type), in);
  auto width = static_cast<unsigned>(ptx::size_of(type));
  Operation op;
  op.d = decoder.destination(in.operands[0], width);
  op.a = decoder.source(in.operands[1], type);
  if (Sources > 1) op.b = decoder.source(in.operands[2], type);
  if (Sources > 2) op.c = decoder.source(in.operands[3], type);
  decoder.emit(run, op.d, op.a, op.b, op.c);
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: computed from the upper 32 bits, with the lower ones zero.
template <auto F>
constexpr auto upper_half = [](double a) {
  auto upper = [](double x) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0xffffffff00000000ull);
  };
  return a != a ? std::numeric_limits<double>::quiet_NaN() : upper(flushed(F(flushed(upper(a)))));
};
template <auto F, bool Rounded>
void decode_reciprocal(Decoder& decoder, const ptx::Instruction& in) {
  if (!in.has("approx") || type_modifier(in) != ptx::Type::f64)
    return decode_float<F, Rounded, 1>(decoder, in);
  allow(in, {"approx", "ftz"});
  need_operands(in, 2);
  decoder.emit(in.has("ftz") ? unary<upper_half<F>, double, double> : unary<F, double, double>,
               decoder.destination(in.operands[0], 8), decoder.source(in.operands[1], ptx::Type::f64));
}

template <auto F>
void decode_single(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"approx", "ftz"});
  if (type_modifier(in) != ptx::Type::f32) refuse(in);
  need_operands(in, 2);
  decoder.emit(in.has("ftz") ? unary<flushing<F>, float, float> : unary<F, float, float>,
               decoder.destination(in.operands[0], 4), decoder.source(in.operands[1], ptx::Type::f32));
}

template <auto F, auto WithNan>
void decode_min_max(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"ftz", "NaN"});
  ptx::Type type = type_modifier(in);
  if (in.operands.size() == 4) refuse(in, "three-input min and max are not supported");
  Handler run =
      in.has("NaN")
          ? (in.has("ftz") ? binary<flushing<WithNan>, float, float, float>
                           : pick_binary<WithNan, float, double>(type))
          : (in.has("ftz") ? binary<flushing<F>, float, float, float> : pick_binary<F, float, double>(type));
  emit_binary(decoder, in, run, type);
}

// testp.op.type p, a;
enum class Test : std::uint8_t { finite, infinite, number, not_a_number, normal, subnormal };
template <typename T, Test Which>
const Operation* test(Warp& warp, const Operation* op) {
  const T* a = warp.row<T>(op->a);
  std::uint32_t bits = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    int kind = std::fpclassify(a[lane]);
    bool yes = Which == Test::finite         ? kind != FP_INFINITE && kind != FP_NAN
               : Which == Test::infinite     ? kind == FP_INFINITE
               : Which == Test::number       ? kind != FP_NAN
               : Which == Test::not_a_number ? kind == FP_NAN
               : Which == Test::normal       ? kind == FP_NORMAL || kind == FP_ZERO
                                             : kind == FP_SUBNORMAL;
    bits |= static_cast<std::uint32_t>(yes) << lane;
  }
  std::uint32_t& d = *warp.row<std::uint32_t>(op->d);
  d = (d & ~warp.mask) | (bits & warp.mask);
  return op + 1;
}

template <typename T>
Handler pick_test(const ptx::Instruction& in) {
  if (in.has("finite")) return test<T, Test::finite>;
  if (in.has("infinite")) return test<T, Test::infinite>;
  if (in.has("number")) return test<T, Test::number>;
  if (in.has("notanumber")) return test<T, Test::not_a_number>;
  if (in.has("normal")) return test<T, Test::normal>;
  if (in.has("subnormal")) return test<T, Test::subnormal>;
  return nullptr;
}

void decode_testp(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 2);
  ptx::Type type = type_modifier(in);
  Handler run = type == ptx::Type::f64 ? pick_test<double>(in) : pick_test<float>(in);
  decoder.emit(need(run, in), decoder.predicate(in.operands[0]), decoder.source(in.operands[1], type));
}

template <Decode Wide, Decode Narrow>
void or_half(Decoder& decoder, const ptx::Instruction& in) {
  ptx::Type type = type_modifier(in);
  type == ptx::Type::f32 || type == ptx::Type::f64 ? Wide(decoder, in) : Narrow(decoder, in);
}

constexpr Opcode opcodes[] = {
    {"fma", or_half<decode_float_fma, decode_half_fma>, Work::arithmetic},
    {"sqrt", decode_float<square_root, true, 1>},
    {"rcp", decode_reciprocal<reciprocal, true>},
    {"rsqrt", decode_reciprocal<reciprocal_root, false>},
    {"sin", decode_single<sine>},
    {"cos", decode_single<cosine>},
    {"lg2", decode_single<logarithm>},
    {"ex2", or_half<decode_single<power>, decode_half_ex2>},
    {"tanh", or_half<decode_single<hyperbolic_tangent>, decode_half_tanh>},
    {"copysign", decode_binary<signed_as, float, double>},
    {"testp", decode_testp},
};

} // namespace

void decode_float_add(Decoder& decoder, const ptx::Instruction& in) {
  decode_float<plus, true, 2>(decoder, in);
}
void decode_float_sub(Decoder& decoder, const ptx::Instruction& in) {
  decode_float<minus, true, 2>(decoder, in);
}
void decode_float_mul(Decoder& decoder, const ptx::Instruction& in) {
  decode_float<times, true, 2>(decoder, in);
}
void decode_float_fma(Decoder& decoder, const ptx::Instruction& in) {
  decode_float<fused, true, 3>(decoder, in);
}
void decode_float_div(Decoder& decoder, const ptx::Instruction& in) {
  decode_float<quotient, true, 2>(decoder, in);
}
void decode_float_min(Decoder& decoder, const ptx::Instruction& in) {
  decode_min_max<smaller, smaller_or_nan>(decoder, in);
}
void decode_float_max(Decoder& decoder, const ptx::Instruction& in) {
  decode_min_max<larger, larger_or_nan>(decoder, in);
}
void decode_float_abs(Decoder& decoder, const ptx::Instruction& in) {
  decode_float<absolute, false, 1>(decoder, in);
}
void decode_float_neg(Decoder& decoder, const ptx::Instruction& in) {
  decode_float<negative, false, 1>(decoder, in);
}

std::span<const Opcode> float_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
