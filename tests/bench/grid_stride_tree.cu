// A grid of fixed size: each thread strides over the input, then a tree in shared memory, then one atomic a
// block.
#include "bench.cuh"

__global__ void grid_stride_tree(const float* input, float* result, size_t n) {
  __shared__ float partial[bench::block_size];
  const unsigned tid = threadIdx.x;
  float sum = 0;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + tid; i < n; i += size_t{gridDim.x} * blockDim.x)
    sum += input[i];
  partial[tid] = sum;
  __syncthreads();
  for (unsigned stride = bench::block_size / 2; stride > 0; stride /= 2) {
    if (tid < stride) partial[tid] += partial[tid + stride];
    __syncthreads();
  }
  if (tid == 0) atomicAdd(result, partial[0]);
}

int main() {
  return bench::run("grid_stride_tree", [](const float* input, float* result, size_t n) {
    grid_stride_tree<<<bench::grid_stride_blocks, bench::block_size>>>(input, result, n);
  });
}
