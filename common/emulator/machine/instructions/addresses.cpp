// Converting addresses between spaces, testing them, and hints (PTX ISA 9.7.9).
#include "lanes.hpp"

#include "machine/access.hpp"

namespace warpfold::machine {

namespace {

// cvta: an offset in a window becomes a generic address or, with `to`, the reverse.
template <typename From, bool To>
const Operation* convert_address(Warp& warp, const Operation* op) {
  const From* a = warp.row<From>(op->a);
  auto window = static_cast<u64>(op->immediate);
  write_lanes(warp, warp.row<u64>(op->d),
              [=](unsigned lane) { return To ? a[lane] & ~window : a[lane] | window; });
  return op + 1;
}

u64 window_of(ptx::Space space) {
  if (space == ptx::Space::shared) return shared_window;
  if (space == ptx::Space::local) return local_window;
  if (space == ptx::Space::parameter) return parameter_window;
  return 0;
}

void decode_cvta(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 2);
  MemoryForm form = memory_form(in);
  Decoder::Address from = decoder.address(in.operands[1], form.space);
  if (from.offset != 0 || from.in_frame) refuse(in);
  bool wide = from.width == 8;
  if (ptx::size_of(form.type) != 8) refuse(in, "only 64-bit addresses are");
  Handler run = in.has("to") ? (wide ? convert_address<u64, true> : nullptr)
                             : (wide ? convert_address<u64, false> : convert_address<u32, false>);
  std::uint32_t source = from.is_kernel_parameter ? decoder.source(in.operands[1], form.type) : from.row;
  decoder.emit(need(run, in), decoder.destination(in.operands[0], 8), source).immediate =
      static_cast<std::int64_t>(window_of(form.space));
}

const Operation* is_space(Warp& warp, const Operation* op) {
  const u64* a = warp.row<u64>(op->a);
  auto window = static_cast<u64>(op->immediate);
  u32 bits = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    bits |= static_cast<u32>((a[lane] & window_mask) == window) << lane;
  u32& d = *warp.row<u32>(op->d);
  d = (d & ~warp.mask) | (bits & warp.mask);
  return op + 1;
}

void decode_isspacep(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 2);
  ptx::Space space = memory_form(in).space;
  if (space == ptx::Space::generic || space == ptx::Space::constant) refuse(in);
  decoder.emit(is_space, decoder.predicate(in.operands[0]), decoder.source(in.operands[1], ptx::Type::u64))
      .immediate = static_cast<std::int64_t>(window_of(space));
}

const Operation* nothing(Warp&, const Operation* op) {
  return op + 1;
}

// Hints never change a result.
void decode_hint(Decoder& decoder, const ptx::Instruction&) {
  decoder.emit(nothing);
}
void decode_policy(Decoder& decoder, const ptx::Instruction& in) {
  decoder.emit(nothing);
  decoder.destination(in.operands.at(0), 8);
}

constexpr Opcode opcodes[] = {
    {"cvta", decode_cvta},           {"isspacep", decode_isspacep},  {"prefetch", decode_hint},
    {"prefetchu", decode_hint},      {"applypriority", decode_hint}, {"discard", decode_hint},
    {"createpolicy", decode_policy},
};

} // namespace

std::span<const Opcode> address_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
