// What the checker knows of clusters: their barrier, the shared memory that their blocks have together, and
// how long it is there.
#include "checker_notes.hpp"

#include "naming.hpp"
#include "words.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace warpfold::analysis {

using machine::AccessKind;
using machine::MemoryScope;
using machine::warp_lanes;
using machine::Work;

namespace {

template <typename Visit>
void each_of(std::uint32_t lanes, Visit visit) {
  for (; lanes; lanes &= lanes - 1) visit(static_cast<unsigned>(std::countr_zero(lanes)));
}

constexpr std::size_t word = GlobalShadow::word_bytes;

} // namespace

Checker::ClusterNotes& Checker::cluster_notes(const machine::Cluster& cluster) {
  if (!cluster.notes) cluster.notes = std::make_shared<ClusterNotes>();
  return *static_cast<ClusterNotes*>(cluster.notes.get());
}

// With its first block, before any of them runs.
void Checker::begin_cluster(const machine::Block& block, const Launches::Launch& launch) {
  const machine::Cluster& cluster = *block.cluster;
  if (cluster.size() == 1) {
    if (cluster.notes) cluster_notes(cluster).released = {};
    return;
  }
  ClusterNotes& all = cluster_notes(cluster);
  for (const std::uint64_t log : all.logs) logs_.remove(log);
  all.logs.clear(), all.uses.clear(), all.blocks.clear();
  all.released = {};
  constexpr std::uint64_t row = GlobalShadow::row_bytes;
  all.stride = (block.worker.grid.shared_bytes() + row - 1) / row * row;
  const std::uint64_t bytes = all.stride * cluster.size();
  all.written.assign(bytes / word, false);
  if (all.shadow)
    all.shadow->begin_launch(true);
  else
    all.shadow = std::make_unique<GlobalShadow>(0, bytes + row);
  for (const machine::Block* each : cluster.blocks)
    all.blocks.push_back(static_cast<std::uint32_t>(each->linear_id) + launch.first_block);
}

// In a cluster of several blocks, an operation on an mbarrier that names no scope counts as reaching the
// cluster: its own default is the block, but programs rely on more where other blocks arrive.
MemoryScope Checker::scope_in(const Notes& mine, const machine::Operation& operation, MemoryScope scope) {
  const bool widens = mine.cluster && scope == MemoryScope::block &&
                      mine.facts->code->facts[operation.index].work == Work::memory_barrier;
  return widens ? MemoryScope::cluster : scope;
}

// The owner of the lane's bytes, and where they are in its shared memory.
Checker::SharedPlace Checker::shared_place(const machine::Block& block, std::uint64_t address) {
  if (!machine::names_rank(address)) return {block.rank, address};
  return {static_cast<std::uint32_t>(machine::named_rank(address)), address & machine::cluster_offset_mask};
}

// The address by which the releases know a place in shared memory.
std::uint64_t Checker::shared_log(const Notes& mine, const machine::Block& block, std::uint64_t address) {
  if (!mine.cluster) return ReleaseLogs::shared_address(mine.block, address);
  const SharedPlace at = shared_place(block, address);
  return ReleaseLogs::shared_address(mine.cluster->blocks[at.rank], at.offset);
}

std::string Checker::shared_in_words(const Notes& mine, const machine::Block& block, std::uint64_t address,
                                     unsigned width) const {
  const SharedPlace at = shared_place(block, address);
  std::string name = shared_name(mine.grid->code, at.offset, width);
  if (!mine.cluster) return name;
  return fmt::format("{} in the shared memory of {}", name,
                     machine::block_name(mine.grid->shape, block.cluster->blocks[at.rank]->linear_id));
}

// As an access to the memory that the blocks of the cluster have together.
template <typename Report, typename Unwritten>
void Checker::check_shared_of_cluster(Notes& mine, const Accessor& accessor, Report report,
                                      Unwritten unwritten) {
  const machine::Access& access = accessor.access;
  const machine::Block& block = *access.warp.block;
  ClusterNotes& all = *mine.cluster;
  std::uint64_t addresses[warp_lanes] = {};
  const std::byte* places[warp_lanes] = {};
  std::uint32_t reported = 0;
  const bool writes =
      access.kind != AccessKind::load; // as in a block's own memory, an atomic counts as a write
  each_of(access.mask, [&](unsigned lane) {
    const SharedPlace at = shared_place(block, access.addresses[lane]);
    places[lane] = block.cluster->blocks[at.rank]->shared.data() + at.offset;
    addresses[lane] = at.rank * all.stride + at.offset;
    for (std::uint64_t byte = addresses[lane]; byte < addresses[lane] + access.width; byte += word) {
      if (!writes && !all.written[byte / word]) reported |= 1u << lane;
      all.written[byte / word] = true;
    }
  });
  if (reported) unwritten(static_cast<unsigned>(std::countr_zero(reported)));
  machine::Access mapped = access;
  mapped.addresses = addresses;
  const auto leader = static_cast<unsigned>(std::countr_zero(access.mask));
  mapped.first = addresses[leader] - leader * access.width;
  const Accessor as_mapped{mapped,          accessor.launches, accessor.order,      accessor.logs,
                           accessor.number, accessor.record,   accessor.keeps_many, accessor.atomic_widths,
                           places,          access.addresses};
  check_global(*all.shadow, records_, as_mapped, report);
}

void Checker::check_in_cluster(Notes& mine, const Accessor& accessor) {
  const machine::Access& access = accessor.access;
  if (access.remote && checks_.races) check_owner(mine, access, accessor.number);
  check_shared_of_cluster(
      mine, accessor,
      [&](const Conflict& conflict) {
        if (checks_.races) report_race(access, conflict);
      },
      [&](unsigned lane) {
        if (checks_.initialisation) report_uninitialised(access, lane);
      });
}

// Another block's shared memory is there from when that block has started until its last thread exits (CUDA
// Programming Guide, "Distributed Shared Memory"). Both follow from the order alone: from the cluster's
// barrier, or from what threads have released and acquired.
void Checker::check_owner(Notes& mine, const machine::Access& access, std::uint32_t number) {
  const machine::Warp& warp = access.warp;
  const machine::Block& block = *warp.block;
  const machine::Cluster& cluster = *block.cluster;
  std::uint32_t rank = ~0u; // of the lane before
  ClusterNotes::Use* use = nullptr;
  each_of(access.mask, [&](unsigned lane) {
    const SharedPlace at = shared_place(block, access.addresses[lane]);
    const machine::Block& owner = *cluster.blocks[at.rank];
    const Notes& theirs = notes(owner);
    AccessRecord start{.block = theirs.block, .moment = theirs.order.begun - 1};
    if (block.rounds_waited == 0 &&
        !mine.order.is_released(start, CausalClock::every_lane, warp.index, lane, launches_))
      return report_owner(HazardCause::block_not_started, access, lane);
    if (owner.alive == 0) return report_owner(HazardCause::block_ended, access, lane);
    if (at.rank != rank) rank = at.rank, use = &mine.cluster->uses[{at.rank, block.rank, warp.index}];
    use->records[lane] = number;
    use->offsets[lane] = at.offset;
    // The round of the barrier at which the lane arrives next.
    use->rounds[lane] = cluster.rounds + (warp.cluster_arrived >> lane & 1);
  });
}

// Nothing that other blocks have done in the block's shared memory may come after its end.
void Checker::check_end(const Notes& mine, const machine::Block& block) {
  ClusterNotes& all = *mine.cluster;
  CausalClock known = mine.order.acquired;
  for (const WarpOrder& warp : mine.order.warps) known.join(warp.acquired);
  for (const auto& [who, use] : all.uses) {
    if (std::get<0>(who) != block.rank) continue;
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      if (use.records[lane] == 0 || use.rounds[lane] < block.rounds_waited) continue;
      const AccessRecord& record = records_[use.records[lane]];
      if (known.covers(record, lane)) continue;
      const machine::Operation& operation = mine.grid->code.operations[record.operation];
      if (!is_new(HazardKind::cluster_memory, operation, ~1u)) break;
      const std::string thread =
          machine::thread_name(mine.grid->shape, record.block - mine.launch->first_block, record.warp, lane) +
          device_in_words(mine.grid->device);
      const AccessKind kind = record.is_atomic  ? AccessKind::atomic
                              : record.is_store ? AccessKind::store
                                                : AccessKind::load;
      Hazard hazard = describe_owner(HazardCause::block_ended, thread, kind,
                                     shared_in_words(mine, block, use.offsets[lane], record.width),
                                     machine::block_name(mine.grid->shape, block.linear_id));
      hazard.where = mine.grid->code.line_of(operation);
      recorder_.add(std::move(hazard));
      break;
    }
  }
}

void Checker::report_owner(HazardCause cause, const machine::Access& access, unsigned lane) {
  const Notes& mine = notes(*access.warp.block);
  if (!is_new(HazardKind::cluster_memory, access.operation, cause == HazardCause::block_ended ? ~1u : ~2u))
    return;
  const machine::Block& block = *access.warp.block;
  const SharedPlace at = shared_place(block, access.addresses[lane]);
  Hazard hazard =
      describe_owner(cause, thread_in_words(mine, access.warp, lane), access.kind,
                     shared_in_words(mine, block, access.addresses[lane], access.width),
                     machine::block_name(mine.grid->shape, block.cluster->blocks[at.rank]->linear_id));
  hazard.where = mine.grid->code.line_of(access.operation);
  recorder_.add(std::move(hazard));
}

// An arrival that releases is a fence for what its threads have done, as an operation of release order is; a
// relaxed one releases what a fence before it covers.
void Checker::cluster_arrive(const machine::Warp& warp, const machine::Operation& operation, bool releases) {
  Notes& mine = notes(*warp.block);
  if (!mine.launch) return;
  has_read(warp);
  BlockOrder& order = mine.order;
  const machine::Cluster& cluster = *warp.block->cluster;
  mine.orders_less |= !releases;
  if (!releases && !order.has_fence(warp.index, warp.mask)) return;
  std::optional<BlockOrder::Fences> before;
  if (releases) before = order.begin_release(warp.index, warp.mask, Level::cluster);
  const Release released = order.release(warp.index, warp.mask, operation.index);
  cluster_notes(cluster).released[cluster.rounds % 2].join(
      released.known[static_cast<std::size_t>(Level::cluster)]);
  if (before) order.end_release(warp.index, *before);
}

void Checker::cluster_barrier(const machine::Cluster& cluster, const machine::Operation&) {
  if (!cluster.notes) return;
  ClusterNotes& all = cluster_notes(cluster);
  // No block waits for the round before this one any more: all have arrived at this one since.
  all.released[cluster.rounds % 2] = {};
  if (!all.shadow) return;
  // Mostly, a round orders all that its blocks have done so far. One moment of each says that shorter than
  // what each of its warps has released.
  for (const machine::Block* block : cluster.blocks) {
    Notes& theirs = notes(*block);
    const bool orders_all = !theirs.orders_less && block->alive == block->threads;
    theirs.orders_less = false;
    if (orders_all)
      all.released[(cluster.rounds - 1) % 2].raise(CausalClock::Key::of_block(theirs.block),
                                                   ++theirs.order.clock);
  }
}

void Checker::cluster_wait(const machine::Warp& warp, const machine::Operation&) {
  Notes& mine = notes(*warp.block);
  const machine::Cluster& cluster = *warp.block->cluster;
  if (!mine.launch || !cluster.notes) return;
  const CausalClock& released = cluster_notes(cluster).released[(cluster.rounds - 1) % 2];
  if (released.empty()) return;
  mine.order.has_read_any = true;
  mine.order.warps[warp.index].acquire(released, warp.mask);
}

// The operation alone is released, not what its threads did before it.
void Checker::completes(const machine::Warp& warp, const machine::Operation& operation, std::uint32_t lanes,
                        const std::uint64_t* barriers) {
  Notes& mine = notes(*warp.block);
  if (!mine.launch) return;
  BlockOrder& order = mine.order;
  const std::uint32_t moment = ++order.clock;
  order.warps[warp.index].phase = moment;
  each_of(lanes, [&](unsigned lane) {
    const CausalClock done = CausalClock::of_one_block(
        {{CausalClock::Key::of_thread(mine.block, warp.index, lane).by(operation.index), moment}});
    const std::array<CausalClock, level_count> all{done, done, done, done};
    const std::uint64_t key = shared_log(mine, *warp.block, barriers[lane]);
    logs_.at(key).release({.by = order.place,
                           .warp = warp.index,
                           .lanes = 1u << lane,
                           .level = mine.cluster ? Level::cluster : Level::block,
                           .known = all,
                           .done = all},
                          false);
    (mine.cluster ? mine.cluster->logs : mine.shared_logs).push_back(key);
  });
}

} // namespace warpfold::analysis
