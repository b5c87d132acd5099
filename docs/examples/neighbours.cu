// An example for the handouts' pictures, and no part of a lab: what lies between each number's two
// neighbours.
#include <cstdio>

__global__ void neighbours(const float* numbers, float* change) {
  __shared__ float copy[64];
  const unsigned i = threadIdx.x;
  copy[i] = numbers[i];
  __syncthreads();
  if (i > 0 && i < 63) {
    change[i] = copy[i + 1] - copy[i - 1];
  }
}

int main() {
  constexpr unsigned n = 64;
  float host[n];
  for (unsigned i = 0; i < n; ++i) host[i] = static_cast<float>(i % 9 + 1);
  float *numbers, *change;
  cudaMalloc(&numbers, n * sizeof(float));
  cudaMalloc(&change, n * sizeof(float));
  cudaMemset(change, 0, n * sizeof(float));
  cudaMemcpy(numbers, host, n * sizeof(float), cudaMemcpyHostToDevice);
  neighbours<<<1, n>>>(numbers, change);
  cudaMemcpy(host, change, n * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g %g %g ...\n", host[1], host[2], host[3]);
  return cudaDeviceSynchronize();
}
