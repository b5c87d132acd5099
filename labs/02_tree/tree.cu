// Lab 02: the sum as a tree.
//
// Instead of queueing for one address, threads add in pairs: n values become n/2 partial sums, then n/4, and
// after log2(n) steps one is left. All additions of a step are independent, so they run at the same time.
// Before the next step, every thread of the block must have finished: __syncthreads() waits for that.
// The rungs differ in which thread adds what, and that decides how much of each warp, each memory request and
// each bank is used. The block size is always a power of two. A rung may have several regions to fill in.
#include "lab.hpp"

// -----------------------------------------------------------------------------------------------------------
// One block, up to two elements per thread, in place in global memory.

// Thread t owns element 2t. In the step with stride s, the threads whose number is a multiple of s add the
// element s further on to their own: s = 1, 2, 4, ... up to the block size. The working threads stay
// spread over all warps, so every warp stays busy with ever fewer of its lanes. Their elements lie ever
// further apart: in the end, a warp's memory request touches as many sectors as it has working lanes.
__global__ void in_place_interleaved_kernel(float* data, float* result, unsigned n) {
  // BEGIN in_place_interleaved
  // TODO: Write the loop over the strides 1, 2, 4, ... up to and including the block size. In each step, each
  // thread whose number is a multiple of the stride adds the element one stride further on to its own
  // element, 2 * threadIdx.x, if the index of the other is below n; then the whole block waits. (5 lines)
  // END in_place_interleaved
  if (threadIdx.x == 0) *result = n == 0 ? 0 : data[0];
}

void in_place_interleaved(float* data, float* result, std::size_t n, unsigned block) {
  in_place_interleaved_kernel<<<1, block>>>(data, result, n);
}

// The same additions in another order: the stride starts at the block size and halves. The working threads
// are always the first ones, so whole warps become idle together, and they read neighbouring elements.
__global__ void in_place_sequential_kernel(float* data, float* result, unsigned n) {
  // BEGIN in_place_sequential
  // TODO: Write the loop over the strides block size, block size / 2, and so on down to 1. In each step, each
  // thread whose number is below the stride adds the element one stride further on to element threadIdx.x, if
  // the index of the other is below n; then the whole block waits. (5 lines)
  // END in_place_sequential
  if (threadIdx.x == 0) *result = n == 0 ? 0 : data[0];
}

void in_place_sequential(float* data, float* result, std::size_t n, unsigned block) {
  in_place_sequential_kernel<<<1, block>>>(data, result, n);
}

// Global memory is read only once: every thread loads its two elements, adds them, and stores the sum in
// shared memory, which is on the chip. The rest is the tree of the previous rung. The input is not changed.
__global__ void one_block_shared_kernel(const float* input, float* result, unsigned n) {
  extern __shared__ float partial[]; // one per thread; the launch says how many
  // BEGIN one_block_shared
  // TODO: Store the sum of this thread's two elements in partial[threadIdx.x]: element threadIdx.x and the
  // one a block size further on; an element at n or beyond counts as 0. Wait, then add up partial[] as in the
  // previous rung, starting with the stride blockDim.x / 2; partial[] has an element for every thread, so you
  // need not compare with n there. (8 lines)
  // END one_block_shared
  if (threadIdx.x == 0) *result = partial[0];
}

void one_block_shared(const float* input, float* result, std::size_t n, unsigned block) {
  one_block_shared_kernel<<<1, block, block * sizeof(float)>>>(input, result, n);
}

// -----------------------------------------------------------------------------------------------------------
// Many blocks, for any n: each block adds up its own part in shared memory, and its first thread adds the
// block's sum to the result. That is one atomic per block.

// This thread's element, or 0 beyond the end.
__device__ float own_element(const float* input, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  return i < n ? input[i] : 0;
}

// The stride doubles; thread t works if t is a multiple of 2 * stride. In every warp some lanes work and the
// others wait for them: the warp takes as long as if all worked.
__global__ void interleaved_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  partial[threadIdx.x] = own_element(input, n);
  __syncthreads();
  // BEGIN interleaved
  // TODO: Write the loop over the strides 1, 2, 4, and so on, as long as they are less than the block size.
  // In each step, each thread whose number is a multiple of 2 * stride (here thread t owns element t) adds
  // the partial sum one stride further on to its own; then the whole block waits. (5 lines)
  // END interleaved
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

// The same pairs are added, but by the first threads of the block: thread t takes the pair at 2 * stride * t.
// Whole warps become idle, which is better. But lanes now access elements that are a power of two apart, and
// those share a few of the 32 banks of shared memory. A warp's request then takes several passes: there are
// bank conflicts.
__global__ void strided_index_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  partial[threadIdx.x] = own_element(input, n);
  __syncthreads();
  // BEGIN strided_index
  // TODO: Write the same loop over strides, but let thread t add the pair that starts at index
  // 2 * stride * t, if that index is below the block size; then the whole block waits. (5 lines)
  // END strided_index
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

// The stride halves, and thread t adds the element one stride beyond its own: the first threads work on
// neighbouring elements, and no two lanes of a warp use the same bank.
__global__ void sequential_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  partial[threadIdx.x] = own_element(input, n);
  __syncthreads();
  // BEGIN sequential
  // TODO: Write the loop over the strides blockDim.x / 2, blockDim.x / 4, and so on down to 1. In each step,
  // each thread whose number is below the stride adds the partial sum one stride further on to its own;
  // then the whole block waits. (5 lines)
  // END sequential
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

// In the rung above, half of the threads do nothing but load. Here every thread adds two elements as it loads
// them, a block size apart so that each warp still reads neighbours: half as many blocks do the same work.
// Leaves the sum of the block's elements in partial[0].
__device__ void add_two_per_thread(const float* input, float* partial, std::size_t n) {
  // BEGIN first_add
  // TODO: A block now covers 2 * blockDim.x elements. Store the sum of this thread's two in
  // partial[threadIdx.x]: the element with its number in the block's part, and the one a block size further
  // on. An element at n or beyond counts as 0. (4 lines)
  // END first_add
  __syncthreads();
  // BEGIN first_add
  // TODO: Add up partial[] as in `sequential`. (5 lines)
  // END first_add
}
__global__ void first_add_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  add_two_per_thread(input, partial, n);
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

// Launches one of the kernels above with one block per `elements_per_block` elements.
void sum_blocks(void (*kernel)(const float*, float*, std::size_t), const float* input, float* result,
                std::size_t n, std::size_t elements_per_block, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  kernel<<<lab::ceil_div(n, elements_per_block), block, block * sizeof(float)>>>(input, result, n);
}

void interleaved(const float* input, float* result, std::size_t n, unsigned block) {
  sum_blocks(interleaved_kernel, input, result, n, block, block);
}
void strided_index(const float* input, float* result, std::size_t n, unsigned block) {
  sum_blocks(strided_index_kernel, input, result, n, block, block);
}
void sequential(const float* input, float* result, std::size_t n, unsigned block) {
  sum_blocks(sequential_kernel, input, result, n, block, block);
}
void first_add(const float* input, float* result, std::size_t n, unsigned block) {
  sum_blocks(first_add_kernel, input, result, n, 2 * std::size_t{block}, block);
}

// -----------------------------------------------------------------------------------------------------------
// No atomics: blocks cannot wait for each other within a launch, but a launch waits for the one before it.
// Each block leaves its sum in memory, and the same kernel runs again on those sums until one is left.
// Builds on first_add: add_two_per_thread() is your own from there.

__global__ void many_pass_kernel(const float* input, float* block_sums, std::size_t n) {
  extern __shared__ float partial[];
  add_two_per_thread(input, partial, n);
  // BEGIN many_pass
  // TODO: Let the block's first thread store the block's sum where the next pass finds it: one element per
  // block. (1 line)
  // END many_pass
}

// One pass: from n elements to one sum per block.
void run_pass(const float* input, float* block_sums, std::size_t n, unsigned block) {
  const std::size_t blocks = n == 0 ? 1 : lab::ceil_div(n, 2 * std::size_t{block});
  many_pass_kernel<<<blocks, block, block * sizeof(float)>>>(input, block_sums, n);
}

void many_pass(const float* input, float* result, std::size_t n, unsigned block) {
  // BEGIN many_pass
  // TODO: Get buffers for block sums from lab::scratch<float>(count), large enough for the sums of a pass: a
  // pass reads one and writes another, and two are enough. As long as more elements are left than one block
  // covers (2 * block), run a pass into a buffer, and make `input` and `n` its sums and their number: they
  // are the elements of the next pass. The last pass, with one block, is the line below the region. (8 lines)
  // END many_pass
  run_pass(input, result, n, block);
}

int main(int argc, char** argv) {
  return lab::main(argc, argv,
                   {
                       {"in_place_interleaved", in_place_interleaved},
                       {"in_place_sequential", in_place_sequential},
                       {"one_block_shared", one_block_shared},
                       {"interleaved", interleaved},
                       {"strided_index", strided_index},
                       {"sequential", sequential},
                       {"first_add", first_add},
                       {"many_pass", many_pass},
                   });
}
