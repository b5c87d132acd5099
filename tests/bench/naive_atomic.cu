// A thread per element, each with an atomic of its own on the one result.
#include "bench.cuh"

__global__ void naive_atomic(const float* input, float* result, size_t n) {
  const size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(result, input[i]);
}

int main() {
  return bench::run("naive_atomic", [](const float* input, float* result, size_t n) {
    naive_atomic<<<(n + bench::block_size - 1) / bench::block_size, bench::block_size>>>(input, result, n);
  });
}
