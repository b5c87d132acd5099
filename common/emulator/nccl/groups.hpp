// ncclGroupStart and ncclGroupEnd: a thread's calls between the two are made together at the end.
#pragma once

#include "issue.hpp"
#include "splitting.hpp"

namespace warpfold::nccl {

bool in_group();
// Collectives, sends and receives that this process has issued.
unsigned long long calls_so_far();
// The buffers that they fill: of the calling rank; or, if a collective fills those of all ranks, of all,
// which the first rank counts.
unsigned long long results_so_far();

// What is wrong with a group that this thread has begun and not ended; "" if there is none.
const char* group_without_end();

ncclResult_t start_group();
ncclResult_t end_group();
// Of a call: within a group, the group's end returns the error, too, and issues nothing.
ncclResult_t group_result(ncclResult_t result);

// Each is made at once outside of a group.
ncclResult_t add(const Request& request);
ncclResult_t add(const Joining& joining);
ncclResult_t add(const Splitting& splitting);

// Whether this thread's group holds calls of a communicator, which must not be destroyed then.
bool has_calls_in_group(const ncclComm* comm);

} // namespace warpfold::nccl
