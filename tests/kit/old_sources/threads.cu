// The functions that were called after threads and are called after devices.
#include <cstdio>

__global__ void set(int* value) {
  *value = 42;
}

int main() {
  int *value, result = 0;
  std::size_t limit = 0;
  cudaThreadSetLimit(cudaLimitStackSize, 4096);
  cudaThreadGetLimit(&limit, cudaLimitStackSize);
  cudaThreadSetCacheConfig(cudaFuncCachePreferL1);
  cudaFuncCache config;
  const bool has_config = cudaThreadGetCacheConfig(&config) == cudaSuccess;
  double number = 1.5;
  cudaSetDoubleForDevice(&number);
  cudaSetDoubleForHost(&number);
  cudaMalloc(&value, sizeof *value);
  set<<<1, 1>>>(value);
  const cudaError_t error = cudaThreadSynchronize();
  cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost);
  std::printf("%d %d %zu %d %g %d\n", error, result, limit, has_config, number, cudaThreadExit());
}
