// CUDA's errors in sentences that say what to do about them.
#pragma once

#include <string>

#include <cuda_runtime_api.h>

namespace lab {

// The runtime's own text, and one more sentence if the machine, not the program, is at fault.
std::string explain(cudaError_t error);

// The same for what this thread's cudaGetLastError is about to return. The emulator also knows which call was
// refused, why, and on which line.
std::string explain_last_error();

} // namespace lab
