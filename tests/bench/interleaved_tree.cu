// An element per thread, a tree in dynamic shared memory whose active threads lie ever farther apart.
#include "bench.cuh"

__global__ void interleaved_tree(const float* input, float* result, size_t n) {
  extern __shared__ float partial[];
  const unsigned tid = threadIdx.x;
  const size_t i = size_t{blockIdx.x} * blockDim.x + tid;
  partial[tid] = i < n ? input[i] : 0;
  __syncthreads();
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    if (tid % (2 * stride) == 0) partial[tid] += partial[tid + stride];
    __syncthreads();
  }
  if (tid == 0) atomicAdd(result, partial[0]);
}

int main() {
  return bench::run("interleaved_tree", [](const float* input, float* result, size_t n) {
    interleaved_tree<<<(n + bench::block_size - 1) / bench::block_size, bench::block_size,
                       bench::block_size * sizeof(float)>>>(input, result, n);
  });
}
