// mbarrier (PTX ISA 9.7.13.15). The program sees 64 opaque bits. Here, as on the hardware, they hold how many
// arrivals and bytes the phase still waits for, and which phase it is.
#include "mbarrier.hpp"

#include "lanes.hpp"

#include <fmt/format.h>

namespace warpfold::machine {

namespace {

constexpr unsigned count_bits = 20, byte_bits = 23;
constexpr u64 largest_count = (1u << count_bits) - 1;

struct Mbarrier {
  u64 pending : count_bits;  // arrivals that the phase waits for
  u64 expected : count_bits; // arrivals of the next phase
  s64 bytes : byte_bits;     // transactions that the phase waits for
  u64 phase : 1;             // its parity

  void advance() {
    if (pending != 0 || bytes != 0) return;
    pending = expected;
    phase ^= 1;
  }
};
static_assert(sizeof(Mbarrier) == 8);

// The block whose barrier it is.
Block& owner_of(Warp& warp, u64 address) {
  const u64 inside = address & ~window_mask;
  const Cluster& cluster = *warp.block->cluster;
  const bool is_others = names_rank(inside) && named_rank(inside) < cluster.size();
  return is_others ? *cluster.blocks[named_rank(inside)] : *warp.block;
}

// Changes the lane's barrier in place: make(barrier, facts). `begins`: the barrier need not be initialised.
template <bool Begins = false, typename Change>
void change(Warp& warp, const Operation* op, unsigned lane, u64 address, Change make) {
  if ((address & window_mask) == 0) address |= shared_window;
  if ((address & window_mask) != shared_window)
    stop(warp, op, Fault::Kind::invalid_instruction,
         fmt::format("takes 0x{:x} for a barrier in shared memory", address), 1u << lane);
  std::byte* place =
      shared_at(warp, op, address & ~window_mask, sizeof(Mbarrier), AccessKind::atomic, 1u << lane);
  const u64 offset = address & cluster_offset_mask;
  auto& known = owner_of(warp, address).mbarriers;
  auto facts = known.find(offset);
  if (facts == known.end()) {
    if (!Begins && warp.worker->refused_lanes == 0)
      stop(warp, op, Fault::Kind::no_mbarrier,
           fmt::format("uses an mbarrier at offset {} of shared memory, where no mbarrier.init has made one",
                       offset),
           1u << lane);
    facts = known.try_emplace(offset).first;
  }
  Mbarrier barrier;
  std::memcpy(&barrier, place, sizeof barrier);
  const u64 phase = barrier.phase;
  make(barrier, facts->second);
  if (barrier.phase != phase)
    facts->second = {.phase = facts->second.phase + 1, .bulk_loads = facts->second.bulk_loads};
  std::memcpy(place, &barrier, sizeof barrier);
}

void arrive(Warp& warp, const Operation* op, unsigned lane, Mbarrier& barrier, u64 count) {
  if (count > barrier.pending)
    stop(warp, op, Fault::Kind::more_arrivals,
         fmt::format("arrives {} at a barrier whose phase waits for {} more",
                     count == 1 ? "once" : fmt::format("{} times", count), static_cast<u64>(barrier.pending)),
         1u << lane);
  barrier.pending -= count;
  barrier.advance();
}

// Handles one lane after another; `F` gets the barrier and the lane's count.
using Step = void (*)(Warp&, const Operation*, unsigned lane, Mbarrier&, MbarrierFacts&, u32 count);
void initialise(Warp& warp, const Operation* op, unsigned lane, Mbarrier& barrier, MbarrierFacts&,
                u32 count) {
  if (count == 0 || count > largest_count)
    stop(warp, op, Fault::Kind::invalid_instruction,
         fmt::format("makes a barrier for {} arrivals; 1 to {} are possible", count, largest_count),
         1u << lane);
  barrier = {.pending = count, .expected = count, .bytes = 0, .phase = 0};
}
void invalidate(Warp&, const Operation*, unsigned, Mbarrier& barrier, MbarrierFacts&, u32) {
  barrier = {};
}
void arrive_step(Warp& warp, const Operation* op, unsigned lane, Mbarrier& barrier, MbarrierFacts&,
                 u32 count) {
  arrive(warp, op, lane, barrier, count);
}
void drop_step(Warp& warp, const Operation* op, unsigned lane, Mbarrier& barrier, MbarrierFacts&, u32 count) {
  barrier.expected -= count;
  arrive(warp, op, lane, barrier, count);
}
void expect_step(Warp&, const Operation* op, unsigned, Mbarrier& barrier, MbarrierFacts& facts, u32 bytes) {
  barrier.bytes += bytes;
  facts.expected_bytes += bytes, facts.expects = op;
}
void expect_and_arrive(Warp& warp, const Operation* op, unsigned lane, Mbarrier& barrier,
                       MbarrierFacts& facts, u32 bytes) {
  expect_step(warp, op, lane, barrier, facts, bytes);
  arrive(warp, op, lane, barrier, 1);
}
void complete_step(Warp&, const Operation*, unsigned, Mbarrier& barrier, MbarrierFacts& facts, u32 bytes) {
  barrier.bytes -= bytes;
  facts.came += bytes;
  barrier.advance();
}

void tell_shared(Warp& warp, const Operation* op, Request& request, AccessKind kind) {
  for (std::uint64_t& address : request.address) address &= ~window_mask;
  note_shared(warp, op, request, kind, sizeof(Mbarrier));
}

// The token of an arrival is the barrier's state before it: a wait needs the phase in it.
template <Step Do>
const Operation* update(Warp& warp, const Operation* op) {
  constexpr bool begins = Do == initialise;
  Request request;
  read_addresses(warp, op, request);
  const u32* count = warp.row<u32>(op->b);
  u64* token = warp.row<u64>(op->d);
  warp.changes = true;
  each_active(warp, [&](unsigned lane) {
    const auto make = [&](Mbarrier& barrier, MbarrierFacts& facts) {
      Mbarrier before = barrier;
      Do(warp, op, lane, barrier, facts, count[lane]);
      if (op->d) token[lane] = std::bit_cast<u64>(before);
    };
    change<begins>(warp, op, lane, request.address[lane], make);
    if constexpr (begins || Do == invalidate)
      owner_of(warp, request.address[lane]).mbarriers.erase(request.address[lane] & cluster_offset_mask);
    if constexpr (begins)
      owner_of(warp, request.address[lane])
          .mbarriers.try_emplace(request.address[lane] & cluster_offset_mask);
  });
  const bool is_store = (begins || Do == invalidate) && !warp.worker->in_clusters;
  tell_shared(warp, op, request, is_store ? AccessKind::store : AccessKind::atomic);
  return op + 1;
}

// A phase is complete when the barrier is in the other one. A thread whose poll fails gives way to the
// threads that it waits for.
template <bool Parity>
const Operation* test_wait(Warp& warp, const Operation* op) {
  Request request;
  read_addresses(warp, op, request);
  Watcher* const watcher = warp.worker->grid.watcher;
  u32 over = 0;
  Mbarrier missing{};
  MbarrierFacts expected;
  each_active(warp, [&](unsigned lane) {
    u64 phase =
        Parity ? warp.row<u32>(op->b)[lane] & 1 : std::bit_cast<Mbarrier>(warp.row<u64>(op->b)[lane]).phase;
    change(warp, op, lane, request.address[lane], [&](const Mbarrier& barrier, MbarrierFacts& facts) {
      if (barrier.phase != phase) {
        over |= 1u << lane;
        owner_of(warp, request.address[lane]).bulk_loads -= std::exchange(facts.bulk_loads, 0);
        if (watcher)
          watcher->phases_seen(warp, 1u << lane, request.address[lane] & ~window_mask, facts.phase);
      } else {
        missing = barrier;
        expected = facts;
      }
    });
  });
  u32& d = *warp.row<u32>(op->d);
  d = (d & ~warp.mask) | over;
  if (over != warp.mask) {
    note_possible_spin(warp, global_spin_cost); // what ends the wait needs another thread's turn
    warp.polls = true;
    warp.missing_arrivals = static_cast<u32>(missing.pending);
    warp.missing_bytes = missing.bytes;
    warp.expected_bytes = static_cast<u32>(expected.expected_bytes);
    warp.expects = expected.expects;
    warp.phases_over = expected.phase;
  }
  tell_shared(warp, op, request, AccessKind::load);
  tell_read(warp);
  return op + 1;
}

const Operation* read_pending(Warp& warp, const Operation* op) {
  const u64* token = warp.row<u64>(op->a);
  write_lanes(warp, warp.row<u32>(op->d),
              [=](unsigned lane) { return static_cast<u32>(std::bit_cast<Mbarrier>(token[lane]).pending); });
  return op + 1;
}

void emit_update(Decoder& decoder, const ptx::Instruction& in, Handler run, const ptx::Operand& where,
                 const ptx::Operand* count, std::uint32_t token) {
  std::uint32_t count_row = count ? decoder.source(*count, ptx::Type::u32) : decoder.constant(1, 4);
  MemoryForm form = memory_form(in);
  form.order = MemoryOrder::release; // the PTX ISA's default for an arrival, as acquire is for a wait
  Decoder::Address address = decoder.address(where, form.space);
  Operation& op = decoder.emit(run, token, 0, count_row);
  set_form(op, form, address, sizeof(Mbarrier));
}

void decode_arrive(Decoder& decoder, const ptx::Instruction& in) {
  if (in.operands.size() < 2) refuse(in, "only barriers of the thread's own block are");
  std::uint32_t token =
      std::holds_alternative<ptx::Sink>(in.operands[0].value) ? 0 : decoder.destination(in.operands[0], 8);
  const ptx::Operand* count = in.operands.size() > 2 ? &in.operands[2] : nullptr;
  Handler run = in.has("expect_tx")     ? update<expect_and_arrive>
                : in.has("arrive_drop") ? update<drop_step>
                                        : update<arrive_step>;
  emit_update(decoder, in, run, in.operands[1], count, token);
}

void decode_wait(Decoder& decoder, const ptx::Instruction& in) {
  if (in.operands.size() < 3) refuse(in);
  bool parity = in.has("parity");
  std::uint32_t d = decoder.predicate(in.operands[0]);
  std::uint32_t phase = decoder.source(in.operands[2], parity ? ptx::Type::u32 : ptx::Type::b64);
  MemoryForm form = memory_form(in);
  form.order = MemoryOrder::acquire;
  Decoder::Address address = decoder.address(in.operands[1], form.space);
  Operation& op = decoder.emit(parity ? test_wait<true> : test_wait<false>, d, 0, phase);
  set_form(op, form, address, sizeof(Mbarrier));
}

void decode_mbarrier(Decoder& decoder, const ptx::Instruction& in) {
  const auto& operands = in.operands;
  const ptx::Operand* second = operands.size() > 1 ? &operands[1] : nullptr;
  if (in.has("arrive") || in.has("arrive_drop")) return decode_arrive(decoder, in);
  if (in.has("test_wait") || in.has("try_wait")) return decode_wait(decoder, in);
  if (in.has("pending_count") && second) {
    decoder.emit(read_pending, decoder.destination(operands[0], 4), decoder.source(*second, ptx::Type::b64));
    return;
  }
  Handler run = in.has("init")          ? update<initialise>
                : in.has("inval")       ? update<invalidate>
                : in.has("expect_tx")   ? update<expect_step>
                : in.has("complete_tx") ? update<complete_step>
                                        : nullptr;
  if (operands.empty()) refuse(in);
  emit_update(decoder, in, need(run, in), operands[0], second, 0);
}

constexpr Opcode opcodes[] = {{"mbarrier", decode_mbarrier, Work::memory_barrier}};

} // namespace

void arrive_at_mbarrier(Warp& warp, const Operation* op, unsigned lane, std::uint64_t address) {
  change(warp, op, lane, address,
         [&](Mbarrier& barrier, MbarrierFacts&) { arrive(warp, op, lane, barrier, 1); });
}

void complete_bytes(Warp& warp, const Operation* op, unsigned lane, std::uint64_t address,
                    std::uint32_t bytes, bool of_bulk_copy) {
  change(warp, op, lane, address, [&](Mbarrier& barrier, MbarrierFacts& facts) {
    if (of_bulk_copy) {
      Block& owner = owner_of(warp, address);
      ++facts.bulk_loads;
      owner.most_bulk_loads = std::max(owner.most_bulk_loads, ++owner.bulk_loads);
    }
    complete_step(warp, op, lane, barrier, facts, bytes);
  });
  Watcher* const watcher = warp.worker->grid.watcher;
  if (!watcher || !of_bulk_copy || warp.worker->refused_lanes != 0) return;
  // A thread that waits for the phase sees what the copy has written.
  std::uint64_t offsets[warp_lanes] = {};
  offsets[lane] = address & ~window_mask;
  watcher->access({.warp = warp,
                   .operation = *op,
                   .space = ptx::Space::shared,
                   .kind = AccessKind::atomic,
                   .order = MemoryOrder::release,
                   .scope = MemoryScope::block,
                   .mask = 1u << lane,
                   .width = sizeof(Mbarrier),
                   .addresses = offsets});
}

std::uint32_t phase_of(Warp& warp, const Operation* op, unsigned lane, std::uint64_t address) {
  std::uint32_t phase = 0;
  change(warp, op, lane, address, [&](const Mbarrier&, const MbarrierFacts& facts) { phase = facts.phase; });
  return phase;
}

void append_address(std::vector<std::uint32_t>& words, const Decoder::Address& address) {
  words.insert(words.end(), {address.row, address.width, static_cast<std::uint32_t>(address.offset)});
}

Request read_listed_address(Warp& warp, const Operation* op, unsigned first_word) {
  const std::uint32_t* words = warp.worker->grid.code.lists.data() + op->list + first_word;
  Operation other = *op;
  other.a = words[0];
  other.width = static_cast<std::uint8_t>(words[1]);
  other.immediate = static_cast<std::int32_t>(words[2]);
  Request request;
  read_addresses(warp, &other, request);
  return request;
}

std::span<const Opcode> mbarrier_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
