// A histogram as people write it first: many threads add to one bin without an atomic.
#include <cstdio>

__global__ void histogram(const unsigned char* text, int n, int* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    bins[text[i] % 16] += 1;
  }
}

int main() {
  constexpr int n = 4096;
  unsigned char* text;
  int *bins, total = 0, found[16];
  cudaMalloc(&text, n);
  cudaMalloc(&bins, sizeof found);
  cudaMemset(text, 'a', n);
  cudaMemset(bins, 0, sizeof found);
  histogram<<<n / 256, 256>>>(text, n, bins);
  cudaMemcpy(found, bins, sizeof found, cudaMemcpyDeviceToHost);
  for (int count : found) total += count;
  printf("%d of %d bytes counted\n", total, n);
  cudaFree(text);
  cudaFree(bins);
}
