// Launches that exceed a limit: the error that they return, and that nothing ran.
#include "show.hpp"

__managed__ int runs;
__global__ void count() {
  if (threadIdx.x == 0) atomicAdd(&runs, 1);
}
__global__ void __launch_bounds__(128) bounded() {
  if (threadIdx.x == 0) atomicAdd(&runs, 1);
}
__global__ void with_shared(int n) {
  __shared__ int fixed[1024];
  extern __shared__ int sized[];
  fixed[threadIdx.x] = 1;
  if (threadIdx.x == 0) sized[n] = 1;
  __syncthreads();
  if (threadIdx.x == 0 && fixed[31] + sized[n] == 2) atomicAdd(&runs, 1);
}

struct Large {
  char bytes[400];
  short last;
};
__global__ void many_arguments(char a, double b, short c, Large large, int* out) {
  *out = a + static_cast<int>(b) + c + large.bytes[399] + large.last;
}

#define SHOW_LAUNCH(kernel, ...)                                                                             \
  kernel<<<__VA_ARGS__>>>();                                                                                 \
  std::printf("%s<<<%s>>> -> %s\n", #kernel, #__VA_ARGS__, cudaGetErrorName(cudaGetLastError()))

void show_runs() {
  cudaDeviceSynchronize();
  SHOW_VALUE(runs);
}

int main() {
  SHOW_LAUNCH(count, 1, 1);
  SHOW_LAUNCH(count, 3, 1024);
  show_runs();
  SHOW_LAUNCH(count, 0, 1);
  SHOW_LAUNCH(count, 1, 0);
  SHOW_LAUNCH(count, 1, 1025);
  SHOW_LAUNCH(count, 1, dim3(1, 1, 65));
  SHOW_LAUNCH(count, 1, dim3(32, 32, 2));
  SHOW_LAUNCH(count, dim3(1, 65536), 1);
  SHOW_LAUNCH(count, dim3(1, 1, 65536), 1);
  SHOW_LAUNCH(bounded, 1, 128);
  SHOW_LAUNCH(bounded, 1, 160);
  SHOW_LAUNCH(count, 1, 32, 49152);
  SHOW_LAUNCH(count, 1, 32, 49153);
  show_runs();

  with_shared<<<1, 32, 45056>>>(0);
  SHOW(cudaGetLastError());
  with_shared<<<1, 32, 45057>>>(0);
  SHOW(cudaGetLastError());
  SHOW(cudaFuncSetAttribute(with_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
  with_shared<<<1, 32, 60000>>>(14999);
  SHOW(cudaGetLastError());
  SHOW(cudaFuncSetAttribute(with_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
  show_runs();

  int* out;
  cudaMallocManaged(&out, 4);
  Large large{};
  large.bytes[399] = 4;
  large.last = 5;
  many_arguments<<<1, 1>>>(1, 2.0, 3, large, out);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(*out);

  void* none[1];
  SHOW(cudaLaunchKernel(count, dim3(2), dim3(32), nullptr, 0, 0));
  SHOW(cudaLaunchKernel(reinterpret_cast<void*>(main), dim3(1), dim3(1), none, 0, 0));
  SHOW(cudaLaunchCooperativeKernel(count, dim3(16), dim3(1024), nullptr, 0, 0));
  SHOW(cudaLaunchCooperativeKernel(count, dim3(17), dim3(1024), nullptr, 0, 0));
  cudaLaunchConfig_t config{};
  config.gridDim = config.blockDim = dim3(4);
  SHOW(cudaLaunchKernelEx(&config, count));
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  config.attrs = &cluster;
  config.numAttrs = 1;
  SHOW(cudaLaunchKernelEx(&config, count));
  show_runs();
}
