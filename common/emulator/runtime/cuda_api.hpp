// The toolkit's own declarations of what this library defines. The library is compiled with hidden
// visibility; what the toolkit declares is what it exports.
#pragma once

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>

// Two that have a header of their own (cuda_profiler_api.h), which not every toolkit package holds.
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();
#pragma GCC visibility pop
