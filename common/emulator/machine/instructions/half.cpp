// Arithmetic in half and bfloat16, single and in pairs (PTX ISA 9.7.4). Each lane computes in double, where a
// product of two halves is exact, and rounds once.
#include "half.hpp"

#include "arithmetic.hpp"

#include <limits>

namespace warpfold::machine {

namespace {

constexpr auto plus = [](double a, double b) { return a + b; };
constexpr auto minus = [](double a, double b) { return a - b; };
constexpr auto times = [](double a, double b) { return a * b; };
constexpr auto fused = [](double a, double b, double c) { return a * b + c; };
constexpr auto smaller = [](double a, double b) {
  return a != a ? b : b != b ? a : (a < b || (a == b && std::signbit(a))) ? a : b;
};
constexpr auto larger = [](double a, double b) {
  return a != a ? b : b != b ? a : (a > b || (a == b && std::signbit(b))) ? a : b;
};
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr auto smaller_or_nan = [](double a, double b) { return a != a || b != b ? nan : smaller(a, b); };
constexpr auto larger_or_nan = [](double a, double b) { return a != a || b != b ? nan : larger(a, b); };
constexpr auto absolute = [](double a) { return std::fabs(a); };
constexpr auto negative = [](double a) { return -a; };
constexpr auto power = [](double a) { return std::exp2(a); };
constexpr auto hyperbolic_tangent = [](double a) { return std::tanh(a); };
template <auto F>
constexpr auto saturating = [](auto... a) {
  double x = F(a...);
  return x > 0 ? (x < 1 ? x : 1) : 0;
};
template <auto F>
constexpr auto clipped = [](auto... a) {
  double x = F(a...);
  return x > 0 ? x : x != x ? x : 0;
};

// Applies F to one number, or to both numbers of a pair.
template <auto F>
constexpr auto apply = []<typename T>(T first, auto... others) {
  if constexpr (requires { first.low; }) {
    using E = decltype(first.low);
    return T{E(F(double(first.low), double(others.low)...)),
             E(F(double(first.high), double(others.high)...))};
  } else {
    return T(F(double(first), double(others)...));
  }
};

template <auto F, unsigned Sources, typename T>
Handler of_type() {
  if constexpr (Sources == 1)
    return unary<apply<F>, T, T>;
  else if constexpr (Sources == 2)
    return binary<apply<F>, T, T, T>;
  else
    return ternary<apply<F>, T, T, T, T>;
}

template <auto F, unsigned Sources>
Handler pick_half(ptx::Type type) {
  switch (type) {
  case ptx::Type::f16:
    return of_type<F, Sources, Half>();
  case ptx::Type::f16x2:
    return of_type<F, Sources, Pair<Half>>();
  case ptx::Type::bf16:
    return of_type<F, Sources, BFloat>();
  case ptx::Type::bf16x2:
    return of_type<F, Sources, Pair<BFloat>>();
  default:
    return nullptr;
  }
}

template <auto F, unsigned Sources>
void decode_half(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"rn", "sat", "relu", "approx"});
  ptx::Type type = type_modifier(in);
  need_operands(in, Sources + 1);
  Handler run = in.has("sat")    ? pick_half<saturating<F>, Sources>(type)
                : in.has("relu") ? pick_half<clipped<F>, Sources>(type)
                                 : pick_half<F, Sources>(type);
  Operation op;
  op.d = decoder.destination(in.operands[0], static_cast<unsigned>(ptx::size_of(type)));
  op.a = decoder.source(in.operands[1], type);
  if (Sources > 1) op.b = decoder.source(in.operands[2], type);
  if (Sources > 2) op.c = decoder.source(in.operands[3], type);
  decoder.emit(need(run, in), op.d, op.a, op.b, op.c);
}

template <auto F, auto WithNan>
void decode_min_max(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"NaN"});
  ptx::Type type = type_modifier(in);
  emit_binary(decoder, in, in.has("NaN") ? pick_half<WithNan, 2>(type) : pick_half<F, 2>(type), type);
}

} // namespace

void decode_half_add(Decoder& decoder, const ptx::Instruction& in) {
  decode_half<plus, 2>(decoder, in);
}
void decode_half_sub(Decoder& decoder, const ptx::Instruction& in) {
  decode_half<minus, 2>(decoder, in);
}
void decode_half_mul(Decoder& decoder, const ptx::Instruction& in) {
  decode_half<times, 2>(decoder, in);
}
void decode_half_fma(Decoder& decoder, const ptx::Instruction& in) {
  decode_half<fused, 3>(decoder, in);
}
void decode_half_min(Decoder& decoder, const ptx::Instruction& in) {
  decode_min_max<smaller, smaller_or_nan>(decoder, in);
}
void decode_half_max(Decoder& decoder, const ptx::Instruction& in) {
  decode_min_max<larger, larger_or_nan>(decoder, in);
}
void decode_half_abs(Decoder& decoder, const ptx::Instruction& in) {
  decode_half<absolute, 1>(decoder, in);
}
void decode_half_neg(Decoder& decoder, const ptx::Instruction& in) {
  decode_half<negative, 1>(decoder, in);
}
void decode_half_ex2(Decoder& decoder, const ptx::Instruction& in) {
  decode_half<power, 1>(decoder, in);
}
void decode_half_tanh(Decoder& decoder, const ptx::Instruction& in) {
  decode_half<hyperbolic_tangent, 1>(decoder, in);
}
void decode_no_half(Decoder&, const ptx::Instruction& in) {
  refuse(in);
}

} // namespace warpfold::machine
