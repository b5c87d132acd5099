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

// isspacep.shared::cta: the shared memory of the thread's own block, whichever way the address names it.
const Operation* is_own_shared(Warp& warp, const Operation* op) {
  const u64* a = warp.row<u64>(op->a);
  u32 bits = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const u64 inside = a[lane] & ~window_mask;
    const bool own = !names_rank(inside) || named_rank(inside) == warp.block->rank;
    bits |= static_cast<u32>((a[lane] & window_mask) == shared_window && own) << lane;
  }
  u32& d = *warp.row<u32>(op->d);
  d = (d & ~warp.mask) | (bits & warp.mask);
  return op + 1;
}

void decode_isspacep(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 2);
  ptx::Space space = memory_form(in).space;
  if (space == ptx::Space::generic || space == ptx::Space::constant) refuse(in);
  const bool own_block = space == ptx::Space::shared && !in.has("shared::cluster"); // the default of .shared
  decoder
      .emit(own_block ? is_own_shared : is_space, decoder.predicate(in.operands[0]),
            decoder.source(in.operands[1], ptx::Type::u64))
      .immediate = static_cast<std::int64_t>(window_of(space));
}

// mapa: the address that an address of shared memory has in the block of rank b of the cluster; getctarank:
// the rank that an address names. Of a generic address, the window stays.
template <typename Address>
const Operation* map_address(Warp& warp, const Operation* op) {
  const Address* a = warp.row<Address>(op->a);
  const u32* rank = warp.row<u32>(op->b);
  const bool is_alone = warp.block->cluster->size() == 1;
  write_lanes(warp, warp.row<Address>(op->d), [=](unsigned lane) {
    if (is_alone && rank[lane] == 0) return a[lane];
    const u64 window = u64{a[lane]} & window_mask;
    return static_cast<Address>(window | cluster_address(rank[lane], a[lane] & ~window_mask));
  });
  return op + 1;
}
template <typename Address>
const Operation* rank_of_address(Warp& warp, const Operation* op) {
  const Address* a = warp.row<Address>(op->a);
  const u32 own = warp.block->rank;
  write_lanes(warp, warp.row<u32>(op->d), [=](unsigned lane) {
    const u64 inside = a[lane] & ~window_mask;
    return names_rank(inside) ? static_cast<u32>(named_rank(inside)) : own;
  });
  return op + 1;
}

void decode_mapa(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 3);
  const ptx::Type type = type_modifier(in);
  Handler run =
      pick<u32, u64>(type, []<typename T>(std::type_identity<T>) -> Handler { return map_address<T>; });
  need(run, in);
  const std::uint32_t a = decoder.source(in.operands[1], type),
                      rank = decoder.source(in.operands[2], ptx::Type::u32);
  decoder.emit(run, decoder.destination(in.operands[0], static_cast<unsigned>(ptx::size_of(type))), a, rank);
}

void decode_getctarank(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 2);
  const ptx::Type type = type_modifier(in);
  Handler run =
      pick<u32, u64>(type, []<typename T>(std::type_identity<T>) -> Handler { return rank_of_address<T>; });
  need(run, in);
  const std::uint32_t a = decoder.source(in.operands[1], type);
  decoder.emit(run, decoder.destination(in.operands[0], 4), a);
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
    {"createpolicy", decode_policy}, {"mapa", decode_mapa},          {"getctarank", decode_getctarank},
};

} // namespace

std::span<const Opcode> address_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
