// What every program here uses: prints a call as it is in the source, and what it returned.
#pragma once

#include <cstdio>
#include <cuda_runtime.h>

#define SHOW(call) std::printf("%s -> %s\n", #call, cudaGetErrorName(call))
#define SHOW_VALUE(expression) std::printf("%s = %lld\n", #expression, static_cast<long long>(expression))
