// cvt: between integers, floats, halves and tf32 (PTX ISA 9.7.9.21).
//
// A conversion is a chain of small steps: an 8-bit source is extracted from its register, a half becomes a
// double, a float is rounded to an integer, and so on, until the value is what the instruction requires. Any
// two types need few steps, and each step is one handler.
#include "half.hpp"
#include "lanes.hpp"

#include <cfenv>
#include <cmath>
#include <limits>
#include <utility>

namespace warpfold::machine {

namespace {

enum class Rounding : std::uint8_t { none, nearest, zero, down, up };

bool is_directed(Rounding rounding) {
  return rounding != Rounding::none && rounding != Rounding::nearest;
}

int host_mode(Rounding rounding) {
  switch (rounding) {
  case Rounding::zero:
    return FE_TOWARDZERO;
  case Rounding::down:
    return FE_DOWNWARD;
  case Rounding::up:
    return FE_UPWARD;
  default:
    return FE_TONEAREST;
  }
}

// How a register holds the type: 8-bit values take 16 bits.
template <typename T>
using Held = std::conditional_t<sizeof(T) == 1, std::conditional_t<std::is_signed_v<T>, s16, u16>, T>;

// The steps.

constexpr auto same = [](auto a) { return a; };

template <typename Byte>
constexpr auto lowest_byte = [](Held<Byte> x) { return static_cast<Byte>(x); };

// Between register widths, in bytes.
Handler resized(unsigned from, unsigned to, bool sign) {
  if (from == to)
    return from == 2 ? unary<same, u16, u16> : from == 4 ? unary<same, u32, u32> : unary<same, u64, u64>;
  if (from == 8) return to == 4 ? unary<same, u32, u64> : unary<same, u16, u64>;
  if (from == 4)
    return to == 2 ? unary<same, u16, u32> : sign ? unary<same, s64, s32> : unary<same, u64, u32>;
  if (to == 4) return sign ? unary<same, s32, s16> : unary<same, u32, u16>;
  return sign ? unary<same, s64, s16> : unary<same, u64, u16>;
}

// A 64-bit integer, clamped to the range of I.
template <typename I, typename Wide>
constexpr auto fitted = [](Wide x) {
  using Limits = std::numeric_limits<I>;
  return std::in_range<I>(x) ? static_cast<I>(x) : std::cmp_less(x, 0) ? Limits::min() : Limits::max();
};

template <Rounding How>
constexpr auto whole = [](auto x) {
  if constexpr (How == Rounding::zero) return std::trunc(x);
  if constexpr (How == Rounding::down) return std::floor(x);
  if constexpr (How == Rounding::up) return std::ceil(x);
  return std::nearbyint(x);
};

template <typename F>
Handler to_whole(Rounding rounding) {
  switch (rounding) {
  case Rounding::zero:
    return unary<whole<Rounding::zero>, F, F>;
  case Rounding::down:
    return unary<whole<Rounding::down>, F, F>;
  case Rounding::up:
    return unary<whole<Rounding::up>, F, F>;
  default:
    return unary<whole<Rounding::nearest>, F, F>;
  }
}

// Towards zero. Values out of range are clamped; NaN becomes 0 in 32 bits and below, and 0x8000... in 64
// bits, as the ISA's table says for NVIDIA's hardware since sm_20.
template <typename I>
constexpr auto clamped = [](auto x) -> I {
  using F = decltype(x);
  constexpr F low = static_cast<F>(std::numeric_limits<I>::min());
  constexpr F high = static_cast<F>(std::numeric_limits<I>::max()); // may round up to a power of two
  if (x != x) return sizeof(I) == 8 ? static_cast<I>(1ull << 63) : I{0};
  if (x <= low) return std::numeric_limits<I>::min();
  if (x >= high) return std::numeric_limits<I>::max();
  return static_cast<I>(x);
};

// To a floating-point type with fewer bits than the value may need; Operation::immediate is the rounding.
template <typename D, typename S>
const Operation* rounded(Warp& warp, const Operation* op) {
  const S* a = warp.row<S>(op->a);
  const int before = std::fegetround();
  std::fesetround(host_mode(static_cast<Rounding>(op->immediate)));
  write_lanes(warp, warp.row<D>(op->d), [=](unsigned lane) {
    volatile S input = a[lane]; // keeps the conversion between the two mode changes
    volatile D result = static_cast<D>(input);
    return static_cast<D>(result);
  });
  std::fesetround(before);
  return op + 1;
}

template <typename D, typename S>
Handler to_float(Rounding rounding) {
  return is_directed(rounding) ? rounded<D, S> : unary<same, D, S>;
}

constexpr auto flush = [](float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
};

// .sat of a floating-point type: clamps to [0, 1], NaN to 0.
constexpr auto unit = [](auto x) { return x > 0 ? (x < 1 ? x : decltype(x){1}) : decltype(x){0}; };

// Halves are converted from doubles, which can hold every half exactly. If a 64-bit integer has bits that do
// not fit into a double, they are merged into its last bit, so that rounding still takes them into account.
constexpr auto with_sticky_bit = [](auto x) {
  bool negative = x < 0;
  u64 magnitude = negative ? -static_cast<u64>(x) : static_cast<u64>(x);
  constexpr u64 below = 0x7ff;
  if (magnitude >> 53) magnitude = (magnitude & ~below) | (magnitude & below ? below + 1 : 0);
  return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
};

template <typename H>
constexpr auto to_half = [](double x) { return H(x); };

// Rounded towards zero, down or up, starting from the nearest half.
template <typename H, Rounding How>
constexpr auto to_half_directed = [](double exact) {
  H nearest{exact};
  double back = double(nearest);
  auto bits = std::bit_cast<std::uint16_t>(nearest);
  bool negative = bits >> 15;
  bool too_high = back > exact, too_low = back < exact;
  bool step_down = too_high && (How == Rounding::down || (How == Rounding::zero && !negative));
  bool step_up = too_low && (How == Rounding::up || (How == Rounding::zero && negative));
  if (step_down) bits = static_cast<std::uint16_t>(negative ? bits + 1 : bits - 1);
  if (step_up) bits = static_cast<std::uint16_t>(negative ? bits - 1 : bits + 1);
  return std::bit_cast<H>(bits);
};

template <typename H>
Handler half_from_double(Rounding rounding) {
  switch (rounding) {
  case Rounding::zero:
    return unary<to_half_directed<H, Rounding::zero>, H, double>;
  case Rounding::down:
    return unary<to_half_directed<H, Rounding::down>, H, double>;
  case Rounding::up:
    return unary<to_half_directed<H, Rounding::up>, H, double>;
  default:
    return unary<to_half<H>, H, double>;
  }
}

// The chain.

bool is_half(ptx::Type type) {
  return type == ptx::Type::f16 || type == ptx::Type::bf16;
}
bool is_float(ptx::Type type) {
  return type == ptx::Type::f32 || type == ptx::Type::f64;
}
bool is_signed(ptx::Type type) {
  return type == ptx::Type::s8 || type == ptx::Type::s16 || type == ptx::Type::s32 || type == ptx::Type::s64;
}
unsigned bytes_of(ptx::Type type) {
  return static_cast<unsigned>(ptx::size_of(type));
}
unsigned held_bytes(ptx::Type type) {
  return std::max(2u, bytes_of(type));
}

struct Form {
  Rounding rounding = Rounding::none;
  bool integer_rounding = false, saturate = false, flush = false;
};

// The steps from a value of one type to a value of another.
class Chain {
public:
  Chain(const ptx::Instruction& in, const Form& form) : in_(in), form_(form) {}

  void resize(unsigned from, unsigned to, bool sign) {
    if (from != to) add(resized(from, to, sign), to);
  }

  void convert(ptx::Type from, ptx::Type to) {
    if (form_.flush && from == ptx::Type::f32) add(unary<flush, float, float>, 4);
    if (is_half(from))
      from_half(from, to);
    else if (is_float(from))
      from_float(from, to);
    else
      from_integer(from, to);
    if (form_.saturate && is_float(to)) saturate(to);
    if (form_.flush && to == ptx::Type::f32) add(unary<flush, float, float>, 4);
  }

  void emit(Decoder& decoder, std::uint32_t source, std::uint32_t destination, unsigned width) {
    if (steps_.empty()) add(resized(width, width, false), width);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      std::uint32_t target = i + 1 == steps_.size() ? destination : decoder.scratch(steps_[i].width);
      decoder.emit(steps_[i].run, target, source).immediate = static_cast<std::int64_t>(form_.rounding);
      source = target;
    }
  }

private:
  struct Step {
    Handler run = nullptr;
    unsigned width = 0; // bytes per lane of the result
  };
  const ptx::Instruction& in_;
  const Form form_;
  std::vector<Step> steps_;

  void add(Handler run, unsigned width) { steps_.push_back({need(run, in_), width}); }

  void saturate(ptx::Type type) {
    add(type == ptx::Type::f32 ? unary<unit, float, float> : unary<unit, double, double>, bytes_of(type));
  }

  void cut_byte(ptx::Type type) {
    if (bytes_of(type) == 1)
      add(is_signed(type) ? unary<lowest_byte<s8>, s16, s16> : unary<lowest_byte<u8>, u16, u16>, 2);
  }

  void from_integer(ptx::Type from, ptx::Type to) {
    cut_byte(from);
    if (!is_float(to) && !is_half(to)) {
      resize(held_bytes(from), form_.saturate ? 8 : held_bytes(to), is_signed(from));
      if (!form_.saturate) return cut_byte(to);
      const bool sign = is_signed(from);
      add(pick<u8, s8, u16, s16, u32, s32, u64, s64>(to,
                                                     [=]<typename I>(std::type_identity<I>) -> Handler {
                                                       return sign ? unary<fitted<I, s64>, Held<I>, s64>
                                                                   : unary<fitted<I, u64>, Held<I>, u64>;
                                                     }),
          held_bytes(to));
      return;
    }
    resize(held_bytes(from), std::max(4u, bytes_of(from)), is_signed(from));
    const bool wide = bytes_of(from) == 8, sign = is_signed(from);
    if (is_half(to)) {
      add(wide ? (sign ? unary<with_sticky_bit, double, s64> : unary<with_sticky_bit, double, u64>)
               : (sign ? unary<same, double, s32> : unary<same, double, u32>),
          8);
      return to_half_type(to);
    }
    auto make = [=, rounding = form_.rounding]<typename D>(std::type_identity<D>) -> Handler {
      if (wide) return sign ? to_float<D, s64>(rounding) : to_float<D, u64>(rounding);
      return sign ? to_float<D, s32>(rounding) : to_float<D, u32>(rounding);
    };
    add(pick<float, double>(to, make), bytes_of(to));
  }

  void from_float(ptx::Type from, ptx::Type to) {
    const bool single = from == ptx::Type::f32;
    if (from == to) {
      if (form_.integer_rounding) round_to_whole(single);
    } else if (is_half(to)) {
      if (single) add(unary<same, double, float>, 8);
      to_half_type(to);
    } else if (is_float(to)) {
      add(single ? unary<same, double, float> : to_float<float, double>(form_.rounding), bytes_of(to));
    } else {
      if (form_.rounding != Rounding::zero) round_to_whole(single);
      add(pick<u8, s8, u16, s16, u32, s32, u64, s64>(to,
                                                     [=]<typename I>(std::type_identity<I>) -> Handler {
                                                       return single ? unary<clamped<I>, Held<I>, float>
                                                                     : unary<clamped<I>, Held<I>, double>;
                                                     }),
          held_bytes(to));
    }
  }

  void from_half(ptx::Type from, ptx::Type to) {
    if (is_half(to) && (from != to || !form_.integer_rounding)) refuse(in_);
    const bool f16 = from == ptx::Type::f16;
    if (to == ptx::Type::f32) return add(f16 ? unary<same, float, Half> : unary<same, float, BFloat>, 4);
    add(f16 ? unary<same, double, Half> : unary<same, double, BFloat>, 8);
    if (is_half(to)) {
      round_to_whole(false);
      to_half_type(to);
    } else if (to != ptx::Type::f64) {
      from_float(ptx::Type::f64, to);
    }
  }

  void round_to_whole(bool single) {
    add(single ? to_whole<float>(form_.rounding) : to_whole<double>(form_.rounding), single ? 4 : 8);
  }

  void to_half_type(ptx::Type to) {
    if (form_.saturate) saturate(ptx::Type::f64); // 0 and 1 are halves: clamping first is the same
    add(to == ptx::Type::f16 ? half_from_double<Half>(form_.rounding)
                             : half_from_double<BFloat>(form_.rounding),
        2);
  }
};

// cvt.rn.f16x2.f32 d, a, b: a in the upper half.
template <typename H>
constexpr auto pack_pair = [](float a, float b) {
  return Pair<H>{H(b), H(a)};
};
template <typename H>
constexpr auto pack_pair_relu = [](float a, float b) {
  auto clip = [](float x) { return x > 0 ? x : x != x ? x : 0.0f; };
  return Pair<H>{H(clip(b)), H(clip(a))};
};

// cvt.rna.tf32.f32 d, a: a float of which 10 bits of the fraction are kept. PTX leaves open what becomes of
// NaN and of the other 13 bits; this is what an H100 does with both.
constexpr u32 tf32_unused = (1u << 13) - 1, tf32_nan = 0x7fff'e000, float_infinity = 0x7f80'0000;
constexpr bool is_past_finite(u32 bits) {
  return (bits & float_infinity) == float_infinity;
}
constexpr bool is_nan(u32 bits) {
  return (bits & ~(1u << 31)) > float_infinity;
}
constexpr auto tf32_nearest = [](u32 a) -> u32 { // ties to even
  if (is_nan(a)) return tf32_nan;
  return (a + tf32_unused / 2 + (a >> 13 & 1)) & ~tf32_unused;
};
constexpr auto tf32_towards_zero = [](u32 a) -> u32 { return is_nan(a) ? tf32_nan : a & ~tf32_unused; };
constexpr auto tf32_away = [](u32 a) -> u32 { // ties away from zero
  return (is_past_finite(a) ? a : a + (tf32_unused + 1) / 2) & ~tf32_unused;
};
template <auto Rounded>
constexpr auto not_negative = [](u32 a) -> u32 { return a >> 31 && !is_nan(a) ? 0 : Rounded(a); };
constexpr auto tf32_away_finite = [](u32 a) -> u32 {
  const u32 rounded = tf32_away(a);
  return is_past_finite(rounded) ? rounded - (tf32_unused + 1) : rounded;
};

void decode_tf32(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"rn", "rz", "rna", "relu", "satfinite", "tf32"});
  need_operands(in, 2);
  const bool relu = in.has("relu"), finite = in.has("satfinite"), away = in.has("rna");
  if (type_modifier(in) != ptx::Type::f32 || (finite && !away) || (relu && away)) refuse(in);
  Handler run = nullptr;
  if (away) run = finite ? unary<tf32_away_finite, u32, u32> : unary<tf32_away, u32, u32>;
  if (in.has("rn")) run = relu ? unary<not_negative<tf32_nearest>, u32, u32> : unary<tf32_nearest, u32, u32>;
  if (in.has("rz"))
    run = relu ? unary<not_negative<tf32_towards_zero>, u32, u32> : unary<tf32_towards_zero, u32, u32>;
  decoder.emit(need(run, in), decoder.destination(in.operands[0], 4),
               decoder.source(in.operands[1], ptx::Type::f32));
}

Rounding rounding_of(const ptx::Instruction& in) {
  if (in.has("rn") || in.has("rni")) return Rounding::nearest;
  if (in.has("rz") || in.has("rzi")) return Rounding::zero;
  if (in.has("rm") || in.has("rmi")) return Rounding::down;
  if (in.has("rp") || in.has("rpi")) return Rounding::up;
  return Rounding::none;
}

void decode_pack(Decoder& decoder, const ptx::Instruction& in, ptx::Type to) {
  bool relu = in.has("relu");
  if (!in.has("rn") || type_modifier(in) != ptx::Type::f32) refuse(in);
  Handler run = to == ptx::Type::f16x2 ? (relu ? binary<pack_pair_relu<Half>, Pair<Half>, float, float>
                                               : binary<pack_pair<Half>, Pair<Half>, float, float>)
                                       : (relu ? binary<pack_pair_relu<BFloat>, Pair<BFloat>, float, float>
                                               : binary<pack_pair<BFloat>, Pair<BFloat>, float, float>);
  decoder.emit(run, decoder.destination(in.operands[0], 4), decoder.source(in.operands[1], ptx::Type::f32),
               decoder.source(in.operands[2], ptx::Type::f32));
}

void decode_cvt(Decoder& decoder, const ptx::Instruction& in) {
  if (in.has("tf32")) return decode_tf32(decoder, in);
  allow(in, {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "sat", "ftz", "relu"});
  ptx::Type to = type_modifier(in, 1), from = type_modifier(in);
  if (in.operands.size() == 3) return decode_pack(decoder, in, to);
  need_operands(in, 2);
  if (in.has("relu")) refuse(in);
  Chain chain(in, {.rounding = rounding_of(in),
                   .integer_rounding = in.has("rni") || in.has("rzi") || in.has("rmi") || in.has("rpi"),
                   .saturate = in.has("sat"),
                   .flush = in.has("ftz")});
  std::uint32_t source = decoder.wide_source(in.operands[1], from);
  std::uint32_t destination = decoder.wide_destination(in.operands[0], bytes_of(to));
  // Registers may be wider than the types: narrow the source first, widen the result last.
  unsigned source_width = decoder.width_of(in.operands[1]), width = decoder.width_of(in.operands[0]);
  if (source_width > held_bytes(from)) chain.resize(source_width, held_bytes(from), false);
  chain.convert(from, to);
  if (width > held_bytes(to)) chain.resize(held_bytes(to), width, is_signed(to));
  chain.emit(decoder, source, destination, std::max(width, held_bytes(to)));
}

constexpr Opcode opcodes[] = {{"cvt", decode_cvt}};

} // namespace

std::span<const Opcode> conversion_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
