// Operations across the lanes of a warp: shfl, vote, match, redux, activemask, elect (PTX ISA 9.7.9, 9.7.13).
#include "lanes.hpp"
#include "shuffle_lanes.hpp"

#include "machine/access.hpp"

#include <fmt/format.h>

namespace warpfold::machine {

namespace {

// The last warp of a block may have fewer than 32.
u32 lanes_of_block(const Warp& warp) {
  return all_lanes >> (warp_lanes - std::min(warp_lanes, warp.block->threads - warp.index * warp_lanes));
}

void note_member_mask(Warp& warp, const Operation* op, u32 members) {
  Watcher* watcher = warp.worker->grid.watcher;
  if (!watcher || warp.rendezvous >= 0) return;
  u32 exited = members & ~warp.alive & lanes_of_block(warp);
  if (exited) watcher->notice(warp, *op, Notice::names_exited_lane, exited, nullptr);
  if (warp.mask & ~members)
    watcher->notice(warp, *op, Notice::not_in_member_mask, warp.mask & ~members, nullptr);
}

// Those who wait for others go on without them when these have left the kernel by another way.
void note_absent_members(Warp& warp, const Operation* op, u32 members, u32 arrived) {
  Watcher* watcher = warp.worker->grid.watcher;
  const u32 absent = members & ~arrived & lanes_of_block(warp);
  if (watcher && absent) watcher->notice(warp, *op, Notice::names_absent_lane, absent, nullptr);
}

// Lanes may name different masks in one instruction (tiles of a warp): each mask is served separately. Calls
// serve(members, lanes, values, present) with the source values of all members that are present.
template <typename T, typename Serve>
const Operation* exchange(Warp& warp, const Operation* op, Serve serve) {
  const u32* masks = warp.row<u32>(op->e);
  u32 members = masks[std::countr_zero(warp.mask)], same = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) same |= static_cast<u32>(masks[lane] == members) << lane;
  const T* source = warp.row<T>(op->a);
  if ((warp.mask & ~same) == 0) {
    note_member_mask(warp, op, members);
    if ((members & warp.alive & ~warp.mask) == 0 && warp.rendezvous < 0) { // all members are on this path
      serve(warp.mask, source, warp.mask);
      return op + 1;
    }
    std::uint64_t values[warp_lanes];
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
      values[lane] = static_cast<std::uint64_t>(source[lane]);
    Rendezvous* met = nullptr;
    if (!warp.gather(op, members, values, met)) return warp.next_path();
    if (!met) {
      serve(warp.mask, source, warp.mask);
      return op + 1;
    }
    T gathered[warp_lanes];
    for (unsigned lane = 0; lane < warp_lanes; ++lane) gathered[lane] = static_cast<T>(met->values[lane]);
    serve(warp.mask, gathered, met->arrived);
    note_absent_members(warp, op, members, met->arrived);
    warp.collected(*met);
    return op + 1;
  }
  // Several masks: usually tiles whose lanes are all here. Tiles with lanes elsewhere would each need a
  // divergent path of their own.
  for (u32 remaining = warp.mask; remaining;) {
    members = masks[std::countr_zero(remaining)];
    u32 group = 0;
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
      group |= static_cast<u32>(masks[lane] == members) << lane;
    group &= remaining;
    serve(group, source, warp.mask & members);
    remaining &= ~group;
  }
  return op + 1;
}

// For all lanes, which nearly always name the same distance and bounds. Then lanes `up` and `down` take a row
// of neighbours, which is copied at once: to gather them one by one takes several times as long.
template <Shuffle Mode>
u32 take_in_all_lanes(const u32* values, const u32* b, const u32* c, u32* result) {
  u32 differs = 0, in_range = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) differs |= (b[lane] ^ b[0]) | (c[lane] ^ c[0]);
  constexpr bool is_shift = Mode == Shuffle::up || Mode == Shuffle::down;
  if (!is_shift || differs) {
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      const Source from = source_lane<Mode>(lane, b[lane], c[lane]);
      in_range |= static_cast<u32>(from.in_range) << lane;
      result[lane] = values[from.lane];
    }
    return in_range;
  }
  u32 row[3 * warp_lanes] = {};
  std::memcpy(row + warp_lanes, values, sizeof(u32) * warp_lanes);
  const u32 distance = b[0] & 31, bounds = c[0];
  const u32* const shifted = Mode == Shuffle::up ? row + warp_lanes - distance : row + warp_lanes + distance;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const u32 takes = source_lane<Mode>(lane, distance, bounds).in_range ? all_lanes : 0;
    in_range |= takes & 1u << lane;
    result[lane] = (shifted[lane] & takes) | (values[lane] & ~takes);
  }
  return in_range;
}

template <Shuffle Mode>
const Operation* shuffle(Warp& warp, const Operation* op) {
  const u32 *b = warp.row<u32>(op->b), *c = warp.row<u32>(op->c);
  return exchange<u32>(warp, op, [&](u32 lanes, const u32* values, u32 present) {
    u32 result[warp_lanes], in_range = 0, asked_absent = 0;
    if (lanes == all_lanes) {
      in_range = take_in_all_lanes<Mode>(values, b, c, result);
      std::memcpy(warp.row<u32>(op->d), result, sizeof result);
    } else {
      for (u32 remaining = lanes; remaining; remaining &= remaining - 1) {
        auto lane = static_cast<unsigned>(std::countr_zero(remaining));
        Source from = source_lane<Mode>(lane, b[lane], c[lane]);
        in_range |= static_cast<u32>(from.in_range) << lane;
        bool there = present >> from.lane & 1;
        result[lane] =
            there ? values[from.lane] : 0; // PTX leaves it open; a stale value would too often look right
        if (!there) asked_absent |= 1u << lane;
      }
      u32* d = warp.row<u32>(op->d);
      for (u32 remaining = lanes; remaining; remaining &= remaining - 1) {
        auto lane = static_cast<unsigned>(std::countr_zero(remaining));
        d[lane] = result[lane];
      }
    }
    if (op->immediate) {
      u32& predicate = *warp.row<u32>(static_cast<std::uint32_t>(op->immediate));
      predicate = (predicate & ~lanes) | (in_range & lanes);
    }
    if (Watcher* watcher = warp.worker->grid.watcher; watcher && asked_absent)
      watcher->notice(warp, *op, Notice::reads_inactive_lane, asked_absent, nullptr);
  });
}

void decode_shfl(Decoder& decoder, const ptx::Instruction& in) {
  if (!in.has("sync")) refuse(in, "shuffles without .sync were removed with compute capability 7.0");
  need_operands(in, 5);
  const Handler run = by_mode(in, []<Shuffle Mode>() -> Handler { return shuffle<Mode>; });
  std::uint32_t d = 0, predicate = 0;
  if (auto* pair = std::get_if<ptx::PairOperand>(&in.operands[0].value)) {
    d = pair->first_is_sink ? decoder.scratch(4) : decoder.destination(pair->first, 4);
    if (!pair->second_is_sink) predicate = decoder.predicate(pair->second);
  } else {
    d = decoder.destination(in.operands[0], 4);
  }
  std::uint32_t members = decoder.source(in.operands[4], ptx::Type::b32);
  Operation& op = decoder.emit(need(run, in), d, decoder.source(in.operands[1], ptx::Type::b32),
                               decoder.source(in.operands[2], ptx::Type::b32),
                               decoder.source(in.operands[3], ptx::Type::b32));
  op.e = members;
  op.immediate = predicate;
}

enum class Vote : std::uint8_t { all, any, uniform, ballot };

// The predicate is passed as a 0 or 1 per lane, in `a`.
const Operation* spread_predicate(Warp& warp, const Operation* op) {
  u32 bits = *warp.row<u32>(op->a) ^ (op->guard_negated ? all_lanes : 0);
  write_lanes(warp, warp.row<u32>(op->d), [=](unsigned lane) { return bits >> lane & 1; });
  return op + 1;
}

template <Vote Mode>
const Operation* vote(Warp& warp, const Operation* op) {
  return exchange<u32>(warp, op, [&](u32 lanes, const u32* values, u32 present) {
    u32 yes = 0;
    u32 members = warp.row<u32>(op->e)[std::countr_zero(lanes)];
    for (unsigned lane = 0; lane < warp_lanes; ++lane) yes |= (values[lane] & 1) << lane;
    u32 voters = present & members;
    yes &= voters;
    if constexpr (Mode == Vote::ballot) {
      u32* d = warp.row<u32>(op->d);
      for (u32 remaining = lanes; remaining; remaining &= remaining - 1) d[std::countr_zero(remaining)] = yes;
    } else {
      bool verdict = Mode == Vote::all   ? yes == voters
                     : Mode == Vote::any ? yes != 0
                                         : yes == 0 || yes == voters;
      u32& d = *warp.row<u32>(op->d);
      d = (d & ~lanes) | (verdict ? lanes : 0);
    }
  });
}

void decode_vote(Decoder& decoder, const ptx::Instruction& in) {
  if (!in.has("sync")) refuse(in, "votes without .sync were removed with compute capability 7.0");
  need_operands(in, 3);
  Handler run = in.has("all")      ? vote<Vote::all>
                : in.has("any")    ? vote<Vote::any>
                : in.has("uni")    ? vote<Vote::uniform>
                : in.has("ballot") ? vote<Vote::ballot>
                                   : nullptr;
  std::uint32_t members = decoder.source(in.operands[2], ptx::Type::b32), spread = decoder.scratch(4);
  decoder.emit(spread_predicate, spread, decoder.predicate(in.operands[1])).guard_negated =
      decoder.is_negated(in.operands[1]);
  std::uint32_t d =
      in.has("ballot") ? decoder.destination(in.operands[0], 4) : decoder.predicate(in.operands[0]);
  decoder.emit(need(run, in), d, spread).e = members;
}

template <typename T, bool All>
const Operation* match(Warp& warp, const Operation* op) {
  return exchange<T>(warp, op, [&](u32 lanes, const T* values, u32 present) {
    u32 members = warp.row<u32>(op->e)[std::countr_zero(lanes)] & present;
    u32* d = warp.row<u32>(op->d);
    u32 equal_to_all = 0;
    for (u32 remaining = lanes; remaining; remaining &= remaining - 1) {
      auto lane = static_cast<unsigned>(std::countr_zero(remaining));
      u32 same = 0;
      for (unsigned other = 0; other < warp_lanes; ++other)
        same |= static_cast<u32>((members >> other & 1) && values[other] == values[lane]) << other;
      if (All) {
        bool all_equal = same == members;
        d[lane] = all_equal ? members : 0;
        equal_to_all |= static_cast<u32>(all_equal) << lane;
      } else {
        d[lane] = same;
      }
    }
    if (All && op->immediate) {
      u32& predicate = *warp.row<u32>(static_cast<std::uint32_t>(op->immediate));
      predicate = (predicate & ~lanes) | equal_to_all;
    }
  });
}

void decode_match(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 3);
  ptx::Type type = type_modifier(in);
  bool wide = register_width(type) == 8;
  if (!wide && register_width(type) != 4) refuse(in);
  Handler run = in.has("any")   ? (wide ? match<u64, false> : match<u32, false>)
                : in.has("all") ? (wide ? match<u64, true> : match<u32, true>)
                                : nullptr;
  std::uint32_t d = 0, predicate = 0;
  if (auto* pair = std::get_if<ptx::PairOperand>(&in.operands[0].value)) {
    d = pair->first_is_sink ? decoder.scratch(4) : decoder.destination(pair->first, 4);
    if (!pair->second_is_sink) predicate = decoder.predicate(pair->second);
  } else {
    d = decoder.destination(in.operands[0], 4);
  }
  std::uint32_t members = decoder.source(in.operands[2], ptx::Type::b32);
  Operation& op = decoder.emit(need(run, in), d, decoder.source(in.operands[1], type));
  op.e = members;
  op.immediate = predicate;
}

constexpr auto sum = [](auto a, auto b) { return a + b; };
constexpr auto least = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto most = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto both = [](auto a, auto b) { return a & b; };
constexpr auto either = [](auto a, auto b) { return a | b; };
constexpr auto exclusive = [](auto a, auto b) { return a ^ b; };

template <typename T, auto F>
const Operation* reduce(Warp& warp, const Operation* op) {
  return exchange<u32>(warp, op, [&](u32 lanes, const u32* values, u32 present) {
    u32 members = warp.row<u32>(op->e)[std::countr_zero(lanes)] & present;
    if (members == 0) members = lanes; // a mask of lanes none of which is here; PTX leaves it open
    auto result = static_cast<T>(values[std::countr_zero(members)]);
    for (u32 remaining = members & (members - 1); remaining; remaining &= remaining - 1)
      result = static_cast<T>(F(result, static_cast<T>(values[std::countr_zero(remaining)])));
    u32* d = warp.row<u32>(op->d);
    for (u32 remaining = lanes; remaining; remaining &= remaining - 1)
      d[std::countr_zero(remaining)] = static_cast<u32>(result);
  });
}

void decode_redux(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 3);
  ptx::Type type = type_modifier(in);
  bool is_signed = type == ptx::Type::s32;
  if (ptx::size_of(type) != 4 || type == ptx::Type::f32) refuse(in);
  Handler run = in.has("add")   ? reduce<u32, sum>
                : in.has("min") ? (is_signed ? Handler{reduce<s32, least>} : Handler{reduce<u32, least>})
                : in.has("max") ? (is_signed ? Handler{reduce<s32, most>} : Handler{reduce<u32, most>})
                : in.has("and") ? reduce<u32, both>
                : in.has("or")  ? reduce<u32, either>
                : in.has("xor") ? reduce<u32, exclusive>
                                : nullptr;
  std::uint32_t members = decoder.source(in.operands[2], ptx::Type::b32);
  decoder.emit(need(run, in), decoder.destination(in.operands[0], 4), decoder.source(in.operands[1], type))
      .e = members;
}

const Operation* active_mask(Warp& warp, const Operation* op) {
  u32 mask = warp.mask;
  write_lanes(warp, warp.row<u32>(op->d), [=](unsigned) { return mask; });
  return op + 1;
}
void decode_activemask(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 1);
  decoder.emit(active_mask, decoder.destination(in.operands[0], 4));
}

// elect.sync d|p, members: p holds for one lane, the lowest one.
const Operation* elect(Warp& warp, const Operation* op) {
  return exchange<u32>(warp, op, [&](u32 lanes, const u32*, u32 present) {
    u32 members = warp.row<u32>(op->e)[std::countr_zero(lanes)] & present;
    if (members == 0) members = lanes; // likewise
    auto leader = static_cast<u32>(std::countr_zero(members));
    u32* d = warp.row<u32>(op->d);
    for (u32 remaining = lanes; remaining; remaining &= remaining - 1)
      d[std::countr_zero(remaining)] = leader;
    u32& predicate = *warp.row<u32>(op->b);
    predicate = (predicate & ~lanes) | (lanes & 1u << leader);
  });
}
void decode_elect(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 2);
  auto* pair = std::get_if<ptx::PairOperand>(&in.operands[0].value);
  if (!pair || pair->second_is_sink) refuse(in);
  std::uint32_t d = pair->first_is_sink ? decoder.scratch(4) : decoder.destination(pair->first, 4);
  std::uint32_t members = decoder.source(in.operands[1], ptx::Type::b32);
  decoder.emit(elect, d, members, decoder.predicate(pair->second)).e = members;
}

constexpr Opcode opcodes[] = {
    {"shfl", decode_shfl, Work::shuffle, Guarding::skips},
    {"vote", decode_vote, Work::vote, Guarding::skips},
    {"match", decode_match, Work::vote, Guarding::skips},
    {"redux", decode_redux, Work::warp_reduction, Guarding::skips},
    {"activemask", decode_activemask, Work::vote},
    {"elect", decode_elect, Work::other, Guarding::skips},
};

} // namespace

std::span<const Opcode> warp_wide_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
