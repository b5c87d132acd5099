#pragma once

#include "communicator.hpp"

namespace warpfold::nccl {

struct Splitting {
  ncclComm* parent = nullptr;
  int color = 0, key = 0;
  ncclComm_t* made = nullptr;
  CallSite site = {};
};

// All at once: the ranks of one communicator may be among them. Waits for those that are elsewhere.
ncclResult_t split(const std::vector<Splitting>& all, std::uint64_t group);

} // namespace warpfold::nccl
