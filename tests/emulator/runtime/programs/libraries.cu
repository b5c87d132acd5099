// CUB and Thrust, which demand more of the runtime than a student's own program does.
#include "show.hpp"

#include <cub/device/device_reduce.cuh>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>

int main() {
  constexpr int n = 100003;
  thrust::host_vector<int> values(n);
  long long expected = 0;
  for (int i = 0; i < n; ++i) expected += values[i] = i * 7919 % 1000 - 300;
  thrust::device_vector<int> on_device = values;
  SHOW_VALUE(thrust::reduce(on_device.begin(), on_device.end()) == expected);

  int *out, sum = 0;
  cudaMalloc(&out, sizeof *out);
  void* storage = nullptr;
  size_t bytes = 0;
  const int* in = thrust::raw_pointer_cast(on_device.data());
  SHOW(cub::DeviceReduce::Sum(storage, bytes, in, out, n));
  cudaMalloc(&storage, bytes);
  SHOW(cub::DeviceReduce::Sum(storage, bytes, in, out, n));
  SHOW(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost));
  SHOW_VALUE(sum == expected);
  cudaFree(storage);
  cudaFree(out);
}
