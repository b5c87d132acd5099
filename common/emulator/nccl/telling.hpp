// What is said of a mistake, on stderr and by ncclGetLastError.
#pragma once

#include "segment.hpp"

#include <nccl.h>
#include <string>

namespace warpfold::nccl {

// Says a mistake of one call, each once, and returns the error. `text` is a sentence; lines that follow it
// name places.
ncclResult_t refuse(ncclResult_t result, const std::string& text);

// A mistake of several ranks: the communicator can no longer be used by any of them. The first to find one
// says it. Returns the error that the communicator has from then on.
ncclResult_t fail(Segment& segment, ncclResult_t result, const std::string& text);

// The text that was said last in this process. Lives as long as the process.
const char* last_text();
void set_last_text(const std::string& text);
// From now on, nothing is printed on stderr: for a program that reports what ncclGetLastError returns.
void keep_quiet();

// To join a communicator failed, for the reason that was said last; a program that does not look at results
// goes on without one. The first such reason since a process last joined, or "".
void note_failed_join();
void note_join();
std::string why_joining_failed();

// "ncclReduce(1 of ncclFloat32, ncclSum, root 0)", "ncclSend(4 of ncclInt32, to rank 1)".
std::string text(const Call& call);
const char* name_of(Kind kind);

// "\n  file.cu:12: rank 1 calls ncclAllReduce(...)", the form in which places follow a sentence.
std::string line_of(Segment& segment, int rank, const Call& call);
// The same of a place alone.
std::string place_of(Segment& segment, int rank, const Call& call);

// "rank 1", "ranks 1, 2 and 3"
std::string ranks_text(const std::vector<int>& ranks);

} // namespace warpfold::nccl
