// Two 16-bit integers in one 32-bit register (PTX ISA 9.7.1, types .u16x2 and .s16x2): add, min and max,
// since sm_90.
#include "arithmetic.hpp"

namespace warpfold::machine {

namespace {

constexpr auto plus = [](auto a, auto b) { return a + b; };
constexpr auto smaller = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto larger = [](auto a, auto b) { return a > b ? a : b; };
template <auto F>
constexpr auto clipped = [](auto a, auto b) { return std::max(static_cast<int>(F(a, b)), 0); };

// Applies F to the lower and to the upper halves.
template <typename T, auto F>
constexpr auto halves = [](u32 a, u32 b) {
  auto apply = [](u32 x, u32 y) -> u32 { return static_cast<u16>(F(static_cast<T>(x), static_cast<T>(y))); };
  return apply(a >> 16, b >> 16) << 16 | apply(a, b);
};

template <auto F>
void decode_halves(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"u16x2", "s16x2", "relu"});
  Handler run = in.has("u16x2")  ? binary<halves<u16, F>, u32, u32, u32>
                : in.has("relu") ? binary<halves<s16, clipped<F>>, u32, u32, u32>
                                 : binary<halves<s16, F>, u32, u32, u32>;
  emit_binary(decoder, in, run, ptx::Type::b32);
}

} // namespace

bool is_packed_integer(const ptx::Instruction& in) {
  return in.has("u16x2") || in.has("s16x2");
}

void decode_packed_add(Decoder& decoder, const ptx::Instruction& in) {
  decode_halves<plus>(decoder, in);
}
void decode_packed_min(Decoder& decoder, const ptx::Instruction& in) {
  decode_halves<smaller>(decoder, in);
}
void decode_packed_max(Decoder& decoder, const ptx::Instruction& in) {
  decode_halves<larger>(decoder, in);
}

} // namespace warpfold::machine
