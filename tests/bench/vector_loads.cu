// The same as grid_stride_shuffle with 16-byte loads: a quarter of the load instructions. n must be a
// multiple of 4.
#include "bench.cuh"

__global__ void vector_loads(const float4* input, float* result, size_t quads) {
  float sum = 0;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < quads;
       i += size_t{gridDim.x} * blockDim.x) {
    const float4 four = input[i];
    sum += (four.x + four.y) + (four.z + four.w);
  }
  sum = bench::block_sum_by_shuffle(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

int main() {
  return bench::run("vector_loads", [](const float* input, float* result, size_t n) {
    vector_loads<<<bench::grid_stride_blocks, bench::block_size>>>(reinterpret_cast<const float4*>(input),
                                                                   result, n / 4);
  });
}
