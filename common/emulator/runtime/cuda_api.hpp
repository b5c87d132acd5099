// The toolkit's own declarations of what this library defines. The library is compiled with hidden
// visibility; what the toolkit declares is what it exports.
#pragma once

#pragma GCC visibility push(default)
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop
