// Waiting for other ranks, and the end of it: a rank that never comes is reported instead of waited for.
//
// What ends a wait, besides the ranks' coming:
//  - the communicator has failed, or a rank can no longer come: it has destroyed its communicator, or its
//    process ended;
//  - nothing has happened for the time limit (10 s, or WARPFOLD_NCCL_TIMEOUT in seconds): no rank came, and
//    no process of those that are missing computed;
//  - three times the limit has passed although they computed; or thirty times, if the ranks have made the
//    call and only their streams have not reached it.
#pragma once

#include "segment.hpp"

#include <chrono>
#include <functional>
#include <nccl.h>
#include <string>
#include <vector>

namespace warpfold::nccl {

std::chrono::duration<double> time_limit();

struct Wanted {
  std::vector<int> ranks = {};
  std::function<bool(int rank)> is_there = {};
  std::function<bool(int rank)> has_called = {}; // the same, but its stream may not have reached it
  Call own = {};                                 // what this rank waits in
  std::string advice = {};                       // what to try if a rank never comes
};

// Returns whether all came; else the communicator has failed.
bool wait_for(Segment& segment, const Wanted& wanted);

// The same before there are calls: for all ranks to be there.
bool wait_for_arrival(Segment& segment, const Call& own, const std::string& advice);

} // namespace warpfold::nccl
