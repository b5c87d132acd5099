// CUDA's errors in words that say what to do about them.
#pragma once

#include <string>

#include <cuda_runtime_api.h>

namespace lab {

// The runtime's own text, and a sentence more where the error is the machine's and not the program's.
std::string explain(cudaError_t error);

} // namespace lab
