// Barriers and fences (PTX ISA 9.7.13): of the block (bar, barrier), of the warp (bar.warp.sync), of memory.
#include "lanes.hpp"

#include "machine/access.hpp"

#include <atomic>
#include <fmt/format.h>

namespace warpfold::machine {

namespace {

unsigned barrier_number(Warp& warp, const Operation* op) {
  u32 number = warp.row<u32>(op->a)[std::countr_zero(warp.mask)];
  if (number >= Block::barrier_count)
    stop(warp, op, Fault::Kind::invalid_instruction,
         fmt::format("uses barrier {}; a block has 0 to 15", number), warp.mask);
  return number;
}

// The threads that the barrier waits for, if the instruction gives their number; only whole warps are counted
// (PTX ISA, bar).
struct Count {
  u32 expected = 0, arriving = 0;
};
constexpr u32 no_count = ~0u;
Count count_threads(Warp& warp, const Operation* op) {
  Count count{.expected = 0, .arriving = static_cast<u32>(std::popcount(warp.mask))};
  if (op->b != no_count) {
    count.expected = warp.row<u32>(op->b)[std::countr_zero(warp.mask)];
    if (warp.mask == warp.alive) count.arriving = warp_lanes;
  }
  return count;
}

u32 true_predicates(Warp& warp, const Operation* op) {
  if (op->c == no_count) return 0;
  u32 predicate = *warp.row<u32>(op->c) ^ (op->guard_negated ? all_lanes : 0);
  return static_cast<u32>(std::popcount(predicate & warp.mask));
}

const Operation* sync_block(Warp& warp, const Operation* op) {
  unsigned number = barrier_number(warp, op);
  Count count = count_threads(warp, op);
  warp.wait_at_barrier(number, op + 1);
  warp.block->arrive(warp, op, number, count.arriving, count.expected, true_predicates(warp, op), true);
  return warp.next_path();
}

const Operation* arrive_only(Warp& warp, const Operation* op) {
  unsigned number = barrier_number(warp, op);
  Count count = count_threads(warp, op);
  warp.block->arrive(warp, op, number, count.arriving, count.expected, 0, false);
  return op + 1;
}

// The result of bar.red, which each warp reads when it continues.
enum class Reduction : std::int64_t { population, all, any };
const Operation* read_population(Warp& warp, const Operation* op) {
  u32 population = warp.block->barriers[barrier_number(warp, op)].result_population;
  write_lanes(warp, warp.row<u32>(op->d), [=](unsigned) { return population; });
  return op + 1;
}
template <Reduction Which>
const Operation* read_verdict(Warp& warp, const Operation* op) {
  const Barrier& barrier = warp.block->barriers[barrier_number(warp, op)];
  bool yes = Which == Reduction::any ? barrier.result_population > 0
                                     : barrier.result_population == barrier.result_threads;
  u32& d = *warp.row<u32>(op->d);
  d = (d & ~warp.mask) | (yes ? warp.mask : 0);
  return op + 1;
}

void decode_reduction(Decoder& decoder, const ptx::Instruction& in) {
  if (in.operands.size() != 3 && in.operands.size() != 4) refuse(in);
  std::uint32_t barrier = decoder.source(in.operands[1], ptx::Type::u32);
  std::uint32_t count = in.operands.size() == 4 ? decoder.source(in.operands[2], ptx::Type::u32) : no_count;
  const ptx::Operand& predicate = in.operands.back();
  Operation& wait = decoder.emit(sync_block, 0, barrier, count, decoder.predicate(predicate));
  wait.guard_negated = decoder.is_negated(predicate);
  if (in.has("popc"))
    decoder.emit(read_population, decoder.destination(in.operands[0], 4), barrier);
  else if (in.has("and"))
    decoder.emit(read_verdict<Reduction::all>, decoder.predicate(in.operands[0]), barrier);
  else if (in.has("or"))
    decoder.emit(read_verdict<Reduction::any>, decoder.predicate(in.operands[0]), barrier);
  else
    refuse(in);
}

// Lanes may execute it together, each with a mask of its own, as the tiles of a warp do. True if all of these
// groups are complete here.
bool are_groups_complete(Warp& warp, const u32* masks) {
  bool complete = true;
  each_active(warp, [&](unsigned lane) {
    const u32 group = masks[lane];
    complete = complete && group >> lane & 1 && !(group & warp.alive & ~warp.mask);
    each_active(warp, [&](unsigned other) {
      if (group >> other & 1) complete = complete && masks[other] == group;
    });
  });
  return complete;
}

// __syncwarp: waits for the lanes in the mask, and orders their memory accesses.
const Operation* sync_warp(Warp& warp, const Operation* op) {
  u32 members = warp.row<u32>(op->a)[std::countr_zero(warp.mask)];
  Watcher* watcher = warp.worker->grid.watcher;
  bool first_time = warp.rendezvous < 0;
  const u32* masks = warp.row<u32>(op->a);
  if (first_time && (warp.mask & ~members) && are_groups_complete(warp, masks)) {
    for (u32 rest = warp.mask; watcher && rest;) {
      const u32 group = masks[std::countr_zero(rest)];
      watcher->warp_barrier(warp, *op, group);
      rest &= ~group;
    }
    return op + 1;
  }
  if (watcher && first_time) {
    if (warp.mask & ~members)
      watcher->notice(warp, *op, Notice::not_in_member_mask, warp.mask & ~members, nullptr);
  }
  Rendezvous* met = nullptr;
  if (!warp.gather(op, members, nullptr, met)) return warp.next_path();
  if (watcher && (!met || met->collected == 0)) watcher->warp_barrier(warp, *op, members);
  if (met) warp.collected(*met);
  return op + 1;
}

// The barrier of the cluster (PTX ISA 9.7.13, "barrier.cluster"). `e`: every lane of the warp must execute it
// together.
const Operation* arrive_in_cluster(Warp& warp, const Operation* op) {
  Watcher* watcher = warp.worker->grid.watcher;
  if (const u32 twice = warp.mask & (warp.cluster_arrived | warp.cluster_released))
    stop(warp, op, Fault::Kind::unpaired_arrival,
         "arrives at the cluster's barrier again, without having waited for it since its last arrival",
         twice);
  if (watcher && op->e && warp.mask != warp.alive && !warp.kept_apart)
    watcher->notice(warp, *op, Notice::divergent_barrier, warp.alive & ~warp.mask, nullptr);
  if (watcher)
    watcher->cluster_arrive(warp, *op, static_cast<MemoryOrder>(op->order) == MemoryOrder::release);
  warp.block->cluster->arrive(warp, op);
  return op + 1;
}

const Operation* wait_in_cluster(Warp& warp, const Operation* op) {
  if (Watcher* watcher = warp.worker->grid.watcher;
      watcher && op->e && warp.mask != warp.alive && !warp.kept_apart)
    watcher->notice(warp, *op, Notice::divergent_barrier, warp.alive & ~warp.mask, nullptr);
  if (const u32 never = warp.mask & ~(warp.cluster_arrived | warp.cluster_released))
    stop(warp, op, Fault::Kind::unpaired_arrival,
         "waits for the cluster's barrier without having arrived at it", never);
  if (warp.mask & warp.cluster_arrived) {
    warp.save(op, DivergentPath::State::at_cluster);
    return warp.next_path();
  }
  warp.cluster_released &= ~warp.mask;
  warp.block->rounds_waited = warp.block->cluster->rounds;
  if (Watcher* watcher = warp.worker->grid.watcher) watcher->cluster_wait(warp, *op);
  return op + 1;
}

void decode_cluster_barrier(Decoder& decoder, const ptx::Instruction& in) {
  if (!in.operands.empty() || in.has("arrive") == in.has("wait")) refuse(in);
  Operation& op = decoder.emit(in.has("arrive") ? arrive_in_cluster : wait_in_cluster);
  op.order = static_cast<std::uint8_t>(in.has("relaxed")  ? MemoryOrder::relaxed
                                       : in.has("arrive") ? MemoryOrder::release
                                                          : MemoryOrder::acquire);
  op.scope = static_cast<std::uint8_t>(MemoryScope::cluster);
  op.e = in.has("aligned");
}

void decode_bar(Decoder& decoder, const ptx::Instruction& in) {
  if (in.has("cluster")) return decode_cluster_barrier(decoder, in);
  if (in.has("warp")) {
    decoder.emit(sync_warp, 0, decoder.source(in.operands.at(0), ptx::Type::b32));
    return;
  }
  if (in.has("red")) return decode_reduction(decoder, in);
  if (in.operands.empty() || in.operands.size() > 2) refuse(in);
  std::uint32_t barrier = decoder.source(in.operands[0], ptx::Type::u32);
  std::uint32_t count = in.operands.size() == 2 ? decoder.source(in.operands[1], ptx::Type::u32) : no_count;
  decoder.emit(in.has("arrive") ? arrive_only : sync_block, 0, barrier, count, no_count);
}

const Operation* fence(Warp& warp, const Operation* op) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (Watcher* watcher = warp.worker->grid.watcher)
    watcher->fence(warp, *op, static_cast<MemoryScope>(op->scope));
  return op + 1;
}

// fence.proxy.async: between ordinary accesses and those of bulk copies. It orders nothing between threads.
const Operation* fence_proxy(Warp& warp, const Operation* op) {
  if (Watcher* watcher = warp.worker->grid.watcher) watcher->proxy_fence(warp, *op);
  return op + 1;
}

// The forms of fence.proxy (PTX ISA 9.7.13.4), as far as there are proxies here: tensor maps are not
// supported.
void decode_proxy_fence(Decoder& decoder, const ptx::Instruction& in) {
  for (const std::string_view modifier : in.modifiers)
    if (modifier.starts_with("tensormap")) refuse(in);
  decoder.emit(fence_proxy);
}

void decode_fence(Decoder& decoder, const ptx::Instruction& in) {
  if (in.has("proxy")) return decode_proxy_fence(decoder, in);
  // Makes mbarrier.init visible to the cluster; what makes the other threads wait is a barrier after it.
  if (in.has("mbarrier_init")) return void(decoder.emit([](Warp&, const Operation* op) { return op + 1; }));
  MemoryScope scope = MemoryScope::device; // membar.gl
  if (in.has("cta")) scope = MemoryScope::block;
  if (in.has("cluster")) scope = MemoryScope::cluster;
  if (in.has("sys")) scope = MemoryScope::system;
  Operation& op = decoder.emit(fence);
  op.scope = static_cast<std::uint8_t>(scope);
  op.order = static_cast<std::uint8_t>(in.has("sc") || in.opcode == "membar" ? MemoryOrder::sequential
                                                                             : MemoryOrder::acquire_release);
}

constexpr Opcode opcodes[] = {
    {"bar", decode_bar, Work::barrier, Guarding::skips},
    {"barrier", decode_bar, Work::barrier, Guarding::skips},
    {"membar", decode_fence, Work::fence},
    {"fence", decode_fence, Work::fence},
};

} // namespace

std::span<const Opcode> barrier_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
