// Handlers that do the same to every lane; the arithmetic families are made of these.
#pragma once

#include "machine/decoder.hpp"

#include <algorithm>
#include <initializer_list>
#include <type_traits>

namespace warpfold::machine {

// Writes value(lane) to the active lanes of a row. Inactive lanes are computed too, but keep their values:
// the compiler can vectorise a loop without branches. So `value` must be harmless for any input.
template <typename T, typename Value>
inline void write_lanes(const Warp& warp, T* row, Value value) {
  if (warp.mask == all_lanes) {
#pragma GCC ivdep
    for (unsigned lane = 0; lane < warp_lanes; ++lane) row[lane] = value(lane);
  } else {
#pragma GCC ivdep
    for (unsigned lane = 0; lane < warp_lanes; ++lane) row[lane] = warp.lanes[lane] ? value(lane) : row[lane];
  }
}

template <auto F, typename D, typename A>
const Operation* unary(Warp& warp, const Operation* op) {
  const A* a = warp.row<A>(op->a);
  write_lanes(warp, warp.row<D>(op->d), [=](unsigned lane) { return static_cast<D>(F(a[lane])); });
  return op + 1;
}

template <auto F, typename D, typename A, typename B>
const Operation* binary(Warp& warp, const Operation* op) {
  const A* a = warp.row<A>(op->a);
  const B* b = warp.row<B>(op->b);
  write_lanes(warp, warp.row<D>(op->d), [=](unsigned lane) { return static_cast<D>(F(a[lane], b[lane])); });
  return op + 1;
}

template <auto F, typename D, typename A, typename B, typename C>
const Operation* ternary(Warp& warp, const Operation* op) {
  const A* a = warp.row<A>(op->a);
  const B* b = warp.row<B>(op->b);
  const C* c = warp.row<C>(op->c);
  write_lanes(warp, warp.row<D>(op->d),
              [=](unsigned lane) { return static_cast<D>(F(a[lane], b[lane], c[lane])); });
  return op + 1;
}

// The C++ type that holds values of a PTX type; untyped bits are unsigned.
template <typename T>
bool is_type(ptx::Type type) {
  using Named = ptx::Type;
  if constexpr (std::is_same_v<T, u8>) return type == Named::u8 || type == Named::b8;
  if constexpr (std::is_same_v<T, u16>) return type == Named::u16 || type == Named::b16;
  if constexpr (std::is_same_v<T, u32>) return type == Named::u32 || type == Named::b32;
  if constexpr (std::is_same_v<T, u64>) return type == Named::u64 || type == Named::b64;
  if constexpr (std::is_same_v<T, s8>) return type == Named::s8;
  if constexpr (std::is_same_v<T, s16>) return type == Named::s16;
  if constexpr (std::is_same_v<T, s32>) return type == Named::s32;
  if constexpr (std::is_same_v<T, s64>) return type == Named::s64;
  if constexpr (std::is_same_v<T, float>) return type == Named::f32;
  if constexpr (std::is_same_v<T, double>) return type == Named::f64;
  return false;
}

// The handler for `type`, which must be one of the listed types; null if it is not.
template <typename... T, typename Make>
Handler pick(ptx::Type type, Make make) {
  Handler found = nullptr;
  ((is_type<T>(type) && !found ? void(found = make(std::type_identity<T>{})) : void()), ...);
  return found;
}

// Refuses the instruction if it has a modifier that is neither a type nor listed: an unforeseen form must not
// run as if it were another.
inline void allow(const ptx::Instruction& in, std::initializer_list<std::string_view> modifiers) {
  for (std::string_view modifier : in.modifiers)
    if (ptx::type_from(modifier) == ptx::Type::none &&
        std::find(modifiers.begin(), modifiers.end(), modifier) == modifiers.end())
      refuse(in);
}

inline Handler need(Handler handler, const ptx::Instruction& in) {
  if (!handler) refuse(in);
  return handler;
}

inline void need_operands(const ptx::Instruction& in, std::size_t count) {
  if (in.operands.size() != count) refuse(in, "the number of operands is not the expected one");
}

// Decodes `op.type d, a;` (and so on), every operand of the instruction's type.
template <auto F, typename... T>
void decode_unary(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {});
  need_operands(in, 2);
  ptx::Type type = type_modifier(in);
  Handler run =
      need(pick<T...>(type, []<typename U>(std::type_identity<U>) -> Handler { return unary<F, U, U>; }), in);
  auto width = static_cast<unsigned>(ptx::size_of(type));
  decoder.emit(run, decoder.destination(in.operands[0], width), decoder.source(in.operands[1], type));
}

inline Operation& emit_binary(Decoder& decoder, const ptx::Instruction& in, Handler run, ptx::Type type) {
  need_operands(in, 3);
  auto width = static_cast<unsigned>(ptx::size_of(type));
  return decoder.emit(need(run, in), decoder.destination(in.operands[0], width),
                      decoder.source(in.operands[1], type), decoder.source(in.operands[2], type));
}

inline void emit_ternary(Decoder& decoder, const ptx::Instruction& in, Handler run, ptx::Type type) {
  need_operands(in, 4);
  auto width = static_cast<unsigned>(ptx::size_of(type));
  decoder.emit(need(run, in), decoder.destination(in.operands[0], width),
               decoder.source(in.operands[1], type), decoder.source(in.operands[2], type),
               decoder.source(in.operands[3], type));
}

template <auto F, typename... T>
Handler pick_unary(ptx::Type type) {
  return pick<T...>(type, []<typename U>(std::type_identity<U>) -> Handler { return unary<F, U, U>; });
}
template <auto F, typename... T>
Handler pick_binary(ptx::Type type) {
  return pick<T...>(type, []<typename U>(std::type_identity<U>) -> Handler { return binary<F, U, U, U>; });
}
template <auto F, typename... T>
Handler pick_ternary(ptx::Type type) {
  return pick<T...>(type,
                    []<typename U>(std::type_identity<U>) -> Handler { return ternary<F, U, U, U, U>; });
}

template <auto F, typename... T>
void decode_binary(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {});
  emit_binary(decoder, in, pick_binary<F, T...>(type_modifier(in)), type_modifier(in));
}

template <auto F, typename... T>
void decode_ternary(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {});
  emit_ternary(decoder, in, pick_ternary<F, T...>(type_modifier(in)), type_modifier(in));
}

} // namespace warpfold::machine
