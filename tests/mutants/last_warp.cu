// Lab 03, the last warp of a tree: what the lanes of one warp owe each other since Volta.
#include "parts.cuh"

// The tree down to 64 values, then the warp that does the rest.
template <void (*last_warp)(float*, unsigned)>
__global__ void unrolled(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = two_elements(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t < 32) last_warp(partial, t);
  if (t == 0) atomicAdd(result, partial[0]);
}

// One step, right: every lane reads, all wait, every lane writes, all wait.
__device__ inline void step(float* partial, unsigned t, unsigned stride) {
  const float sum = partial[t] + partial[t + stride];
  __syncwarp();
  partial[t] = sum;
  __syncwarp();
}

// The tree down to 64 values.
__device__ inline void tree_to_64(float* partial, const float* input, std::size_t n) {
  const unsigned t = threadIdx.x;
  partial[t] = two_elements(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
}

__global__ void volatile_tail(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  tree_to_64(partial, input, n);
  if (t < 32) {
    volatile float* v = partial;
    v[t] += v[t + 32];
    // MUTANT volatile_tail: state=hazard kind=race-shared diagnosis=none
    // The old tail: volatile keeps the compiler from holding values back, but no lane waits for another.
    v[t] += v[t + 16];
    v[t] += v[t + 8];
    v[t] += v[t + 4];
    v[t] += v[t + 2];
    v[t] += v[t + 1];
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void one_syncwarp_a_step(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  tree_to_64(partial, input, n);
  for (unsigned stride = 32; t < 32 && stride > 0; stride /= 2) {
    // MUTANT one_syncwarp_a_step: state=hazard kind=race-shared diagnosis=any
    // One __syncwarp() a step: a lane writes its place while another is still to read it.
    partial[t] += partial[t + stride];
    __syncwarp();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void syncwarp_of_half(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  tree_to_64(partial, input, n);
  if (t < 32) {
    step(partial, t, 32);
    const float sum = partial[t] + partial[t + 16];
    // MUTANT syncwarp_of_half: state=hazard kind=warp-mask diagnosis=none
    // A mask of 16 lanes at a __syncwarp() that all 32 execute.
    __syncwarp(0x0000ffff);
    partial[t] = sum;
    __syncwarp();
    for (unsigned stride = 8; stride > 0; stride /= 2) step(partial, t, stride);
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__device__ inline void syncwarp_forgotten_once(float* partial, unsigned t) {
  step(partial, t, 32);
  step(partial, t, 16);
  step(partial, t, 8);
  const float sum = partial[t] + partial[t + 4];
  __syncwarp();
  // MUTANT syncwarp_forgotten_once: state=hazard kind=race-shared diagnosis=none
  // No __syncwarp() after this write, one of six.
  partial[t] = sum;
  step(partial, t, 2);
  step(partial, t, 1);
}

// MUTANT tail_starts_at_16: state=wrong kind=none diagnosis=never-read
// The warp's first step, with stride 32, is missing.
__device__ inline void tail_starts_at_16(float* partial, unsigned t) {
  step(partial, t, 16);
  step(partial, t, 8);
  step(partial, t, 4);
  step(partial, t, 2);
  step(partial, t, 1);
}

__device__ inline void block_barrier_in_tail(float* partial, unsigned t) {
  for (unsigned stride = 32; stride > 0; stride /= 2) {
    const float sum = partial[t] + partial[t + stride];
    // MUTANT block_barrier_in_tail: state=off-technique kind=none diagnosis=none
    // __syncthreads() in the last warp's steps: right, since the other warps have left, but a barrier of the
    // block.
    __syncthreads();
    partial[t] = sum;
    __syncwarp();
  }
}

__device__ inline void right_tail(float* partial, unsigned t) {
  for (unsigned stride = 32; stride > 0; stride /= 2) step(partial, t, stride);
}

__global__ void tail_before_barrier(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = two_elements(input, n);
  for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
    __syncthreads();
    if (t < stride) partial[t] += partial[t + stride];
  }
  if (t < 32) {
    // MUTANT tail_before_barrier: state=wrong kind=race-shared diagnosis=any
    // The barrier stands before each step, so none is left between the last step of two warps and the tail.
    float sum = partial[t] + partial[t + 32];
    sum = warp_sum(sum);
    if (t == 0) atomicAdd(result, sum);
  }
}

__global__ void tail_of_all_threads(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = two_elements(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  // MUTANT tail_of_all_threads: state=wrong kind=out-of-bounds diagnosis=none
  // The question whether t < 32 is missing: every warp goes through the last warp's steps.
  float sum = partial[t] + partial[t + 32];
  sum = warp_sum(sum);
  if (t == 0) atomicAdd(result, sum);
}

template <unsigned B>
__global__ void unroll_all(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = two_elements(input, n);
  __syncthreads();
  // MUTANT unrolled_step_missing: state=wrong kind=none diagnosis=never-read
  // The step from 256 values to 128 was left out when the loop was unrolled.
  if (B >= 512) {
    if (t < 256) partial[t] += partial[t + 256];
    __syncthreads();
  }
  if (B >= 128) {
    if (t < 64) partial[t] += partial[t + 64];
    __syncthreads();
  }
  if (t < 32) right_tail(partial, t);
  if (t == 0) atomicAdd(result, partial[0]);
}
void unrolled_step_missing(const float* input, float* result, std::size_t n, unsigned block) {
  launch_blocks(block == 512 ? unroll_all<512> : unroll_all<256>, input, result, n, block, 2);
}

__global__ void loop_to_the_end(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  // MUTANT loop_to_the_end: state=off-technique kind=none diagnosis=none
  // Right, but the last warp still goes through the loop with its barriers.
  const float sum = tree_sum(two_elements(input, n), partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

int main(int argc, char** argv) {
  using lab::Rung;
  const auto of = [](const char* name, void (*reduce)(const float*, float*, std::size_t, unsigned)) {
    return Rung(name)
        .on(reduce)
        .block_sizes(64, 1024)
        .promise(few_barriers())
        .promise(one_atomic_per_block());
  };
  return lab::main(argc, argv,
                   {of("volatile_tail", in_blocks<volatile_tail, 2>),
                    of("one_syncwarp_a_step", in_blocks<one_syncwarp_a_step, 2>),
                    of("syncwarp_forgotten_once", in_blocks<unrolled<syncwarp_forgotten_once>, 2>),
                    of("syncwarp_of_half", in_blocks<syncwarp_of_half, 2>),
                    of("tail_starts_at_16", in_blocks<unrolled<tail_starts_at_16>, 2>),
                    of("block_barrier_in_tail", in_blocks<unrolled<block_barrier_in_tail>, 2>),
                    of("tail_before_barrier", in_blocks<tail_before_barrier, 2>),
                    of("tail_of_all_threads", in_blocks<tail_of_all_threads, 2>),
                    of("unrolled_step_missing", unrolled_step_missing).block_sizes(256, 512),
                    of("loop_to_the_end", in_blocks<loop_to_the_end, 2>)});
}
