// The grids that run at the same time, on several devices: one may wait for what another does, and for ever
// if that one was stopped.
#pragma once

#include "block.hpp"

namespace warpfold::machine {

// As long as this lives, its grid runs.
class RunningGrid {
public:
  explicit RunningGrid(const Grid& grid);
  ~RunningGrid();
  RunningGrid(const RunningGrid&) = delete;
  RunningGrid& operator=(const RunningGrid&) = delete;

private:
  const Grid& grid_;
};

// Where the kernels of other devices are: a line for each, like those of the block's own warps.
std::string standing_elsewhere(const Grid& grid);

// Whether no block of any grid has done anything since then but wait for a value in memory, and this grid is
// the one to stop: one after another, so that the first one's message is the one that is reported.
bool waits_in_vain(const Grid& grid, std::chrono::steady_clock::time_point then);

// "a kernel on device 1 was stopped at sum.cu:12": the last one, "" if there is none that has not been
// forgotten.
std::string stopped_kernel();

} // namespace warpfold::machine
