#include "running.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::machine {
namespace {

using Clock = std::chrono::steady_clock;

struct Running {
  std::mutex mutex;
  std::vector<const Grid*> grids;
  Clock::time_point last_end; // of a grid
  std::atomic<bool> one_was_stopped = false;
  int device_of_stopped = 0; // the last one
  SourceLine line_of_stopped;
};

Running& running() {
  static Running* const only = new Running; // kernels may run while static destructors do
  return *only;
}

// By a limit or from outside. Kernels that wait for each other for ever have the same limit, and neither is
// the cause of the other's end.
bool is_for_want_of_an_end(Fault::Kind kind) {
  using enum Fault::Kind;
  return kind == endless || kind == waiting || kind == too_slow || kind == interrupted;
}

} // namespace

RunningGrid::RunningGrid(const Grid& grid) : grid_(grid) {
  std::lock_guard lock(running().mutex);
  running().grids.push_back(&grid_);
}

RunningGrid::~RunningGrid() {
  std::lock_guard lock(running().mutex);
  std::erase(running().grids, &grid_);
  running().last_end = Clock::now();
  if (!grid_.fault || grid_.fault->was_reported || is_for_want_of_an_end(grid_.fault->kind)) return;
  running().device_of_stopped = grid_.device;
  running().line_of_stopped = grid_.fault->where;
  running().one_was_stopped = true;
}

BlocksRunning blocks_running() {
  BlocksRunning blocks;
  std::lock_guard lock(running().mutex);
  for (const Grid* grid : running().grids) {
    blocks.done += grid->blocks_done;
    blocks.all += grid->blocks_to_run();
  }
  return blocks;
}

std::string standing_elsewhere(const Grid& grid) {
  std::string text;
  std::lock_guard lock(running().mutex);
  for (const Grid* other : running().grids) {
    const Operation* const at = other->stood_at;
    if (other == &grid || other->device == grid.device || !at) continue;
    text += fmt::format("\n    {} (running): another kernel, on device {}",
                        file_and_line(other->code.line_of(*at)), other->device);
  }
  return text;
}

namespace {
bool wait_since(Clock::time_point then) {
  return std::ranges::all_of(running().grids, [&](const Grid* each) {
    return each->turns_waited != 0 && each->waits_since < then.time_since_epoch().count();
  });
}
} // namespace

bool all_kernels_wait(Clock::duration time) {
  std::lock_guard lock(running().mutex);
  return !running().grids.empty() && wait_since(Clock::now() - time);
}

bool any_kernel_computes(Clock::duration time) {
  std::lock_guard lock(running().mutex);
  return !running().grids.empty() && !wait_since(Clock::now() - time);
}

bool waits_in_vain(const Grid& grid, Clock::time_point then) {
  constexpr std::chrono::milliseconds until_reported{500};
  std::lock_guard lock(running().mutex);
  return running().grids.front() == &grid && Clock::now() - running().last_end > until_reported &&
         wait_since(then);
}

std::string stopped_kernel() {
  if (!running().one_was_stopped) return "";
  std::lock_guard lock(running().mutex);
  return fmt::format("a kernel on device {} was stopped at {}", running().device_of_stopped,
                     file_and_line(running().line_of_stopped));
}

void forget_stopped_kernels() {
  running().one_was_stopped = false;
}

} // namespace warpfold::machine
