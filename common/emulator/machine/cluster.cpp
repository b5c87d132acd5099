#include "cluster.hpp"

#include "block.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <utility>

namespace warpfold::machine {

void Cluster::begin(std::vector<Block*> members) {
  blocks = std::move(members);
  restart();
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    blocks[rank]->cluster = this;
    blocks[rank]->rank = rank;
  }
}

void Cluster::restart() {
  rounds = 0;
  arrived = ended = 0;
  first = nullptr;
}

void Cluster::arrive(Warp& warp, const Operation* op) {
  if (!first) first = op;
  warp.cluster_arrived |= warp.mask;
  arrived += static_cast<std::uint32_t>(std::popcount(warp.mask));
  check();
}

void Cluster::check() {
  if (arrived == 0) return;
  std::uint32_t needed = 0;
  for (const Block* block : blocks) needed += block->alive;
  if (arrived < needed) return;
  ++rounds;
  arrived = 0;
  const Operation* const op = std::exchange(first, nullptr);
  for (Block* block : blocks) {
    if (block->alive != 0) ++block->worker.counters[op->index].requests; // once per block, not once per warp
    block->waits_for_cluster = false;
    for (Warp& warp : block->warps) {
      warp.cluster_released |= std::exchange(warp.cluster_arrived, 0);
      for (DivergentPath& path : warp.paths)
        if (path.state == DivergentPath::State::at_cluster) path.state = DivergentPath::State::ready;
    }
  }
  if (Watcher* watcher = blocks.front()->worker.grid.watcher) watcher->cluster_barrier(*this, *op);
}

bool Cluster::is_stuck() const {
  return std::ranges::all_of(
      blocks, [](const Block* block) { return block->alive == 0 || block->waits_for_cluster; });
}

void Cluster::stop_stuck() const {
  Fault fault{.kind = Fault::Kind::barrier, .where = {}, .other = {}, .message = {}};
  // Threads that wait further on have left the first of these places out.
  const Operation *first_place = nullptr, *last_place = nullptr;
  std::string places;
  for (const Block* block : blocks) {
    if (block->alive == 0) continue;
    places += fmt::format("\n  block ({}, {}, {}), rank {}:{}", block->id.x, block->id.y, block->id.z,
                          block->rank, block->standing());
    block->each_waiting([&](const Operation* at, const DivergentPath&) {
      if (!first_place || at < first_place) first_place = at;
      last_place = std::max(last_place, at);
    });
  }
  const Code& code = blocks.front()->worker.grid.code;
  if (first_place) fault.where = code.line_of(*first_place);
  if (last_place != first_place) fault.other = code.line_of(*last_place);
  fault.message =
      fmt::format("a cluster of {} blocks can never go on: their threads wait for each other. They are at{}",
                  size(), places);
  throw LaunchStopped(std::move(fault));
}

} // namespace warpfold::machine
