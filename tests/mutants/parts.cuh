// What the mutants have in common: the parts of a reduction that are right. Each mutant is one of the solved
// rungs with one mistake in it, so that what is said of it can be held against what is known. How a mistake
// is marked:
//
//   // MUTANT name: state=hazard kind=race-shared diagnosis=none
//   // What the mistake is, in a sentence or two.
//   the line that a report has to name (for a race: one of its two)
//
// diagnosis=any: the number depends on who was first; diagnosis=X?: X would be right, and nothing is said
// today. The line counts only where a hazard is expected: a number that is wrong has no place. run.py reads
// the marks.
// kind=reason: there is no hazard, and the reason names the line.
// kind=X|Y, state=X|Y: either one. Of inlined code a report names the innermost line in the kernel's own
// file. A mark may end in alone=OPTION: with what it shows where only one size is run (sanitizer.py).
#pragma once

#include "promises/rung.hpp"

using Kernel = void (*)(const float*, float*, std::size_t);

// The element that this thread brings along, 0 beyond the end.
__device__ inline float own_element(const float* input, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  return i < n ? input[i] : 0;
}

// The sum of this thread's two elements, a block size apart.
__device__ inline float two_elements(const float* input, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * 2 * blockDim.x + threadIdx.x;
  float sum = i < n ? input[i] : 0;
  if (i + blockDim.x < n) sum += input[i + blockDim.x];
  return sum;
}

// The sum of the elements that this thread meets at a stride of the whole grid.
__device__ inline float walk(const float* input, std::size_t n) {
  float sum = 0;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads)
    sum += input[i];
  return sum;
}

// The steps of a tree with strides from `first` down to 1, on values that are in `partial` and seen by all.
__device__ inline void tree(float* partial, unsigned first) {
  for (unsigned stride = first; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
    __syncthreads();
  }
}

// The block's sum of its threads' values. `partial` has one element per thread.
__device__ inline float tree_sum(float value, float* partial) {
  partial[threadIdx.x] = value;
  __syncthreads();
  tree(partial, blockDim.x / 2);
  return partial[0];
}

// The sum of a warp's values, in lane 0.
__device__ inline float warp_sum(float value) {
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    value += __shfl_down_sync(lab::all_lanes, value, distance);
  }
  return value;
}

// The block's sum of its threads' values, in thread 0, by shuffles.
__device__ inline float shuffle_sum(float value) {
  __shared__ float warp_sums[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_sum(value);
  if (lane == 0) warp_sums[warp] = value;
  __syncthreads();
  if (warp != 0) return 0;
  return warp_sum(lane < blockDim.x / 32 ? warp_sums[lane] : 0);
}

// Launches a block for each block * each elements, with a float of shared memory per thread. The result
// starts from 0.
inline void launch_blocks(Kernel kernel, const float* input, float* result, std::size_t n, unsigned block,
                          unsigned each) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  kernel<<<lab::ceil_div(n, std::size_t{each} * block), block, block * sizeof(float)>>>(input, result, n);
}

// Host functions of rungs: a grid that grows with n, and one that fits the device.
template <Kernel kernel, unsigned each = 1>
void in_blocks(const float* input, float* result, std::size_t n, unsigned block) {
  launch_blocks(kernel, input, result, n, block, each);
}
template <Kernel kernel>
void in_one_wave(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  kernel<<<lab::resident_blocks(block), block, block * sizeof(float)>>>(input, result, n);
}

// What the rungs of the course promise, by lab and rung: the mutants are variations of these.
inline lab::Promise one_atomic_per_block() {
  return lab::promised("02_tree", "interleaved", lab::Counter::atomic_operations);
}
inline lab::Promise steps_by_barriers() {
  return lab::promised("02_tree", "interleaved", lab::Counter::barriers_per_block);
}
inline lab::Promise few_barriers() {
  return lab::promised("03_warp_unroll", "unroll_last_warp", lab::Counter::barriers_per_block,
                       lab::Promise::Relation::at_most);
}
inline lab::Promise one_store_per_warp() {
  return lab::promised("04_shuffle", "warp_shuffle", lab::Counter::shared_store_requests);
}
inline lab::Promise one_lane_stores() {
  return lab::promised("04_shuffle", "warp_shuffle", lab::Counter::shared_stores);
}
inline lab::Promise grid_fits_device() {
  return lab::promised("05_grid_stride", "grid_stride_tree", lab::Counter::blocks);
}
