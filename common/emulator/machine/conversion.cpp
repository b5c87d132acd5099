// cvt: between integers, floats and halves (PTX ISA 9.7.9.21).
#include "half.hpp"
#include "lanes.hpp"

#include <cfenv>
#include <cmath>
#include <limits>

namespace warpfold::machine {

namespace {

enum class Rounding : std::uint8_t { none, nearest, zero, down, up };

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

template <Rounding How, typename F>
F to_whole(F x) {
  if constexpr (How == Rounding::zero) return std::trunc(x);
  if constexpr (How == Rounding::down) return std::floor(x);
  if constexpr (How == Rounding::up) return std::ceil(x);
  return std::nearbyint(x);
}

// Out of range clamps, NaN becomes 0 (for s64/u64 and the narrow types alike, as the ISA's table says for
// NVIDIA's hardware since sm_20: NaN to 0 in 32 bits and below, and 0x8000... in 64).
template <typename I, typename F>
I clamp_to(F x) {
  constexpr F low = static_cast<F>(std::numeric_limits<I>::min());
  constexpr F high = static_cast<F>(std::numeric_limits<I>::max()); // may round up to a power of two
  if (x != x) return sizeof(I) == 8 ? static_cast<I>(1ull << 63) : I{0};
  if (x <= low) return std::numeric_limits<I>::min();
  if (x >= high) return std::numeric_limits<I>::max();
  return static_cast<I>(x);
}

// Directed rounding of a value that needs more bits than the target has.
template <typename To, typename From>
To narrow(From x, Rounding rounding) {
  if (rounding == Rounding::nearest || rounding == Rounding::none) return static_cast<To>(x);
  int before = std::fegetround();
  std::fesetround(host_mode(rounding));
  volatile From input = x;
  volatile To result = static_cast<To>(input);
  std::fesetround(before);
  return result;
}

template <typename D, typename S, Rounding How, bool Saturate>
D convert(S x) {
  constexpr bool from_float = std::is_floating_point_v<S>, to_float = std::is_floating_point_v<D>;
  if constexpr (!from_float && !to_float) {
    if constexpr (Saturate) {
      auto wide = static_cast<__int128>(x);
      wide = std::max<__int128>(wide, std::numeric_limits<D>::min());
      return static_cast<D>(std::min<__int128>(wide, std::numeric_limits<D>::max()));
    } else {
      return static_cast<D>(x);
    }
  } else if constexpr (from_float && !to_float) {
    return clamp_to<D>(to_whole<How>(x));
  } else {
    D result = narrow<D>(x, How);
    if constexpr (Saturate) result = result > 0 ? (result < 1 ? result : D{1}) : D{0};
    return result;
  }
}

// float to float of one width with .rni and its like: to a whole number, still a float.
template <typename F, Rounding How, bool Saturate>
F whole(F x) {
  F result = to_whole<How>(x);
  if constexpr (Saturate) result = result > 0 ? (result < 1 ? result : F{1}) : F{0};
  return result;
}

// How a register holds the type: 8-bit values take 16 bits.
template <typename T>
using Held = std::conditional_t<sizeof(T) == 1, std::conditional_t<std::is_signed_v<T>, s16, u16>, T>;

template <typename D, typename S, auto F>
const Operation* convert_row(Warp& warp, const Operation* op) {
  const Held<S>* a = warp.row<Held<S>>(op->a);
  write_lanes(warp, warp.row<Held<D>>(op->d),
              [=](unsigned lane) { return static_cast<Held<D>>(F(static_cast<S>(a[lane]))); });
  return op + 1;
}

template <typename D, typename S>
constexpr auto plain = [](S x) { return convert<D, S, Rounding::none, false>(x); };
template <typename D, typename S>
constexpr auto saturated = [](S x) { return convert<D, S, Rounding::none, true>(x); };
template <typename D, typename S, Rounding How>
constexpr auto rounded = [](S x) { return convert<D, S, How, false>(x); };
template <typename F, Rounding How>
constexpr auto kept_whole = [](F x) { return whole<F, How, false>(x); };

struct Form {
  Rounding rounding = Rounding::none;
  bool saturate = false, integer_rounding = false;
};

template <typename D, typename S>
Handler pick_rounding(const Form& form) {
  switch (form.rounding) {
  case Rounding::zero:
    return convert_row<D, S, rounded<D, S, Rounding::zero>>;
  case Rounding::down:
    return convert_row<D, S, rounded<D, S, Rounding::down>>;
  case Rounding::up:
    return convert_row<D, S, rounded<D, S, Rounding::up>>;
  default:
    return convert_row<D, S, rounded<D, S, Rounding::nearest>>;
  }
}

template <typename F>
Handler pick_whole(const Form& form) {
  switch (form.rounding) {
  case Rounding::zero:
    return unary<kept_whole<F, Rounding::zero>, F, F>;
  case Rounding::down:
    return unary<kept_whole<F, Rounding::down>, F, F>;
  case Rounding::up:
    return unary<kept_whole<F, Rounding::up>, F, F>;
  default:
    return unary<kept_whole<F, Rounding::nearest>, F, F>;
  }
}

template <typename D, typename S>
Handler pick_form(const Form& form) {
  constexpr bool from_float = std::is_floating_point_v<S>, to_float = std::is_floating_point_v<D>;
  if constexpr (!from_float && !to_float)
    return form.saturate ? convert_row<D, S, saturated<D, S>> : convert_row<D, S, plain<D, S>>;
  else if constexpr (std::is_same_v<D, S>) {
    if (form.integer_rounding) return form.saturate ? nullptr : pick_whole<D>(form);
    return form.saturate ? convert_row<D, S, saturated<D, S>> : convert_row<D, S, plain<D, S>>;
  } else {
    if (form.saturate && to_float) return convert_row<D, S, saturated<D, S>>;
    return pick_rounding<D, S>(form); // float to integer saturates by itself
  }
}

template <typename S>
Handler pick_destination(ptx::Type to, const Form& form) {
  return pick<u8, s8, u16, s16, u32, s32, u64, s64, float, double>(
      to, [&]<typename D>(std::type_identity<D>) -> Handler { return pick_form<D, S>(form); });
}

Handler pick_conversion(ptx::Type to, ptx::Type from, const Form& form) {
  return pick<u8, s8, u16, s16, u32, s32, u64, s64, float, double>(
      from, [&]<typename S>(std::type_identity<S>) -> Handler { return pick_destination<S>(to, form); });
}

// Halves: through double, which holds every half exactly. Of a 64-bit integer the bits that double has no
// room for go into its last one, where they still show that something was there.
template <typename S>
double with_sticky_bit(S x) {
  if constexpr (std::is_integral_v<S> && sizeof(S) == 8) {
    bool negative = x < 0;
    u64 magnitude = negative ? -static_cast<u64>(x) : static_cast<u64>(x);
    constexpr u64 below = 0x7ff;
    if (magnitude >> 53) magnitude = (magnitude & ~below) | (magnitude & below ? below + 1 : 0);
    return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
  } else {
    return static_cast<double>(x);
  }
}
template <typename H, typename S>
constexpr auto to_half = [](S x) { return H(with_sticky_bit(x)); };
template <typename H, typename D>
constexpr auto from_half = [](H x) { return static_cast<D>(x); };
template <typename H>
constexpr auto half_whole_nearest = [](H x) { return H(std::nearbyint(double(x))); };
template <typename H>
constexpr auto half_whole_down = [](H x) { return H(std::floor(double(x))); };
template <typename H>
constexpr auto half_whole_up = [](H x) { return H(std::ceil(double(x))); };
template <typename H>
constexpr auto half_whole_zero = [](H x) { return H(std::trunc(double(x))); };

// A half rounded towards zero, down or up, from the nearest one.
template <typename H, Rounding How>
constexpr auto to_half_directed = [](auto x) {
  double exact = with_sticky_bit(x);
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
Handler pick_to_half(ptx::Type from, Rounding rounding) {
  return pick<u8, s8, u16, s16, u32, s32, u64, s64, float, double>(
      from, [=]<typename S>(std::type_identity<S>) -> Handler {
        using R = std::conditional_t<sizeof(S) == 1, std::conditional_t<std::is_signed_v<S>, s16, u16>, S>;
        switch (rounding) {
        case Rounding::zero:
          return unary<to_half_directed<H, Rounding::zero>, H, R>;
        case Rounding::down:
          return unary<to_half_directed<H, Rounding::down>, H, R>;
        case Rounding::up:
          return unary<to_half_directed<H, Rounding::up>, H, R>;
        default:
          return unary<to_half<H, R>, H, R>;
        }
      });
}

template <typename H, typename D, Rounding How>
constexpr auto half_to_integer = [](H x) { return clamp_to<D>(to_whole<How>(double(x))); };

template <typename H>
Handler pick_from_half(ptx::Type to, Rounding rounding) {
  if (to == ptx::Type::f32) return unary<from_half<H, float>, float, H>;
  if (to == ptx::Type::f64) return unary<from_half<H, double>, double, H>;
  return pick<u16, s16, u32, s32, u64, s64>(to, [=]<typename D>(std::type_identity<D>) -> Handler {
    switch (rounding) {
    case Rounding::zero:
      return unary<half_to_integer<H, D, Rounding::zero>, D, H>;
    case Rounding::down:
      return unary<half_to_integer<H, D, Rounding::down>, D, H>;
    case Rounding::up:
      return unary<half_to_integer<H, D, Rounding::up>, D, H>;
    default:
      return unary<half_to_integer<H, D, Rounding::nearest>, D, H>;
    }
  });
}

template <typename H>
Handler pick_half_whole(Rounding rounding) {
  switch (rounding) {
  case Rounding::zero:
    return unary<half_whole_zero<H>, H, H>;
  case Rounding::down:
    return unary<half_whole_down<H>, H, H>;
  case Rounding::up:
    return unary<half_whole_up<H>, H, H>;
  default:
    return unary<half_whole_nearest<H>, H, H>;
  }
}

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

Rounding rounding_of(const ptx::Instruction& in) {
  if (in.has("rn") || in.has("rni")) return Rounding::nearest;
  if (in.has("rz") || in.has("rzi")) return Rounding::zero;
  if (in.has("rm") || in.has("rmi")) return Rounding::down;
  if (in.has("rp") || in.has("rpi")) return Rounding::up;
  return Rounding::none;
}

bool is_half(ptx::Type type) {
  return type == ptx::Type::f16 || type == ptx::Type::bf16;
}

Handler pick_half_form(ptx::Type to, ptx::Type from, const Form& form) {
  if (form.saturate) return nullptr;
  if (is_half(to) && is_half(from)) {
    if (to == from && form.integer_rounding)
      return to == ptx::Type::f16 ? pick_half_whole<Half>(form.rounding)
                                  : pick_half_whole<BFloat>(form.rounding);
    return nullptr;
  }
  if (is_half(to))
    return to == ptx::Type::f16 ? pick_to_half<Half>(from, form.rounding)
                                : pick_to_half<BFloat>(from, form.rounding);
  return from == ptx::Type::f16 ? pick_from_half<Half>(to, form.rounding)
                                : pick_from_half<BFloat>(to, form.rounding);
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

constexpr auto flush = [](float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
};

constexpr auto same = [](auto a) { return a; };

// Between the widths of registers, in bytes; 8-bit values are held in 16.
Handler pick_resize(unsigned from, unsigned to, bool sign) {
  from = std::max(from, 2u);
  to = std::max(to, 2u);
  if (from == to)
    return from == 2 ? unary<same, u16, u16> : from == 4 ? unary<same, u32, u32> : unary<same, u64, u64>;
  if (from == 8) return to == 4 ? unary<same, u32, u64> : unary<same, u16, u64>;
  if (from == 4)
    return to == 2 ? unary<same, u16, u32> : sign ? unary<same, s64, s32> : unary<same, u64, u32>;
  if (to == 4) return sign ? unary<same, s32, s16> : unary<same, u32, u16>;
  return sign ? unary<same, s64, s16> : unary<same, u64, u16>;
}

bool is_signed(ptx::Type type) {
  return type == ptx::Type::s8 || type == ptx::Type::s16 || type == ptx::Type::s32 || type == ptx::Type::s64;
}

void decode_cvt(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "sat", "ftz", "relu"});
  ptx::Type to = type_modifier(in, 1), from = type_modifier(in);
  if (in.operands.size() == 3) return decode_pack(decoder, in, to);
  need_operands(in, 2);
  if (in.has("relu")) refuse(in);
  auto from_width = static_cast<unsigned>(ptx::size_of(from)),
       to_width = static_cast<unsigned>(ptx::size_of(to));
  Form form{.rounding = rounding_of(in),
            .saturate = in.has("sat"),
            .integer_rounding = in.has("rni") || in.has("rzi") || in.has("rmi") || in.has("rpi")};
  std::uint32_t source = decoder.source(in.operands[1], from);
  std::uint32_t destination = decoder.destination(in.operands[0], to_width);
  // Registers may be wider than the types: cut the source first, spread the result last.
  if (unsigned held = decoder.width_of(in.operands[1]); held > std::max(2u, from_width)) {
    std::uint32_t cut = decoder.scratch(from_width);
    decoder.emit(need(pick_resize(held, from_width, false), in), cut, source);
    source = cut;
  }
  std::uint32_t final_row = destination;
  unsigned final_width = decoder.width_of(in.operands[0]);
  if (final_width > to_width) destination = decoder.scratch(to_width);
  if (in.has("ftz") && from == ptx::Type::f32) {
    std::uint32_t flushed = decoder.scratch(4);
    decoder.emit(unary<flush, float, float>, flushed, source);
    source = flushed;
  }
  Handler run =
      is_half(to) || is_half(from) ? pick_half_form(to, from, form) : pick_conversion(to, from, form);
  decoder.emit(need(run, in), destination, source);
  if (in.has("ftz") && to == ptx::Type::f32)
    decoder.emit(unary<flush, float, float>, destination, destination);
  if (final_row != destination)
    decoder.emit(need(pick_resize(to_width, final_width, is_signed(to)), in), final_row, destination);
}

constexpr Opcode opcodes[] = {{"cvt", decode_cvt}};

} // namespace

std::span<const Opcode> conversion_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
