#include "launches.hpp"

#include <algorithm>

namespace warpfold::analysis {

namespace {

bool is_over(const Launches::Launch& launch, const Operation* order) {
  if (launch.runs) return false;
  return !order || (launch.actor < order->view.size() && order->view[launch.actor] >= launch.number);
}

} // namespace

Launches::Launch* Launches::begin(const machine::Grid& grid, const Operation* order,
                                  const std::function<void()>& begins_group) {
  std::lock_guard lock(mutex_);
  const std::size_t count = count_;
  const auto end = launches_.begin() + static_cast<std::ptrdiff_t>(count);
  const bool all_over =
      std::all_of(launches_.begin(), end, [&](const auto& each) { return is_over(*each, order); });
  const bool any_runs = std::any_of(launches_.begin(), end, [](const auto& each) { return each->runs; });
  const std::uint64_t next =
      count == 0 ? 0 : launches_[count - 1]->first_block + launches_[count - 1]->shape.grid.count();
  const bool is_full = count == most || next + grid.block_count() > UINT32_MAX;
  const bool is_first = all_over || (is_full && !any_runs);
  if (is_full && !is_first) return nullptr;
  auto launch = std::make_unique<Launch>(grid.block_count());
  launch->code = &grid.code;
  launch->forgets = is_first && !all_over;
  launch->shape = grid.shape;
  launch->device = grid.device;
  if (order) launch->actor = order->actor, launch->number = order->number;
  const std::size_t place = is_first ? 0 : count;
  launch->place = static_cast<std::uint32_t>(place);
  launch->first_block = is_first ? 0 : static_cast<std::uint32_t>(next);
  for (std::size_t i = 0; i < place; ++i) {
    if (!is_over(*launches_[i], order)) continue;
    launch->after[i] = true;
    std::lock_guard inner(launches_[i]->mutex);
    launch->acquired.join(launches_[i]->acquired);
    launch->acquired.raise(CausalClock::Key::of_launch(launches_[i]->first_block), 1);
  }
  if (is_first) begins_group();
  if (grid.shape.cluster.count() > 1) has_clusters_.store(true, std::memory_order_release);
  launches_[place] = std::move(launch);
  count_.store(place + 1, std::memory_order_release);
  return launches_[place].get();
}

std::uint32_t Launches::cluster_of(std::uint32_t block) const {
  if (!has_clusters_.load(std::memory_order_acquire)) return Place::alone;
  const Launch& launch = of(block);
  const machine::Dim3 &grid = launch.shape.grid, &cluster = launch.shape.cluster;
  if (cluster.count() == 1) return Place::alone;
  const std::uint32_t linear = block - launch.first_block;
  const std::uint32_t x = linear % grid.x / cluster.x * cluster.x,
                      y = linear / grid.x % grid.y / cluster.y * cluster.y,
                      z = linear / grid.x / grid.y / cluster.z * cluster.z;
  return launch.first_block + (z * grid.y + y) * grid.x + x;
}

void Launches::end(Launch& launch) {
  std::lock_guard lock(mutex_);
  launch.runs = false;
}

} // namespace warpfold::analysis
