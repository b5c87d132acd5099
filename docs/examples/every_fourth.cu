// An example for the handouts' pictures, and no part of a lab: every fourth number is copied.
#include <cstdio>

__global__ void every_fourth(const float* numbers, float* chosen, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i < n) {
    chosen[i] = numbers[4 * i];
  }
}

int main() {
  constexpr unsigned n = 96;
  float host[n];
  for (unsigned i = 0; i < n; ++i) host[i] = static_cast<float>(i % 9 + 1);
  float *numbers, *chosen;
  cudaMalloc(&numbers, n * sizeof(float));
  cudaMalloc(&chosen, n / 4 * sizeof(float));
  cudaMemcpy(numbers, host, n * sizeof(float), cudaMemcpyHostToDevice);
  every_fourth<<<1, 32>>>(numbers, chosen, n);
  cudaMemcpy(host, chosen, n / 4 * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g %g %g ...\n", host[0], host[1], host[2]);
  return cudaDeviceSynchronize();
}
