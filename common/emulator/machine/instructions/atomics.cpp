// Atomic updates (PTX ISA 9.7.13): atom, which returns the previous value, and red, which does not.
#include "async_cluster.hpp"
#include "half.hpp"
#include "lanes.hpp"

#include "machine/access.hpp"

#include <atomic>

namespace warpfold::machine {

namespace {

constexpr auto sum = [](auto old, auto value) { return old + value; };
constexpr auto least = [](auto old, auto value) { return value < old ? value : old; };
constexpr auto most = [](auto old, auto value) { return value > old ? value : old; };
constexpr auto both = [](auto old, auto value) { return old & value; };
constexpr auto either = [](auto old, auto value) { return old | value; };
constexpr auto exclusive = [](auto old, auto value) { return old ^ value; };
constexpr auto replace = [](auto, auto value) { return value; };
constexpr auto count_up = [](u32 old, u32 limit) { return old >= limit ? 0u : old + 1; };
constexpr auto count_down = [](u32 old, u32 limit) { return old == 0 || old > limit ? limit : old - 1; };
constexpr auto half_sum = [](auto old, auto value) { return decltype(old)(double(old) + double(value)); };
constexpr auto pair_sum = [](auto old, auto value) {
  return decltype(old){half_sum(old.low, value.low), half_sum(old.high, value.high)};
};

template <std::size_t Bytes>
using Bits = std::conditional_t<Bytes == 2, u16, std::conditional_t<Bytes == 4, u32, u64>>;

// Replaces the value at `place` with update(old); other blocks may access it too. Returns the old value.
template <typename T, typename Update>
T exchange(std::byte* place, bool shared_with_others, Update update) {
  using U = Bits<sizeof(T)>;
  U& word = *reinterpret_cast<U*>(place);
  if (!shared_with_others) {
    T old = std::bit_cast<T>(word);
    word = std::bit_cast<U>(update(old));
    return old;
  }
  std::atomic_ref<U> atomic(word);
  U seen = atomic.load(std::memory_order_relaxed);
  while (!atomic.compare_exchange_weak(seen, std::bit_cast<U>(update(std::bit_cast<T>(seen))))) {
  }
  return std::bit_cast<T>(seen);
}

template <typename T>
bool differ(T before, T after) {
  return std::bit_cast<Bits<sizeof(T)>>(before) != std::bit_cast<Bits<sizeof(T)>>(after);
}

// Where the active lanes' words are, and whether they are all the same word.
struct Targets {
  std::byte* at[warp_lanes];
  bool one_word = false, shared_with_others = true;
};

void find_targets_in(Warp& warp, const Operation* op, unsigned width, Targets& targets, ptx::Space space,
                     Request& request) {
  targets.one_word = request.even && request.stride == 0 && std::popcount(warp.mask) > 1;
  targets.shared_with_others = space != ptx::Space::shared;
  auto find = [&](unsigned lane) {
    std::uint64_t address = request.address[lane];
    if (space == ptx::Space::global) {
      targets.at[lane] = global_at(warp, op, address, width, width, AccessKind::atomic, lane);
    } else if (space == ptx::Space::shared) {
      targets.at[lane] = shared_at(warp, op, address, width, AccessKind::atomic, 1u << lane);
    } else {
      if (space == ptx::Space::local) address |= local_window;
      targets.at[lane] = generic_at(warp, op, lane, address, width, width, AccessKind::atomic);
    }
  };
  if (targets.one_word && space != ptx::Space::local) {
    auto first = static_cast<unsigned>(std::countr_zero(warp.mask));
    find(first);
    std::fill(std::begin(targets.at), std::end(targets.at), targets.at[first]);
    if (warp.worker->refused_lanes != 0) warp.worker->refused_lanes = warp.mask; // it is the word of all
  } else {
    each_active(warp, find);
  }
  if (space == ptx::Space::shared) {
    return note_shared(warp, op, request, AccessKind::atomic, width);
  }
  count_global(warp, op, request, width, AccessKind::atomic);
  if (space == ptx::Space::global) tell(warp, op, request, space, AccessKind::atomic, width);
}

void find_targets(Warp& warp, const Operation* op, unsigned width, Targets& targets, bool spins) {
  Request request;
  read_addresses(warp, op, request);
  auto space = static_cast<ptx::Space>(op->list);
  if (space == ptx::Space::generic) space = resolve_generic(warp, request);
  if (space == ptx::Space::generic) {
    each_space(warp, request,
               [&](ptx::Space one, Request& part) { find_targets_in(warp, op, width, targets, one, part); });
    targets.one_word = false, targets.shared_with_others = true;
  } else {
    find_targets_in(warp, op, width, targets, space, request);
  }
  if (!spins) return;
  const bool polls_others =
      space != ptx::Space::shared && warp.worker->grid.code.facts[op->index].synchronising.polls;
  note_possible_spin(warp, op, polls_others ? global_spin_cost : spin_cost);
}

// Lanes take turns in order. On one word, this is a single exchange of the combined result.
template <typename T, auto F, bool Returns>
const Operation* update(Warp& warp, const Operation* op) {
  Targets targets;
  find_targets(warp, op, sizeof(T), targets, Returns);
  const T* value = warp.row<T>(op->b);
  T* d = warp.row<T>(op->d);
  if (targets.one_word) {
    T before[warp_lanes];
    exchange<T>(targets.at[std::countr_zero(warp.mask)], targets.shared_with_others, [&](T running) {
      each_active(warp, [&](unsigned lane) {
        before[lane] = running;
        running = static_cast<T>(F(running, value[lane]));
        warp.changes |= differ(before[lane], running);
      });
      return running;
    });
    if constexpr (Returns) each_active(warp, [&](unsigned lane) { d[lane] = before[lane]; });
    tell_read(warp);
    return op + 1;
  }
  each_active(warp, [&](unsigned lane) {
    T mine = value[lane];
    T old = exchange<T>(targets.at[lane], targets.shared_with_others,
                        [=](T x) { return static_cast<T>(F(x, mine)); });
    warp.changes |= differ(old, static_cast<T>(F(old, mine)));
    if constexpr (Returns) d[lane] = old;
  });
  tell_read(warp);
  return op + 1;
}

template <typename T>
const Operation* compare_and_swap(Warp& warp, const Operation* op) {
  Targets targets;
  find_targets(warp, op, sizeof(T), targets, true);
  const T *expected = warp.row<T>(op->b), *value = warp.row<T>(op->c);
  T* d = warp.row<T>(op->d);
  each_active(warp, [&](unsigned lane) {
    T wanted = expected[lane], mine = value[lane];
    d[lane] = exchange<T>(targets.at[lane], targets.shared_with_others,
                          [=](T old) { return old == wanted ? mine : old; });
    warp.changes |= d[lane] == wanted && mine != wanted;
  });
  tell_read(warp);
  return op + 1;
}

template <auto F, typename... T>
Handler pick_update(ptx::Type type, bool returns) {
  return pick<T...>(type, [=]<typename U>(std::type_identity<U>) -> Handler {
    return returns ? update<U, F, true> : update<U, F, false>;
  });
}

Handler pick_half_sum(ptx::Type type, bool returns) {
  switch (type) {
  case ptx::Type::f16:
    return returns ? update<Half, half_sum, true> : update<Half, half_sum, false>;
  case ptx::Type::bf16:
    return returns ? update<BFloat, half_sum, true> : update<BFloat, half_sum, false>;
  case ptx::Type::f16x2:
    return returns ? update<Pair<Half>, pair_sum, true> : update<Pair<Half>, pair_sum, false>;
  case ptx::Type::bf16x2:
    return returns ? update<Pair<BFloat>, pair_sum, true> : update<Pair<BFloat>, pair_sum, false>;
  default:
    return nullptr;
  }
}

Handler pick_operation(const ptx::Instruction& in, ptx::Type type, bool returns) {
  if (in.has("add")) {
    Handler plain = pick_update<sum, u32, s32, u64, s64, float, double>(type, returns);
    return plain ? plain : pick_half_sum(type, returns);
  }
  if (in.has("min")) return pick_update<least, u32, s32, u64, s64>(type, returns);
  if (in.has("max")) return pick_update<most, u32, s32, u64, s64>(type, returns);
  if (in.has("and")) return pick_update<both, u32, u64>(type, returns);
  if (in.has("or")) return pick_update<either, u32, u64>(type, returns);
  if (in.has("xor")) return pick_update<exclusive, u32, u64>(type, returns);
  if (in.has("exch")) return pick_update<replace, u32, u64>(type, returns);
  if (in.has("inc")) return pick_update<count_up, u32>(type, returns);
  if (in.has("dec")) return pick_update<count_down, u32>(type, returns);
  return nullptr;
}

template <bool Returns>
void decode_atomic(Decoder& decoder, const ptx::Instruction& in) {
  if (!Returns && in.has("async")) return decode_reduce_async(decoder, in);
  MemoryForm form = memory_form(in);
  if (form.elements > 1) refuse(in);
  if (form.order == MemoryOrder::weak) form.order = MemoryOrder::relaxed;
  if (!in.has("cta") && !in.has("cluster") && !in.has("sys")) form.scope = MemoryScope::device;
  std::size_t operand = Returns ? 1 : 0;
  bool swaps = in.has("cas");
  if (in.operands.size() < operand + (swaps ? 3 : 2)) refuse(in);
  auto width = static_cast<unsigned>(ptx::size_of(form.type));
  Decoder::Address address = decoder.address(in.operands[operand], form.space);
  Handler run =
      swaps ? pick<u16, u32, u64>(
                  form.type, []<typename T>(std::type_identity<T>) -> Handler { return compare_and_swap<T>; })
            : pick_operation(in, form.type, Returns);
  need(run, in);
  std::uint32_t d = Returns ? decoder.destination(in.operands[0], width) : swaps ? decoder.scratch(width) : 0;
  std::uint32_t b = decoder.source(in.operands[operand + 1], form.type);
  std::uint32_t c = swaps ? decoder.source(in.operands[operand + 2], form.type) : 0;
  Operation& op = decoder.emit(run, d, 0, b, c);
  set_form(op, form, address, width);
  op.list =
      static_cast<std::uint32_t>(address.space == ptx::Space::constant ? ptx::Space::global : address.space);
}

constexpr Opcode opcodes[] = {{"atom", decode_atomic<true>, Work::atomic},
                              {"red", decode_atomic<false>, Work::atomic}};

} // namespace

std::span<const Opcode> atomic_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
