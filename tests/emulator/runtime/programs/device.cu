// What the device reports about itself and about kernels, and what it does not support.
#include "show.hpp"

#include <cstring>

__global__ void plain(int* out) {
  *out = 1;
}
__global__ void __launch_bounds__(256) bounded(int* out) {
  __shared__ double sums[1024];
  sums[threadIdx.x] = *out;
  __syncthreads();
  *out = sums[255 - threadIdx.x];
}

int attribute(cudaDeviceAttr which) {
  int value = -1;
  cudaDeviceGetAttribute(&value, which, 0);
  return value;
}

int resident(int threads, size_t shared) {
  int blocks = -1;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, threads, shared);
  return blocks;
}

int main() {
  int count, device, runtime_version, driver_version;
  cudaDeviceProp properties;
  SHOW(cudaGetDeviceCount(&count));
  SHOW_VALUE(count);
  SHOW(cudaSetDevice(0));
  SHOW(cudaSetDevice(1));
  SHOW(cudaGetDevice(&device));
  SHOW_VALUE(device);
  SHOW(cudaGetDeviceProperties(&properties, 0));
  SHOW(cudaGetDeviceProperties(&properties, 2));
  std::printf("%s\n", properties.name);
  SHOW_VALUE(properties.major * 10 + properties.minor);
  SHOW_VALUE(properties.warpSize == attribute(cudaDevAttrWarpSize));
  SHOW_VALUE(properties.maxGridSize[1] == attribute(cudaDevAttrMaxGridDimY));
  SHOW_VALUE(properties.maxThreadsDim[2] == attribute(cudaDevAttrMaxBlockDimZ));
  SHOW_VALUE(static_cast<int>(properties.sharedMemPerBlockOptin) ==
             attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  SHOW_VALUE(properties.major == attribute(cudaDevAttrComputeCapabilityMajor));
  SHOW(cudaDeviceGetAttribute(&device, static_cast<cudaDeviceAttr>(100000), 0));
  SHOW(cudaRuntimeGetVersion(&runtime_version));
  SHOW(cudaDriverGetVersion(&driver_version));
  SHOW_VALUE(runtime_version == CUDART_VERSION && driver_version == CUDART_VERSION);

  cudaFuncAttributes attributes;
  SHOW(cudaFuncGetAttributes(&attributes, bounded));
  SHOW_VALUE(attributes.sharedSizeBytes);
  SHOW_VALUE(attributes.maxThreadsPerBlock);
  SHOW_VALUE(attributes.ptxVersion);
  SHOW_VALUE(attributes.maxDynamicSharedSizeBytes);
  SHOW_VALUE(resident(32, 0));
  SHOW_VALUE(resident(256, 0));
  SHOW_VALUE(resident(256, 40000));
  SHOW_VALUE(resident(257, 0));
  SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, plain, 0, 0));
  int grid, block;
  SHOW(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain));
  std::printf("plain: %d blocks of %d threads\n", grid, block);
  SHOW(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded));
  std::printf("bounded: %d blocks of %d threads\n", grid, block);
  size_t bytes;
  SHOW(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, bounded, 2, 256));
  SHOW_VALUE(bytes);
  const char* name;
  SHOW(cudaFuncGetName(&name, plain));
  std::printf("%s\n", name);

  SHOW(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 22));
  SHOW(cudaDeviceGetLimit(&bytes, cudaLimitPrintfFifoSize));
  SHOW_VALUE(bytes);
  SHOW(cudaDeviceSetLimit(static_cast<cudaLimit>(77), 1));

  SHOW(cudaGraphicsUnregisterResource(nullptr));
  SHOW(cudaGraphicsUnregisterResource(nullptr));
  SHOW(cudaGetLastError());
  void* function = &bytes;
  cudaDriverEntryPointQueryResult result;
  SHOW(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &result));
  SHOW_VALUE(function == nullptr && result == cudaDriverEntryPointSymbolNotFound);
  std::printf("%s / %s\n", cudaGetErrorName(cudaErrorInvalidPtx),
              cudaGetErrorName(static_cast<cudaError_t>(12345)));
}
