// Registers that a kernel may read before anything has set them. On a GPU, such a register holds what another
// thread left there. Here it holds bits for which a float is a NaN and an index leads nowhere, so that no
// result is right by luck.
//
// A compiler reads such a register if it knows that the value does not matter, and libraries move what is
// beyond their last element along with the rest. So values are followed: a copy, a selection or a shuffle of
// an unset value is itself unset, and is not reported. A report is made when such a value decides a branch,
// is an address or goes into an atomic; when it is stored in global memory; and when it was combined with a
// set value and the result is stored anywhere (the report names the line that combined them). What a library
// does internally is its own business: CUB and Thrust scan, compare and scatter whole tiles, and discard what
// is beyond the last element at the end.
#include "shuffle_lanes.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

namespace warpfold::machine {

namespace {

// What is known of a register in a lane: it is set; nothing has ever set it; or an operation computed it from
// such a value, in which case this is that operation's index plus `combined`.
constexpr u32 is_set = 0, never_set = 1, combined = 2;
// In Operation::width of an operation that follows values: it is a library's, whose line must not be
// reported.
constexpr std::uint8_t by_library = 1;

// For which operands an operation is reported.
enum class Use : std::int64_t {
  of_anything,  // any operand
  of_result,    // an operand that was combined
  of_never_set, // the same, or one of which no part was ever set
};

// From here on, the register in row `a`, `e` bytes per lane, holds an arbitrary value.
const Operation* forget_register(Warp& warp, const Operation* op) {
  constexpr u64 leftovers = 0x7fbadbad7fbadbadull;
  u32* const unset = warp.row<u32>(op->d);
  if (warp.mask == all_lanes && op->e == sizeof(u32)) { // the usual case
    std::fill_n(unset, warp_lanes, never_set);
    std::fill_n(warp.row<u32>(op->a), warp_lanes, static_cast<u32>(leftovers));
    return op + 1;
  }
  u8* const bytes = warp.row<u8>(op->a);
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    if (warp.mask >> lane & 1) {
      unset[lane] = never_set;
      for (unsigned byte = 0; byte < op->e; ++byte)
        bytes[lane * op->e + byte] = static_cast<u8>(leftovers >> 8 * (byte % 8));
    }
  }
  return op + 1;
}

// A predicate is one bit per lane.
const Operation* forget_predicate(Warp& warp, const Operation* op) {
  u32* const unset = warp.row<u32>(op->d);
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    if (warp.mask >> lane & 1) unset[lane] = never_set;
  return op + 1;
}

// Visits the operation's source rows, which are in Code::lists.
template <typename Visit>
void each_row(Warp& warp, const Operation* op, Visit visit) {
  const u32* const list = warp.worker->grid.code.lists.data() + op->list;
  for (u32 i = 0; i < op->e; ++i) visit(warp.row<u32>(list[i]));
}

bool is_all_set(Warp& warp, const Operation* op) {
  u32 any = 0;
  each_row(warp, op, [&](const u32* row) {
    for (unsigned lane = 0; lane < warp_lanes; ++lane) any |= row[lane];
  });
  return any == 0;
}

template <typename Value>
const Operation* follow(Warp& warp, const Operation* op, Value value) {
  u32 result[warp_lanes] = {};
  if (!is_all_set(warp, op))
    for (unsigned lane = 0; lane < warp_lanes; ++lane) result[lane] = value(lane);
  u32* const d = warp.row<u32>(op->d);
  for (unsigned lane = 0; lane < warp_lanes; ++lane) d[lane] = warp.lanes[lane] ? result[lane] : d[lane];
  return op + 1;
}

// Combines several values. `c` more of them are known to be set.
struct Together {
  u32 unset = 0, first_combined = is_set;
};
Together together(Warp& warp, const Operation* op, unsigned lane) {
  Together found;
  each_row(warp, op, [&](const u32* row) {
    found.unset += row[lane] != is_set;
    if (row[lane] >= combined && found.first_combined == is_set) found.first_combined = row[lane];
  });
  return found;
}

const Operation* combine(Warp& warp, const Operation* op) {
  if (!warp.watched) return op + 1;
  return follow(warp, op, [=, &warp](unsigned lane) {
    const Together found = together(warp, op, lane);
    if (found.first_combined != is_set || found.unset == 0) return found.first_combined;
    return found.unset == op->e + op->c ? never_set : op->index + combined;
  });
}

// A struct may have a part that is never set, such as its padding.
const Operation* pack(Warp& warp, const Operation* op) {
  if (!warp.watched) return op + 1;
  return follow(warp, op, [=, &warp](unsigned lane) {
    const Together found = together(warp, op, lane);
    if (found.first_combined != is_set) return found.first_combined;
    return found.unset == op->e + op->c ? never_set : is_set;
  });
}

// The predicate in row `c` decides: row `a` or row `b`, where 0 means that the value is always set.
const Operation* select(Warp& warp, const Operation* op) {
  if (!warp.watched) return op + 1;
  const u32 chosen = *warp.row<u32>(op->c) ^ (op->guard_negated ? all_lanes : 0);
  const u32* const sources[] = {op->b ? warp.row<u32>(op->b) : nullptr,
                                op->a ? warp.row<u32>(op->a) : nullptr};
  const u32* const predicate = op->immediate ? warp.row<u32>(static_cast<u32>(op->immediate)) : nullptr;
  return follow(warp, op, [=](unsigned lane) {
    if (predicate && predicate[lane] != is_set) return op->index + combined;
    const u32* const source = sources[chosen >> lane & 1];
    return source ? source[lane] : is_set;
  });
}

template <Shuffle Mode>
const Operation* exchange_unset(Warp& warp, const Operation* op) {
  if (!warp.watched) return op + 1;
  const u32 *a = warp.row<u32>(op->a), *b = warp.row<u32>(op->b), *c = warp.row<u32>(op->c);
  return follow(warp, op, [=](unsigned lane) { return a[source_lane<Mode>(lane, b[lane], c[lane]).lane]; });
}

const Operation* use_unset(Warp& warp, const Operation* op) {
  if (!warp.watched || is_all_set(warp, op)) return op + 1;
  std::array<const Operation*, warp_lanes> reported_at = {};
  for (u32 rest = warp.mask; rest; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Together found = together(warp, op, lane);
    const Use use{op->immediate};
    const bool counts =
        use == Use::of_anything
            ? found.unset != 0
            : found.first_combined != is_set || (use == Use::of_never_set && found.unset == op->e + op->c);
    if (counts)
      reported_at[lane] =
          found.first_combined == is_set ? op : op - op->index + (found.first_combined - combined);
  }
  for (unsigned first = 0; first < warp_lanes; ++first) {
    const Operation* at = std::exchange(reported_at[first], nullptr);
    if (!at) continue;
    u32 lanes = 1u << first;
    for (unsigned lane = first + 1; lane < warp_lanes; ++lane)
      if (reported_at[lane] == at) reported_at[lane] = nullptr, lanes |= 1u << lane;
    if (at->width == by_library) at = op;
    warp.worker->grid.watcher->notice(warp, *at, Notice::reads_unset_register, lanes, nullptr);
  }
  return op + 1;
}

} // namespace

void Decoder::emit_forget_registers(const std::vector<std::uint32_t>& unset) {
  for (const std::uint32_t index : unset) {
    const unsigned width = register_width(register_type(index));
    Operation& op =
        emit(width ? forget_register : forget_predicate, unset_rows_.at(index), register_row(index));
    op.e = width;
  }
}

std::uint32_t Decoder::unset_row(const ptx::Operand& operand) const {
  const auto* one = std::get_if<ptx::RegisterOperand>(&operand.value);
  const auto found = one ? unset_rows_.find(one->index) : unset_rows_.end();
  return found == unset_rows_.end() ? 0 : found->second;
}

void Decoder::emit_follow_unset(const ptx::Instruction& instruction) {
  if (unset_rows_.empty()) return;
  if (!instruction.of_library) emit_use_of_unset(instruction);
  emit_flow_of_unset(instruction);
}

namespace {

bool is_one_of(std::string_view opcode, std::initializer_list<std::string_view> those) {
  return std::ranges::find(those, opcode) != those.end();
}

} // namespace

void Decoder::emit_use_of_unset(const ptx::Instruction& in) {
  const auto emit_use = [&](Use use, const std::vector<std::uint32_t>& rows, std::size_t always_set) {
    if (rows.empty()) return;
    Operation& op = emit(use_unset, 0, 0, 0, static_cast<u32>(always_set));
    op.list = list(rows);
    op.e = static_cast<u32>(rows.size());
    op.immediate = static_cast<std::int64_t>(use);
  };
  std::vector<std::uint32_t> rows;
  const auto add = [&](std::uint32_t index) {
    if (const auto found = unset_rows_.find(index); found != unset_rows_.end()) rows.push_back(found->second);
  };
  if (in.guard.predicate >= 0) add(static_cast<std::uint32_t>(in.guard.predicate));
  const bool takes_all = is_one_of(
      in.opcode, {"atom", "red", "bra", "brx", "bar", "barrier", "mma", "wmma", "stmatrix", "movmatrix"});
  const bool has_destination = is_one_of(in.opcode, {"atom", "mma", "wmma", "movmatrix"});
  for (std::size_t i = 0; i < in.operands.size(); ++i) {
    const auto* address = std::get_if<ptx::AddressOperand>(&in.operands[i].value);
    const auto* base = address ? std::get_if<ptx::RegisterOperand>(&address->base) : nullptr;
    if (base) add(base->index);
    if (!address && takes_all && !(i == 0 && has_destination))
      for (const ptx::Operand& each : ptx::values_of(in.operands[i]))
        if (const std::uint32_t row = unset_row(each)) rows.push_back(row);
  }
  emit_use(Use::of_anything, rows, 0);
  if (in.opcode != "st" || in.operands.size() < 2 || in.has("local") || in.has("param")) return;
  rows.clear();
  const std::span<const ptx::Operand> values = ptx::values_of(in.operands[1]);
  for (const ptx::Operand& each : values)
    if (const std::uint32_t row = unset_row(each)) rows.push_back(row);
  emit_use(in.has("global") ? Use::of_never_set : Use::of_result, rows, values.size() - rows.size());
}

void Decoder::emit_flow_of_unset(const ptx::Instruction& in) {
  using ptx::Flow;
  const ptx::RegisterUse use = ptx::registers_of(in);
  const Flow flow = ptx::flow_of(in);
  const std::size_t needed = flow == Flow::selected || flow == Flow::exchanged ? 4 : 0;
  if (in.operands.size() < needed) return; // it will be refused
  // A compiler extracts a narrow value from a register with such an instruction and a constant, whether or
  // not the register is set.
  const bool constants_count =
      !is_one_of(in.opcode, {"and", "or", "xor", "lop3", "shl", "shr", "shf", "bfe", "bfi", "prmt", "szext"});
  std::vector<std::uint32_t> rows;
  std::size_t always_set = 0;
  for (std::size_t i = 1; i < in.operands.size() && flow != Flow::fresh; ++i) {
    if (flow == Flow::exchanged && i > 1) break;
    for (const ptx::Operand& each : ptx::values_of(in.operands[i])) {
      if (const std::uint32_t row = unset_row(each))
        rows.push_back(row);
      else if (constants_count || !std::holds_alternative<ptx::Immediate>(each.value))
        ++always_set;
    }
  }
  const auto destination_of_shuffle = [&]() -> std::int64_t {
    if (const auto* pair = std::get_if<ptx::PairOperand>(&in.operands[0].value))
      return pair->first_is_sink ? -1 : static_cast<std::int64_t>(pair->first.index);
    return use.written.empty() ? -1 : static_cast<std::int64_t>(use.written[0]);
  };
  for (const std::uint32_t index : use.written) {
    const auto found = unset_rows_.find(index);
    if (found == unset_rows_.end()) continue;
    const std::uint32_t d = found->second;
    std::uint32_t first = 0;
    Operation* op = nullptr;
    if (rows.empty() || (flow == Flow::exchanged && destination_of_shuffle() != index)) {
      emit(combine, d); // computed from nothing, so it is set
      continue;
    }
    first = list(rows);
    if (flow == Flow::selected) {
      const auto* chooser = std::get_if<ptx::RegisterOperand>(&in.operands[3].value);
      op = &emit(select, d, unset_row(in.operands[1]), unset_row(in.operands[2]), predicate(in.operands[3]));
      op->guard_negated = is_negated(in.operands[3]);
      op->immediate = chooser ? unset_row(in.operands[3]) : 0;
    } else if (flow == Flow::exchanged) {
      const std::uint32_t lane = source(in.operands[2], ptx::Type::b32),
                          clamp = source(in.operands[3], ptx::Type::b32);
      const Handler run = by_mode(in, []<Shuffle Mode>() -> Handler { return exchange_unset<Mode>; });
      op = &emit(run ? run : combine, d, rows[0], lane, clamp);
    } else {
      op = &emit(flow == Flow::packed ? pack : combine, d, 0, 0,
                 flow == Flow::copied ? 0 : static_cast<u32>(always_set));
    }
    op->list = first;
    op->width = in.of_library ? by_library : 0;
    op->e = static_cast<u32>(rows.size());
  }
}

} // namespace warpfold::machine
