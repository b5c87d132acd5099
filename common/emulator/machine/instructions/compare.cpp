// Comparison and selection (PTX ISA 9.7.6): setp, set, selp, slct.
#include "half.hpp"
#include "lanes.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace warpfold::machine {

namespace {

enum class Compare : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

// The ordered comparisons are false if an operand is NaN; those that end in u are then true.
template <Compare Which, typename T>
inline bool compares(T a, T b) {
  using enum Compare;
  bool unordered = false;
  if constexpr (std::is_floating_point_v<T>) unordered = a != a || b != b;
  if constexpr (Which == eq) return a == b;
  if constexpr (Which == ne) return !unordered && a != b;
  if constexpr (Which == lt) return a < b;
  if constexpr (Which == le) return a <= b;
  if constexpr (Which == gt) return a > b;
  if constexpr (Which == ge) return a >= b;
  if constexpr (Which == equ) return unordered || a == b;
  if constexpr (Which == neu) return unordered || a != b;
  if constexpr (Which == ltu) return unordered || a < b;
  if constexpr (Which == leu) return unordered || a <= b;
  if constexpr (Which == gtu) return unordered || a > b;
  if constexpr (Which == geu) return unordered || a >= b;
  if constexpr (Which == num) return !unordered;
  return unordered;
}

template <typename T, typename S>
inline T loaded(S raw) {
  if constexpr (std::is_same_v<S, T>)
    return raw;
  else
    return static_cast<T>(raw);
}

#ifdef __AVX512F__
// The comparison as the number that vpcmp and vcmpps take (Intel SDM, VPCMPD and VCMPPS).
template <Compare Which>
constexpr int integer_code() {
  using enum Compare;
  return Which == eq ? 0 : Which == lt ? 1 : Which == le ? 2 : Which == ne ? 4 : Which == ge ? 5 : 6;
}
template <Compare Which>
constexpr int float_code() {
  using enum Compare;
  constexpr int codes[] = {0, 12, 17, 18, 30, 29, 8, 4, 25, 26, 22, 21, 7, 3};
  return codes[static_cast<int>(Which)];
}

// Each vector of 64 bytes gives the bits of its lanes at once.
template <Compare Which, typename T>
inline u32 compare_vectors(const T* a, const T* b) {
  constexpr unsigned per_vector = 64 / sizeof(T);
  u32 bits = 0;
  for (unsigned lane = 0; lane < warp_lanes; lane += per_vector) {
    __m512i x = _mm512_loadu_si512(a + lane), y = _mm512_loadu_si512(b + lane);
    u32 part;
    if constexpr (std::is_same_v<T, float>)
      part = _mm512_cmp_ps_mask(_mm512_castsi512_ps(x), _mm512_castsi512_ps(y), float_code<Which>());
    else if constexpr (std::is_same_v<T, double>)
      part = _mm512_cmp_pd_mask(_mm512_castsi512_pd(x), _mm512_castsi512_pd(y), float_code<Which>());
    else if constexpr (std::is_same_v<T, s32>)
      part = _mm512_cmp_epi32_mask(x, y, integer_code<Which>());
    else if constexpr (std::is_same_v<T, u32>)
      part = _mm512_cmp_epu32_mask(x, y, integer_code<Which>());
    else if constexpr (std::is_same_v<T, s64>)
      part = _mm512_cmp_epi64_mask(x, y, integer_code<Which>());
    else
      part = _mm512_cmp_epu64_mask(x, y, integer_code<Which>());
    bits |= part << lane;
  }
  return bits;
}
#endif

// The lowest bit of each of 32 bytes, which are 0 or 0xff.
inline u32 gather_bits(const std::uint8_t* bytes) {
#ifdef __AVX2__
  return static_cast<u32>(_mm256_movemask_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(bytes))));
#else
  u32 bits = 0;
  for (unsigned part = 0; part < warp_lanes / 8; ++part) {
    u64 eight;
    std::memcpy(&eight, bytes + 8 * part, sizeof eight);
    bits |= static_cast<u32>((eight & 0x0101010101010101ull) * 0x0102040810204080ull >> 56) << 8 * part;
  }
  return bits;
#endif
}

// One bit per lane. `S` is how the register holds the value, `T` how it is compared (halves are compared as
// float).
template <Compare Which, typename T, typename S>
inline u32 compare_bits(const S* a, const S* b) {
#ifdef __AVX512F__
  if constexpr (std::is_same_v<S, T> && sizeof(T) >= 4) return compare_vectors<Which, T>(a, b);
#endif
  // First a byte per lane, because this vectorises; then one bit of each byte.
  alignas(32) std::uint8_t holds[warp_lanes];
#pragma GCC ivdep
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    holds[lane] = compares<Which, T>(loaded<T>(a[lane]), loaded<T>(b[lane])) ? 0xff : 0;
  return gather_bits(holds);
}

// setp.cmp p, a, b: the common form.
template <Compare Which, typename T, typename S>
const Operation* set_predicate(Warp& warp, const Operation* op) {
  u32 bits = compare_bits<Which, T, S>(warp.row<S>(op->a), warp.row<S>(op->b));
  u32& d = *warp.row<u32>(op->d);
  d = (d & ~warp.mask) | (bits & warp.mask);
  return op + 1;
}

// What follows the comparison in setp.cmp.bool p|q, a, b, c: d holds the comparison's result, e its
// complement (or nothing).
enum class Combine : std::uint8_t { conjunction, disjunction, exclusive };
constexpr std::int64_t negate_c = 1, write_second = 2;
template <Combine How>
const Operation* combine_predicates(Warp& warp, const Operation* op) {
  u32 compared = *warp.row<u32>(op->a), other = *warp.row<u32>(op->c);
  if (op->immediate & negate_c) other = ~other;
  auto combine = [&](u32 x) {
    return How == Combine::conjunction ? x & other : How == Combine::disjunction ? x | other : x ^ other;
  };
  u32 first = combine(compared), second = combine(~compared);
  u32& d = *warp.row<u32>(op->d);
  d = (d & ~warp.mask) | (first & warp.mask);
  if (op->immediate & write_second) {
    u32& e = *warp.row<u32>(op->e);
    e = (e & ~warp.mask) | (second & warp.mask);
  }
  return op + 1;
}

template <Compare Which>
Handler pick_compare(ptx::Type type) {
  if (type == ptx::Type::f16) return set_predicate<Which, float, Half>;
  if (type == ptx::Type::bf16) return set_predicate<Which, float, BFloat>;
  return pick<u16, s16, u32, s32, u64, s64, float, double>(
      type, []<typename T>(std::type_identity<T>) -> Handler {
        if constexpr (Which > Compare::ge && !std::is_floating_point_v<T>)
          return nullptr;
        else
          return set_predicate<Which, T, T>;
      });
}

// lo, ls, hi and hs are the unsigned names of lt, le, gt and ge.
Handler pick_compare(const ptx::Instruction& in, ptx::Type type) {
  using enum Compare;
  for (std::string_view m : in.modifiers) {
    if (m == "eq") return pick_compare<eq>(type);
    if (m == "ne") return pick_compare<ne>(type);
    if (m == "lt" || m == "lo") return pick_compare<lt>(type);
    if (m == "le" || m == "ls") return pick_compare<le>(type);
    if (m == "gt" || m == "hi") return pick_compare<gt>(type);
    if (m == "ge" || m == "hs") return pick_compare<ge>(type);
    if (m == "equ") return pick_compare<equ>(type);
    if (m == "neu") return pick_compare<neu>(type);
    if (m == "ltu") return pick_compare<ltu>(type);
    if (m == "leu") return pick_compare<leu>(type);
    if (m == "gtu") return pick_compare<gtu>(type);
    if (m == "geu") return pick_compare<geu>(type);
    if (m == "num") return pick_compare<num>(type);
    if (m == "nan") return pick_compare<nan>(type);
  }
  return nullptr;
}

// With .ftz, subnormal operands count as zeros: they are flushed first, into a row of their own.
constexpr auto flushed = [](float a) {
  return std::fabs(a) < std::numeric_limits<float>::min() ? std::copysign(0.0f, a) : a;
};
constexpr auto flushed_half = [](Half a) {
  return std::fabs(double(a)) < 0x1p-14 ? Half(std::copysign(0.0, double(a))) : a;
};
std::uint32_t compared_source(Decoder& decoder, const ptx::Instruction& in, const ptx::Operand& operand,
                              ptx::Type type) {
  std::uint32_t source = decoder.source(operand, type);
  if (!in.has("ftz")) return source;
  bool narrow = type == ptx::Type::f16;
  if (type != ptx::Type::f32 && !narrow) refuse(in);
  std::uint32_t row = decoder.scratch(narrow ? 2 : 4);
  decoder.emit(narrow ? unary<flushed_half, Half, Half> : unary<flushed, float, float>, row, source);
  return row;
}

std::uint32_t emit_compare(Decoder& decoder, const ptx::Instruction& in, ptx::Type type, std::uint32_t into) {
  std::uint32_t first = compared_source(decoder, in, in.operands[1], type);
  std::uint32_t second = compared_source(decoder, in, in.operands[2], type);
  decoder.emit(need(pick_compare(in, type), in), into, first, second);
  return into;
}

Handler pick_combine(const ptx::Instruction& in) {
  if (in.has("or")) return combine_predicates<Combine::disjunction>;
  if (in.has("xor")) return combine_predicates<Combine::exclusive>;
  return combine_predicates<Combine::conjunction>;
}

void emit_combine(Decoder& decoder, const ptx::Instruction& in, std::uint32_t d, std::uint32_t compared,
                  std::int64_t flags, std::uint32_t second) {
  bool has_c = in.operands.size() == 4;
  ptx::Operand always{ptx::Immediate{ptx::Immediate::Kind::integer, 1}};
  const ptx::Operand& c = has_c ? in.operands[3] : always;
  if (decoder.is_negated(c)) flags |= negate_c;
  Operation& op = decoder.emit(pick_combine(in), d, compared, 0, decoder.predicate(c));
  op.immediate = flags;
  op.e = second;
}

void decode_setp(Decoder& decoder, const ptx::Instruction& in) {
  if (in.operands.size() != 3 && in.operands.size() != 4) refuse(in);
  ptx::Type type = type_modifier(in);
  auto* pair = std::get_if<ptx::PairOperand>(&in.operands[0].value);
  if (!pair && in.operands.size() == 3) {
    emit_compare(decoder, in, type, decoder.predicate(in.operands[0]));
    return;
  }
  ptx::Operand scratch{ptx::Sink{}};
  std::uint32_t compared = emit_compare(decoder, in, type, decoder.predicate(scratch));
  if (!pair) return emit_combine(decoder, in, decoder.predicate(in.operands[0]), compared, 0, 0);
  std::uint32_t first = pair->first_is_sink ? decoder.predicate(scratch) : decoder.predicate(pair->first);
  std::uint32_t second = pair->second_is_sink ? decoder.predicate(scratch) : decoder.predicate(pair->second);
  emit_combine(decoder, in, first, compared, write_second, second);
}

// set.cmp.dtype.stype d, a, b: all ones or 1.0 if the comparison holds.
template <typename D>
const Operation* spread_predicate(Warp& warp, const Operation* op) {
  u32 bits = *warp.row<u32>(op->a);
  auto yes = static_cast<D>(op->immediate);
  write_lanes(warp, warp.row<D>(op->d), [=](unsigned lane) { return bits >> lane & 1 ? yes : D{0}; });
  return op + 1;
}

void decode_set(Decoder& decoder, const ptx::Instruction& in) {
  ptx::Type to = type_modifier(in, 1), type = type_modifier(in);
  ptx::Operand scratch{ptx::Sink{}};
  if (type == ptx::Type::f16x2 || type == ptx::Type::bf16x2) refuse(in);
  std::uint32_t compared = emit_compare(decoder, in, type, decoder.predicate(scratch));
  if (in.operands.size() == 4) {
    std::uint32_t combined = decoder.predicate(scratch);
    emit_combine(decoder, in, combined, compared, 0, 0);
    compared = combined;
  }
  std::int64_t yes = -1;
  if (to == ptx::Type::f32) yes = 0x3f800000;
  if (to == ptx::Type::f16) yes = 0x3c00;
  if (to == ptx::Type::bf16) yes = 0x3f80;
  bool narrow = ptx::size_of(to) == 2;
  decoder
      .emit(narrow ? spread_predicate<u16> : spread_predicate<u32>,
            decoder.destination(in.operands[0], narrow ? 2 : 4), compared)
      .immediate = yes;
}

template <typename T>
const Operation* select(Warp& warp, const Operation* op) {
  const T *a = warp.row<T>(op->a), *b = warp.row<T>(op->b);
  u32 bits = *warp.row<u32>(op->c) ^ static_cast<u32>(op->immediate);
  write_lanes(warp, warp.row<T>(op->d), [=](unsigned lane) { return bits >> lane & 1 ? a[lane] : b[lane]; });
  return op + 1;
}

void decode_selp(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 4);
  ptx::Type type = type_modifier(in);
  std::size_t width = ptx::size_of(type);
  Handler run = width == 2 ? select<u16> : width == 4 ? select<u32> : width == 8 ? select<u64> : nullptr;
  decoder
      .emit(need(run, in), decoder.destination(in.operands[0], static_cast<unsigned>(width)),
            decoder.source(in.operands[1], type), decoder.source(in.operands[2], type),
            decoder.predicate(in.operands[3]))
      .immediate = decoder.is_negated(in.operands[3]) ? -1 : 0;
}

constexpr auto select_by_sign = [](auto a, auto b, auto c) { return c >= 0 ? a : b; };
void decode_slct(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"ftz"});
  need_operands(in, 4);
  ptx::Type type = type_modifier(in, 1), by = type_modifier(in);
  Handler run =
      pick<u16, u32, s32, u64, s64, float, double>(type, [=]<typename T>(std::type_identity<T>) -> Handler {
        return by == ptx::Type::f32 ? Handler{ternary<select_by_sign, T, T, T, float>}
                                    : Handler{ternary<select_by_sign, T, T, T, s32>};
      });
  decoder.emit(need(run, in), decoder.destination(in.operands[0], static_cast<unsigned>(ptx::size_of(type))),
               decoder.source(in.operands[1], type), decoder.source(in.operands[2], type),
               decoder.source(in.operands[3], by));
}

constexpr Opcode opcodes[] = {
    {"setp", decode_setp}, {"set", decode_set}, {"selp", decode_selp}, {"slct", decode_slct}};

} // namespace

std::span<const Opcode> compare_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
