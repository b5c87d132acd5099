// Lab 03: without the loop.
//
// The tree of lab 02 spends much of its time on things other than adding: counting strides, asking which
// threads still work, and waiting at barriers when only one warp of the block is left. A warp's 32 lanes
// need no block-wide barrier to see each other's values; and if the block size is known when the
// kernel is compiled, no loop is needed at all. Blocks have 64, 128, 256, 512 or 1024 threads here.
#include "lab.hpp"

// The sum of this thread's two elements; an element beyond the end counts as 0.
__device__ float two_elements(const float* input, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * 2 * blockDim.x + threadIdx.x;
  float sum = i < n ? input[i] : 0;
  if (i + blockDim.x < n) sum += input[i + blockDim.x];
  return sum;
}

// Once 64 partial sums are left, the first warp adds them up, step by step without a loop. The other warps do
// not get here, so a barrier of the whole block would wait for ever.
//
// Since Volta, the lanes of a warp may drift apart. So a warp needs its own barrier, __syncwarp(), wherever
// one lane reads what another has written, or writes what another has yet to read. In
// each step every lane first reads, then all wait, then every lane writes, then all wait again. Lanes that
// no longer have a partner add up leftovers that no lane uses: that is cheaper than asking who is left.
__device__ void sum_last_warp(float* partial, unsigned t) {
  // BEGIN unroll_last_warp
  // TODO: For each of the strides 32, 16, 8, 4, 2, 1: add the partial sum one stride further on to this
  // lane's running sum, wait for the warp, store the running sum into the lane's own element, and wait for
  // the warp. The running sum starts as partial[t]; a lane may also read it back from there in each step.
  // Write the six steps out one after another; a loop that the compiler unrolls is as good. (about 25 short
  // lines)
  // END unroll_last_warp
}

__global__ void unroll_last_warp_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = two_elements(input, n);
  __syncthreads();
  // BEGIN unroll_last_warp
  // TODO: Run the tree with halving strides as in lab 02, but only while the stride is above 32; then let the
  // first warp call sum_last_warp. (5 lines)
  // END unroll_last_warp
  if (t == 0) atomicAdd(result, partial[0]);
}

void unroll_last_warp(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  const std::size_t blocks = lab::ceil_div(n, 2 * std::size_t{block});
  unroll_last_warp_kernel<<<blocks, block, block * sizeof(float)>>>(input, result, n);
}

// The block size is a template parameter, so the compiler knows every stride and omits the steps that a
// block of this size does not have. What is left of the tree is straight-line code: it neither halves a
// stride nor asks whether to continue.
template <unsigned B>
__global__ void unroll_all_kernel(const float* input, float* result, std::size_t n) {
  __shared__ float partial[B];
  const unsigned t = threadIdx.x;
  partial[t] = two_elements(input, n);
  __syncthreads();
  // BEGIN unroll_all
  // TODO: Write out the steps of the tree for the strides 512, 256, 128 and 64. A step with stride s needs a
  // block of at least 2 * s threads: `if constexpr (B >= 1024)` for 512, and so on. Each step has its own
  // barrier. A loop that the compiler unrolls is as good. (about 16 lines)
  // END unroll_all
  if (t < 32) sum_last_warp(partial, t);
  if (t == 0) atomicAdd(result, partial[0]);
}

// A template's block size is fixed when the kernel is compiled, so there is one kernel per size that a
// launch may ask for.
void unroll_all(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  const std::size_t blocks = lab::ceil_div(n, 2 * std::size_t{block});
  switch (block) {
  case 64:
    unroll_all_kernel<64><<<blocks, 64>>>(input, result, n);
    break;
  case 128:
    unroll_all_kernel<128><<<blocks, 128>>>(input, result, n);
    break;
  case 256:
    unroll_all_kernel<256><<<blocks, 256>>>(input, result, n);
    break;
  case 512:
    unroll_all_kernel<512><<<blocks, 512>>>(input, result, n);
    break;
  case 1024:
    unroll_all_kernel<1024><<<blocks, 1024>>>(input, result, n);
    break;
  }
}

int main(int argc, char** argv) {
  return lab::main(argc, argv,
                   {
                       {"unroll_last_warp", unroll_last_warp},
                       {"unroll_all", unroll_all},
                   });
}
