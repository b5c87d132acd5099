// Lab 02, trees in shared memory: barriers, strides, and how much shared memory there is.
#include "parts.cuh"

__global__ void missing_barrier(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    // MUTANT missing_barrier: state=wrong kind=race-shared diagnosis=any
    // No barrier between two steps of the tree.
    if (t < stride) partial[t] += partial[t + stride];
  }
  __syncthreads();
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void missing_first_barrier(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    // MUTANT missing_first_barrier: state=wrong kind=race-shared diagnosis=any
    // No barrier between loading into shared memory and the first step.
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void barrier_in_branch(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) {
      partial[t] += partial[t + stride];
      // MUTANT barrier_in_branch: state=hazard kind=barrier diagnosis=none
      // The barrier stands inside the branch that only the working threads take.
      __syncthreads();
    }
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void return_before_barrier(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + t;
  if (i >= n) return;
  partial[t] = input[i];
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    // MUTANT return_before_barrier: state=wrong kind=uninitialised diagnosis=any
    // Threads beyond the end return, so their places in shared memory are never written.
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void warp_barrier_for_block(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    // MUTANT warp_barrier_for_block: state=wrong kind=race-shared diagnosis=any
    // __syncwarp() where the whole block has to wait.
    if (t < stride) partial[t] += partial[t + stride];
    __syncwarp();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void result_by_other_thread(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (t < stride) partial[t] += partial[t + stride];
  }
  // MUTANT result_by_other_thread: state=wrong kind=race-shared diagnosis=any
  // The last thread brings the sum home, with no barrier after the last step, which thread 0 made.
  if (t == blockDim.x - 1) atomicAdd(result, partial[0]);
}

__global__ void stride_too_far(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    // MUTANT stride_too_far: state=wrong kind=out-of-bounds diagnosis=none
    // t <= stride where t < stride is meant: one thread too many, which reads past the end of shared memory.
    if (t <= stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void interleaved_overlap(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  __syncthreads();
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    // MUTANT interleaved_overlap: state=wrong kind=race-shared diagnosis=any
    // t % stride where t % (2 * stride) is meant: the threads add what others are changing.
    if (t % stride == 0 && t + stride < blockDim.x) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void strided_index_too_far(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  partial[threadIdx.x] = own_element(input, n);
  __syncthreads();
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    const unsigned index = 2 * stride * threadIdx.x;
    // MUTANT strided_index_too_far: state=wrong kind=out-of-bounds diagnosis=none
    // <= where < is meant.
    if (index <= blockDim.x) partial[index] += partial[index + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

// MUTANT half_tree: state=wrong kind=none diagnosis=never-read
// The first stride is a quarter of the block, not half of it.
__global__ void half_tree(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  partial[threadIdx.x] = own_element(input, n);
  __syncthreads();
  tree(partial, blockDim.x / 4);
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

__global__ void stops_early(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  __syncthreads();
  // MUTANT stops_early: state=wrong kind=none diagnosis=never-read
  // stride > 1 where stride > 0 is meant: the last step is missing.
  for (unsigned stride = blockDim.x / 2; stride > 1; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void stored_not_added(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    // MUTANT stored_not_added: state=wrong kind=none diagnosis=overwritten
    // = where += is meant: the tree hands the last thread's value on.
    if (t < stride) partial[t] = partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void block_of_256(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  __syncthreads();
  for (unsigned stride = 128; stride > 0; stride /= 2) {
    // MUTANT block_of_256: state=wrong kind=out-of-bounds diagnosis=any alone=--block=64
    // Takes every block for one of 256 threads.
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

// The block's number of threads is not a power of two: the last thread of an odd number is left over.
__global__ void odd_block(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}
// MUTANT block_of_96: state=wrong kind=none diagnosis=never-read
// A tree by halves in a block whose size is no power of two: three quarters of the threads asked for.
void block_of_96(const float* input, float* result, std::size_t n, unsigned block) {
  launch_blocks(odd_block, input, result, n, block / 4 * 3, 1);
}

__global__ void no_zero_written(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + t;
  if (i < n) partial[t] = input[i];
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    // MUTANT no_zero_written: state=wrong kind=uninitialised diagnosis=any
    // Threads beyond the end write no 0 into their place of shared memory, which is read all the same.
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void one_result_early(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  partial[threadIdx.x] = own_element(input, n);
  // MUTANT partial_overwritten: state=wrong kind=race-shared diagnosis=any
  // Thread 0's place is set to 0 by the last thread, as if nobody had loaded into it yet.
  if (threadIdx.x == blockDim.x - 1) partial[0] = 0;
  __syncthreads();
  tree(partial, blockDim.x / 2);
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

__global__ void sum_in_tree(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  // MUTANT shared_too_small: state=wrong kind=out-of-bounds diagnosis=none
  // The launch gives half of the shared memory that the block needs: element counts where bytes are meant.
  partial[threadIdx.x] = own_element(input, n);
  __syncthreads();
  tree(partial, blockDim.x / 2);
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}
void shared_too_small(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n > 0) sum_in_tree<<<lab::ceil_div(n, block), block, block>>>(input, result, n);
}

__global__ void atomic_of_every_thread(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const float sum = tree_sum(own_element(input, n), partial);
  // MUTANT atomic_of_every_thread: state=wrong kind=none diagnosis=added-again
  // Every thread of the block adds the block's sum.
  atomicAdd(result, sum);
}

__global__ void atomic_of_every_element(const float* input, float* result, std::size_t n) {
  // MUTANT atomic_of_every_element: state=off-technique kind=none diagnosis=none
  // Right, but an atomic per element and no tree.
  atomicAdd(result, own_element(input, n));
}

int main(int argc, char** argv) {
  using lab::Rung;
  return lab::main(
      argc, argv,
      {Rung("missing_barrier").on(in_blocks<missing_barrier>),
       Rung("missing_first_barrier").on(in_blocks<missing_first_barrier>).promise(steps_by_barriers()),
       Rung("barrier_in_branch").on(in_blocks<barrier_in_branch>).promise(one_atomic_per_block()),
       Rung("return_before_barrier").on(in_blocks<return_before_barrier>).promise(one_atomic_per_block()),
       Rung("warp_barrier_for_block").on(in_blocks<warp_barrier_for_block>).promise(one_atomic_per_block()),
       Rung("result_by_other_thread").on(in_blocks<result_by_other_thread>).promise(one_atomic_per_block()),
       Rung("stride_too_far").on(in_blocks<stride_too_far>).promise(steps_by_barriers()),
       Rung("interleaved_overlap").on(in_blocks<interleaved_overlap>).promise(steps_by_barriers()),
       Rung("strided_index_too_far").on(in_blocks<strided_index_too_far>).promise(steps_by_barriers()),
       Rung("half_tree").on(in_blocks<half_tree>).block_sizes(64, 1024).promise(one_atomic_per_block()),
       Rung("stops_early").on(in_blocks<stops_early>).promise(one_atomic_per_block()),
       Rung("stored_not_added").on(in_blocks<stored_not_added>).promise(one_atomic_per_block()),
       Rung("block_of_256").on(in_blocks<block_of_256>).promise(one_atomic_per_block()),
       Rung("block_of_96").on(block_of_96).block_sizes(128, 1024),
       Rung("no_zero_written").on(in_blocks<no_zero_written>).promise(one_atomic_per_block()),
       Rung("partial_overwritten").on(in_blocks<one_result_early>).promise(one_atomic_per_block()),
       Rung("shared_too_small").on(shared_too_small).promise(one_atomic_per_block()),
       Rung("atomic_of_every_thread").on(in_blocks<atomic_of_every_thread>).promise(one_atomic_per_block()),
       Rung("atomic_of_every_element").on(in_blocks<atomic_of_every_element>).promise(steps_by_barriers())});
}
