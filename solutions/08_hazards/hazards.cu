// Lab 08: twelve kernels, twelve bugs.
//
// In this lab you write nothing new; you find bugs. Each rung has one mistake of a kind that has
// been seen in real code, between its BEGIN and END lines: in the kernel, or in the function that launches
// it. Some give a wrong sum. Others give the right one, today, on this machine: the mistake waits for another
// GPU, another compiler, or a busier day. Run the rung, read the verdict and the line that it names, and
// repair it. A repair takes one to five lines, and the kernel must stay as fast as it was meant to be: one
// atomic per thread, or one thread that adds up everything, is not a repair. Blocks have at least 64 threads.
#include "lab.hpp"

#include <limits>

// Common to several kernels; these functions contain no mistake.

// The sum of the elements on this thread's walk over the input, one element per pass of the grid.
__device__ float walk(const float* input, std::size_t n) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  float sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    sum += input[i];
  return sum;
}

// The block's sum of its threads' values, in thread 0: lab 04.
__device__ float sum_block(float value) {
  __shared__ float warp_sums[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    value += __shfl_down_sync(lab::all_lanes, value, distance);
  }
  if (lane == 0) warp_sums[warp] = value;
  __syncthreads();
  if (warp != 0) return 0;
  value = lane < blockDim.x / 32 ? warp_sums[lane] : 0;
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    value += __shfl_down_sync(lab::all_lanes, value, distance);
  }
  return value;
}

// -----------------------------------------------------------------------------------------------------------
// Shared memory and barriers.

__global__ void missing_barrier_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = walk(input, n);
  __syncthreads();
  // BEGIN missing_barrier
  //- // TODO: Find the mistake and repair it. (1 line)
  //- for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
  //-   if (t < stride) partial[t] += partial[t + stride];
  //- }
  //- __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  // END missing_barrier
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void divergent_barrier_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = walk(input, n);
  __syncthreads();
  // BEGIN divergent_barrier
  //- // TODO: Find the mistake and repair it. (1 line)
  //- for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
  //-   if (t < stride) {
  //-     partial[t] += partial[t + stride];
  //-     __syncthreads();
  //-   }
  //- }
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  // END divergent_barrier
  if (t == 0) atomicAdd(result, partial[0]);
}

// One thread per element; the last block has fewer elements than threads.
__global__ void unwritten_shared_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + t;
  // BEGIN unwritten_shared
  //- // TODO: Find the mistake and repair it. (1 line)
  //- if (i < n) partial[t] = input[i];
  partial[t] = i < n ? input[i] : 0;
  // END unwritten_shared
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

// -----------------------------------------------------------------------------------------------------------
// Inside a warp.

// The last warp without block-wide barriers. Kernels like this one were published by the dozen before 2017,
// when the lanes of a warp still ran in lockstep.
__global__ void volatile_tail_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = walk(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  // BEGIN volatile_tail
  //- // TODO: Find the mistake and repair it: each lane may run at its own pace. (about 5 lines)
  //- if (t < 32) {
  //-   volatile float* tail = partial;
  //-   tail[t] += tail[t + 32];
  //-   tail[t] += tail[t + 16];
  //-   tail[t] += tail[t + 8];
  //-   tail[t] += tail[t + 4];
  //-   tail[t] += tail[t + 2];
  //-   tail[t] += tail[t + 1];
  //- }
  if (t < 32) {
    float sum = partial[t];
    for (unsigned stride = 32; stride > 0; stride /= 2) {
      sum += partial[t + stride];
      __syncwarp();
      partial[t] = sum;
      __syncwarp();
    }
  }
  // END volatile_tail
  if (t == 0) atomicAdd(result, partial[0]);
}

// One thread per element, one atomic per warp.
__global__ void absent_lanes_kernel(const float* input, float* result, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // BEGIN absent_lanes
  //- // TODO: Find the mistake and repair it. (1 line)
  //- if (i >= n) return;
  //- float value = input[i];
  float value = i < n ? input[i] : 0;
  // END absent_lanes
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    value += __shfl_down_sync(lab::all_lanes, value, distance);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(result, value);
}

// The second stage of a shuffled reduction: the first warp adds up the warps' sums.
__global__ void stale_reads_kernel(const float* input, float* result, std::size_t n) {
  __shared__ float warp_sums[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  float sum = walk(input, n);
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(lab::all_lanes, sum, distance);
  }
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp != 0) return;
  // BEGIN stale_reads
  //- // TODO: Find the mistake and repair it. (about 2 lines)
  //- for (unsigned distance = 16; distance > 0; distance /= 2) {
  //-   sum = lane < warps ? warp_sums[lane] : 0;
  //-   sum += __shfl_down_sync(lab::all_lanes, sum, distance);
  //- }
  sum = lane < warps ? warp_sums[lane] : 0;
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(lab::all_lanes, sum, distance);
  }
  // END stale_reads
  if (lane == 0) atomicAdd(result, sum);
}

// -----------------------------------------------------------------------------------------------------------
// Between blocks.

// Each block leaves its sum in memory, and all of them are to be added up.
__global__ void across_blocks_kernel(const float* input, float* block_sums, float* result, std::size_t n) {
  const float sum = sum_block(walk(input, n));
  // BEGIN across_blocks
  //- // TODO: Find the mistake and repair it. One of these lines is right; finish_kernel below can do
  //- // the work of the others. (1 line)
  //- if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
  //- __syncthreads();
  //- if (blockIdx.x == 0) {
  //-   const float total = sum_block(threadIdx.x < gridDim.x ? block_sums[threadIdx.x] : 0);
  //-   if (threadIdx.x == 0) *result = total;
  //- }
  if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
  // END across_blocks
}

// Adds up the blocks' sums. One block.
__global__ void finish_kernel(const float* block_sums, float* result, unsigned blocks) {
  const float sum = sum_block(walk(block_sums, blocks));
  if (threadIdx.x == 0) *result = sum;
}

void across_blocks(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  float* block_sums = lab::scratch<float>(blocks);
  // BEGIN across_blocks
  //- // TODO: If the repair needs another launch, put it after this one. (2 lines)
  //- across_blocks_kernel<<<blocks, block>>>(input, block_sums, result, n);
  across_blocks_kernel<<<blocks, block>>>(input, block_sums, result, n);
  finish_kernel<<<1, block>>>(block_sums, result, blocks);
  // END across_blocks
}

// The last block adds up all sums: the one that draws the last ticket knows that every other has drawn one.
__global__ void narrow_fence_kernel(const float* input, float* block_sums, unsigned* tickets, float* result,
                                    std::size_t n) {
  __shared__ bool last;
  const float sum = sum_block(walk(input, n));
  if (threadIdx.x == 0) {
    block_sums[blockIdx.x] = sum;
    // BEGIN narrow_fence
    //- // TODO: Find the mistake and repair it. (1 line)
    //- __threadfence_block();
    __threadfence();
    // END narrow_fence
    last = atomicAdd(tickets, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  float total = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) total += block_sums[i];
  total = sum_block(total);
  if (threadIdx.x == 0) *result = total;
}

void narrow_fence(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  unsigned* tickets = lab::scratch<unsigned>(1);
  cudaMemset(tickets, 0, sizeof(unsigned));
  narrow_fence_kernel<<<blocks, block>>>(input, lab::scratch<float>(blocks), tickets, result, n);
}

// Each block adds its sum to the result, one after the other, under a lock.
__global__ void open_lock_kernel(const float* input, unsigned* lock, float* result, std::size_t n) {
  const float sum = sum_block(walk(input, n));
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  // BEGIN open_lock
  //- // TODO: Find the mistake and repair it. (1 line)
  //- *result += sum;
  //- __threadfence();
  __threadfence();
  *result += sum;
  __threadfence();
  // END open_lock
  atomicExch(lock, 0);
}

void open_lock(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  unsigned* lock = lab::scratch<unsigned>(1);
  cudaMemset(lock, 0, sizeof(unsigned));
  open_lock_kernel<<<lab::resident_blocks(block), block>>>(input, lock, result, n);
}

// -----------------------------------------------------------------------------------------------------------
// Numbers: a number of blocks, a starting value, and a number of bytes.

// One thread per element.
__global__ void lost_tail_kernel(const float* input, float* result, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const float sum = sum_block(i < n ? input[i] : 0);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

void lost_tail(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  // BEGIN lost_tail
  //- // TODO: Find the mistake and repair it. (1 line)
  //- const std::size_t blocks = n / block;
  const std::size_t blocks = lab::ceil_div(n, block);
  // END lost_tail
  if (blocks == 0) return; // a launch needs at least one block
  lost_tail_kernel<<<blocks, block>>>(input, result, n);
}

// The greatest of n integers.
// BEGIN wrong_identity
//- // TODO: Find the mistake and repair it. (1 line)
//- constexpr int start = 0;
constexpr int start = std::numeric_limits<int>::min();
// END wrong_identity

__global__ void wrong_identity_kernel(const int* input, int* result, std::size_t n) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  int greatest = start;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    if (input[i] > greatest) greatest = input[i];
  }
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    const int other = __shfl_down_sync(lab::all_lanes, greatest, distance);
    if (other > greatest) greatest = other;
  }
  if (threadIdx.x % 32 == 0) atomicMax(result, greatest);
}

void wrong_identity(const int* input, int* result, std::size_t n, unsigned block) {
  const int first = start;
  cudaMemcpy(result, &first, sizeof first, cudaMemcpyHostToDevice);
  wrong_identity_kernel<<<lab::resident_blocks(block), block>>>(input, result, n);
}

// The sum of a matrix's first column. The rows start `pitch` bytes apart, 4 MiB, so the whole matrix is
// larger than the 2^31 - 1 bytes that an int can count.
__global__ void index_overflow_kernel(const char* matrix, float* result, int rows, int pitch) {
  float sum = 0;
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
    // BEGIN index_overflow
    //- // TODO: Find the mistake and repair it. (1 line)
    //- const int offset = row * pitch;
    const std::size_t offset = std::size_t(row) * pitch;
    // END index_overflow
    sum += *reinterpret_cast<const float*>(matrix + offset);
  }
  sum = sum_block(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

constexpr int matrix_pitch = 4 << 20; // bytes

// Lays the n elements out as the first column of a matrix. (On the emulator, memory that no thread accesses
// occupies no memory.)
void index_overflow(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  char* matrix = lab::scratch<char>(n * matrix_pitch);
  cudaMemcpy2D(matrix, matrix_pitch, input, sizeof(float), sizeof(float), n, cudaMemcpyDeviceToDevice);
  index_overflow_kernel<<<lab::ceil_div(n, block), block>>>(matrix, result, n, matrix_pitch);
}

// -----------------------------------------------------------------------------------------------------------

using Kernel = void(const float*, float*, std::size_t);

// A grid that fits the GPU and walks over the input; an element of shared memory for each thread.
template <Kernel* kernel>
void on_grid(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  kernel<<<lab::resident_blocks(block), block, block * sizeof(float)>>>(input, result, n);
}

// One thread per element.
template <Kernel* kernel>
void on_elements(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  kernel<<<lab::ceil_div(n, block), block, block * sizeof(float)>>>(input, result, n);
}

int main(int argc, char** argv) {
  return lab::main(argc, argv,
                   {
                       {"missing_barrier", on_grid<missing_barrier_kernel>},
                       {"divergent_barrier", on_grid<divergent_barrier_kernel>},
                       {"unwritten_shared", on_elements<unwritten_shared_kernel>},
                       {"volatile_tail", on_grid<volatile_tail_kernel>},
                       {"absent_lanes", on_elements<absent_lanes_kernel>},
                       {"stale_reads", on_grid<stale_reads_kernel>},
                       {"across_blocks", across_blocks},
                       {"narrow_fence", narrow_fence},
                       {"open_lock", open_lock},
                       {"lost_tail", lost_tail},
                       {"wrong_identity", wrong_identity},
                       {"index_overflow", index_overflow},
                   });
}
