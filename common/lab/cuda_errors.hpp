// CUDA's errors in sentences that say what to do about them.
#pragma once

#include <string>

#include <cuda_runtime_api.h>

namespace lab {

// The runtime's own text, and one more sentence if the machine, not the program, is at fault.
std::string explain(cudaError_t error);

} // namespace lab
