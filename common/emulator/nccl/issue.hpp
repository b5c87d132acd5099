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
  Scalar scalar = {};             // of a scaled sum
  unsigned long long capture = 0; // that the stream is in; 0: none
};

// A collective is called: the others see it from now on, as the last of its sequence. Waits if this rank is
// too far ahead of them.
ncclResult_t announce(ncclComm& comm, const Call& call, Sequence sequence);
// The same of a call that the program makes now. Notices if a group was forgotten, or if another rank has
// already made another call.
ncclResult_t announce_in_group(ncclComm& comm, const Call& call, std::uint64_t group);
// Whether all others have made the same call; if one has made another, the communicator fails.
bool agree(Segment& segment, Sequence sequence, std::uint64_t number, bool wait);

ncclResult_t issue_collective(const Request& request, std::uint64_t group);

// Sends and receives of one group in one communicator: they go on at the same time.
ncclResult_t issue_between(const std::vector<Request>& requests, std::uint64_t group);

// For work of the communicator in the request's stream.
void begin_work(const Request& request);
void end_work(const Request& request);
// A host function, which is skipped if the communicator has failed. In a graph it may be called many times.
void launch(const Request& request, std::function<void()> body);
// A copy in the request's stream.
void copy(const Request& request, void* to, const void* from, std::size_t bytes);

extern const char* const never_came; // advice

} // namespace warpfold::nccl
