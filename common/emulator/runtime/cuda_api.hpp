// The toolkit's own declarations of what this library defines. The library is compiled with hidden
// visibility; it exports what the toolkit declares.
#pragma once

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>

// Two functions that have their own header (cuda_profiler_api.h), which not every toolkit package contains.
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();
#pragma GCC visibility pop
