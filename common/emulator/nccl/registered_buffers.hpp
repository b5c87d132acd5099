// Buffers and windows that a program registers with a communicator. On GPUs that makes transfers faster. Here
// it changes nothing, but handles are checked.
#pragma once

#include <cstddef>

struct ncclComm;

namespace warpfold::nccl {

enum class Registered { buffer, window };

// Returns a handle.
void* register_memory(const ncclComm* comm, void* begin, std::size_t size, Registered kind);
// False if it is no such handle of this communicator's.
bool deregister_memory(const ncclComm* comm, void* handle, Registered kind);
// When the communicator ends.
void deregister_all(const ncclComm* comm);

} // namespace warpfold::nccl
