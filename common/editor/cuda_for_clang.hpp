// CUDA as editors see it: clangd reads this in front of every .cu file (kit/programs/compile_commands.py says
// so), and no compiler does. Clang has a header of its own for the purpose, but each release of it takes only
// the toolkits that were out when it was made. Here NVIDIA's declarations are read as they are, for a pass
// that makes no code: every function counts as one for host and device, so that none of them clashes with the
// C library's of the same name.
#pragma once

#define __CUDACC__
#define __NVCC__

// A kernel may print, assert and allocate.
#pragma clang force_cuda_host_device begin
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#pragma clang force_cuda_host_device end

// What <cmath> takes from the standard library stays the host's, or the rest of that library would contradict
// it.
#include <new>
#include <utility>
#include <vector>

#pragma clang force_cuda_host_device begin
#include <cmath>

// In place of crt/math_functions.h, which declares the C library's functions once more, and some not as
// constexpr.
#define __MATH_FUNCTIONS_H__
#define WARPFOLD_MIN_AND_MAX(type)                                                                           \
  type min(type a, type b);                                                                                  \
  type max(type a, type b);
WARPFOLD_MIN_AND_MAX(int)
WARPFOLD_MIN_AND_MAX(unsigned)
WARPFOLD_MIN_AND_MAX(long)
WARPFOLD_MIN_AND_MAX(unsigned long)
WARPFOLD_MIN_AND_MAX(long long)
WARPFOLD_MIN_AND_MAX(unsigned long long)
WARPFOLD_MIN_AND_MAX(float)
WARPFOLD_MIN_AND_MAX(double)
#undef WARPFOLD_MIN_AND_MAX
float rsqrtf(float x);
double rsqrt(double x);
float rcbrtf(float x);
double rcbrt(double x);
float normcdff(float x);
double normcdf(double x);
float erfinvf(float x);
double erfinv(double x);

// Without attributes a declaration of NVIDIA's is one for host and device. Clang has a __syncthreads already.
#define __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#include <crt/host_defines.h>
#undef __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#pragma push_macro("__host__")
#pragma push_macro("__device__")
#undef __host__
#undef __device__
#define __host__
#define __device__
#define __syncthreads syncthreads_as_nvidia_declares_it
#include <cuda_runtime.h>
#undef __syncthreads
#pragma pop_macro("__device__")
#pragma pop_macro("__host__")
#pragma clang force_cuda_host_device end
