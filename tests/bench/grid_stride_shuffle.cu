// A grid of fixed size: each thread strides over the input, then shuffles, then one atomic per block.
#include "bench.cuh"

__global__ void grid_stride_shuffle(const float* input, float* result, size_t n) {
  float sum = 0;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    sum += input[i];
  sum = bench::block_sum_by_shuffle(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

int main() {
  return bench::run("grid_stride_shuffle", [](const float* input, float* result, size_t n) {
    grid_stride_shuffle<<<bench::grid_stride_blocks, bench::block_size>>>(input, result, n);
  });
}
