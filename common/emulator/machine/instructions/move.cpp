// Moves (PTX ISA 9.7.9): mov, pack and unpack, prmt, and reading clocks. Address conversions are in
// memory.cpp.
#include "lanes.hpp"

#include <ctime>

namespace warpfold::machine {

namespace {

template <typename T>
const Operation* move(Warp& warp, const Operation* op) {
  const T* a = warp.row<T>(op->a);
  write_lanes(warp, warp.row<T>(op->d), [=](unsigned lane) { return a[lane]; });
  return op + 1;
}

struct Wide {
  u64 low, high;
};
constexpr auto keep = [](Wide a) { return a; };

const Operation* move_predicate(Warp& warp, const Operation* op) {
  u32& d = *warp.row<u32>(op->d);
  d = (d & ~warp.mask) | (*warp.row<u32>(op->a) & warp.mask);
  return op + 1;
}

// One part of a wider register; `immediate` is its index. Packing writes it, unpacking reads it.
template <typename Part, typename Whole>
const Operation* pack(Warp& warp, const Operation* op) {
  constexpr unsigned parts = sizeof(Whole) / sizeof(Part);
  const Part* a = warp.row<Part>(op->a);
  Part* d = warp.row<Part>(op->d);
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    if (warp.mask >> lane & 1) d[lane * parts + static_cast<unsigned>(op->immediate)] = a[lane];
  return op + 1;
}
template <typename Part, typename Whole>
const Operation* unpack(Warp& warp, const Operation* op) {
  constexpr unsigned parts = sizeof(Whole) / sizeof(Part);
  const Part* a = warp.row<Part>(op->a) + op->immediate;
  write_lanes(warp, warp.row<Part>(op->d), [=](unsigned lane) { return a[lane * parts]; });
  return op + 1;
}

template <template <typename, typename> class Which>
Handler pick_parts(std::size_t part, std::size_t whole) {
  if (part == 2 && whole == 4) return Which<u16, u32>::handler;
  if (part == 2 && whole == 8) return Which<u16, u64>::handler;
  if (part == 4 && whole == 8) return Which<u32, u64>::handler;
  if (part == 4 && whole == 16) return Which<u32, Wide>::handler;
  if (part == 8 && whole == 16) return Which<u64, Wide>::handler;
  return nullptr;
}
template <typename P, typename W>
struct Pack {
  static constexpr Handler handler = pack<P, W>;
};
template <typename P, typename W>
struct Unpack {
  static constexpr Handler handler = unpack<P, W>;
};

ptx::Type bits_type(std::size_t bytes) {
  return bytes == 2   ? ptx::Type::b16
         : bytes == 4 ? ptx::Type::b32
         : bytes == 8 ? ptx::Type::b64
                      : ptx::Type::b128;
}

// mov.b64 d, {a, b}: through a scratch row, because d may be one of the sources.
void decode_packing(Decoder& decoder, const ptx::Instruction& in, std::size_t whole) {
  const auto& parts = decoder.elements(in.operands[1]);
  if (parts.empty()) refuse(in);
  std::size_t part = whole / parts.size();
  Handler run = need(pick_parts<Pack>(part, whole), in);
  std::uint32_t gathered = decoder.scratch(static_cast<unsigned>(whole));
  for (std::size_t i = 0; i < parts.size(); ++i)
    decoder.emit(run, gathered, decoder.source(parts[i], bits_type(part))).immediate =
        static_cast<std::int64_t>(i);
  Handler copy = whole == 4 ? move<u32> : whole == 8 ? move<u64> : unary<keep, Wide, Wide>;
  decoder.emit(copy, decoder.destination(in.operands[0], static_cast<unsigned>(whole)), gathered);
}

void decode_unpacking(Decoder& decoder, const ptx::Instruction& in, std::size_t whole) {
  const auto& parts = decoder.elements(in.operands[0]);
  if (parts.empty()) refuse(in);
  std::size_t part = whole / parts.size();
  Handler run = need(pick_parts<Unpack>(part, whole), in);
  std::uint32_t source = decoder.source(in.operands[1], bits_type(whole));
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!std::holds_alternative<ptx::Sink>(parts[i].value))
      decoder.emit(run, decoder.destination(parts[i], static_cast<unsigned>(part)), source).immediate =
          static_cast<std::int64_t>(i);
}

u64 nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<u64>(now.tv_sec) * 1'000'000'000ull + static_cast<u64>(now.tv_nsec);
}

// Clocks count nanoseconds of the host: they order events, and measure nothing about a GPU.
template <typename T, unsigned Shift>
const Operation* read_clock(Warp& warp, const Operation* op) {
  warp.worker->acted = true;
  auto now = static_cast<T>(nanoseconds() >> Shift);
  write_lanes(warp, warp.row<T>(op->d), [=](unsigned) { return now; });
  return op + 1;
}

Handler clock_handler(ptx::Special name) {
  using enum ptx::Special;
  if (name == clock || name == globaltimer_lo) return read_clock<u32, 0>;
  if (name == clock_hi || name == globaltimer_hi) return read_clock<u32, 32>;
  if (name == clock64 || name == globaltimer) return read_clock<u64, 0>;
  return nullptr;
}

void decode_mov(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 2);
  ptx::Type type = type_modifier(in);
  if (type == ptx::Type::pred) {
    decoder.emit(move_predicate, decoder.predicate(in.operands[0]), decoder.predicate(in.operands[1]));
    return;
  }
  std::size_t width = ptx::size_of(type);
  if (std::holds_alternative<ptx::VectorOperand>(in.operands[1].value))
    return decode_packing(decoder, in, width);
  if (std::holds_alternative<ptx::VectorOperand>(in.operands[0].value))
    return decode_unpacking(decoder, in, width);
  std::uint32_t destination = decoder.destination(in.operands[0], static_cast<unsigned>(width));
  if (auto* special = std::get_if<ptx::SpecialOperand>(&in.operands[1].value))
    if (Handler clock = clock_handler(special->name)) {
      decoder.emit(clock, destination);
      return;
    }
  Handler run = width == 2    ? Handler{move<u16>}
                : width == 4  ? Handler{move<u32>}
                : width == 8  ? Handler{move<u64>}
                : width == 16 ? Handler{unary<keep, Wide, Wide>}
                              : nullptr;
  decoder.emit(need(run, in), destination, decoder.source(in.operands[1], type));
}

// prmt: selects four of eight bytes; bit 3 of a selector replicates the byte's sign.
constexpr auto choose_bytes = [](u32 a, u32 b, u32 selectors) {
  u64 bytes = u64{b} << 32 | a;
  u32 result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    u32 selector = selectors >> 4 * i & 15;
    u32 byte = static_cast<u32>(bytes >> 8 * (selector & 7)) & 0xff;
    if (selector & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
};

// The special modes of prmt, each as the selector that it stands for.
template <unsigned Mode>
constexpr auto choose_mode = [](u32 a, u32 b, u32 c) {
  constexpr u32 forward[4] = {0x3210, 0x4321, 0x5432, 0x6543}, backward[4] = {0x5670, 0x6701, 0x7012, 0x0123};
  constexpr u32 replicate[4] = {0x0000, 0x1111, 0x2222, 0x3333},
                edge_left[4] = {0x3210, 0x3211, 0x3222, 0x3333};
  constexpr u32 edge_right[4] = {0x0000, 0x1110, 0x2210, 0x3210}, half[4] = {0x1010, 0x3232, 0x1010, 0x3232};
  const u32* table = Mode == 0   ? forward
                     : Mode == 1 ? backward
                     : Mode == 2 ? replicate
                     : Mode == 3 ? edge_left
                     : Mode == 4 ? edge_right
                                 : half;
  return choose_bytes(a, b, table[c & 3]);
};

void decode_prmt(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  Handler run = in.has("f4e")    ? ternary<choose_mode<0>, u32, u32, u32, u32>
                : in.has("b4e")  ? ternary<choose_mode<1>, u32, u32, u32, u32>
                : in.has("rc8")  ? ternary<choose_mode<2>, u32, u32, u32, u32>
                : in.has("ecl")  ? ternary<choose_mode<3>, u32, u32, u32, u32>
                : in.has("ecr")  ? ternary<choose_mode<4>, u32, u32, u32, u32>
                : in.has("rc16") ? ternary<choose_mode<5>, u32, u32, u32, u32>
                                 : ternary<choose_bytes, u32, u32, u32, u32>;
  emit_ternary(decoder, in, run, ptx::Type::b32);
}

constexpr Opcode opcodes[] = {{"mov", decode_mov}, {"prmt", decode_prmt}};

} // namespace

std::span<const Opcode> move_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
