// Issues work for calls: copies between device memory and the host's, and host functions that meet the other
// ranks.
#pragma once

#include "communicator.hpp"

namespace warpfold::nccl {

struct Request {
  ncclComm* comm = nullptr;
  Call call = {};
  const void* send = nullptr;
  void* receive = nullptr;
  cudaStream_t stream = nullptr;
  Scalar scalar = {}; // of a scaled sum
};

// A collective is called: the others see it from now on. Waits if this rank is too far ahead of them.
ncclResult_t announce(ncclComm& comm, const Call& call, std::uint64_t group);
// Whether all others have made the same call; if one has made another, the communicator fails.
bool agree(Segment& segment, std::uint64_t number, bool wait);

ncclResult_t issue_collective(const Request& request, std::uint64_t group);

// Sends and receives of one group in one communicator: they go on at the same time.
ncclResult_t issue_between(const std::vector<Request>& requests, std::uint64_t group);

// For work of the communicator in this stream.
void begin_work(ncclComm& comm, cudaStream_t stream);
void end_work(ncclComm& comm, cudaStream_t stream);
// A host function, which is skipped if the communicator has failed.
void launch(ncclComm& comm, cudaStream_t stream, std::function<void()> body);
void copy(ncclComm& comm, void* to, const void* from, std::size_t bytes, cudaStream_t stream);

extern const char* const never_came; // advice

} // namespace warpfold::nccl
