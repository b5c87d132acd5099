// Lab 04: values that change hands.
//
// The lanes of a warp can read each other's registers: a shuffle hands a value from lane to lane without
// shared memory and without a block-wide barrier. So a warp's sum takes five shuffles, and shared memory is
// needed only once, for one partial sum per warp.
#include "lab.hpp"

// The sum of this thread's two elements; an element beyond the end counts as 0.
template <class T>
__device__ T two_elements(const T* input, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * 2 * blockDim.x + threadIdx.x;
  T sum = i < n ? input[i] : 0;
  if (i + blockDim.x < n) sum += input[i + blockDim.x];
  return sum;
}

// The sum of a warp's 32 values, in lane 0. In each step a lane adds the value of the lane `distance` above
// it; the last lanes have no such lane and add something useless, which never reaches lane 0.
template <class T>
__device__ T shuffle_sum(T value) {
  // BEGIN warp_shuffle
  // TODO: For the distances 16, 8, 4, 2, 1, in either order: add the value of the lane that is this distance
  // above this one to `value`. Use a shuffle, such as __shfl_down_sync, and the mask lab::all_lanes. (3
  // lines)
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    value += __shfl_down_sync(lab::all_lanes, value, distance);
  }
  // END warp_shuffle
  return value;
}

__global__ void warp_shuffle_kernel(const float* input, float* result, std::size_t n) {
  float sum = two_elements(input, n);
  // BEGIN warp_shuffle
  // TODO: Declare an array for 32 warp sums in shared memory, and find this thread's warp and its lane in it.
  // Make `sum` the sum of the warp and let lane 0 store it, one element per warp. Wait for the block, once.
  // Then let lane k of the first warp read the sum of warp k (0 if the block has no warp k), and add those up
  // with shuffles too. (9 lines)
  __shared__ float warp_sums[32]; // at most 1024 threads, 32 warps
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  sum = shuffle_sum(sum);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < blockDim.x / 32 ? warp_sums[lane] : 0;
    sum = shuffle_sum(sum);
  }
  // END warp_shuffle
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

void warp_shuffle(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  warp_shuffle_kernel<<<lab::ceil_div(n, 2 * std::size_t{block}), block>>>(input, result, n);
}

// From compute capability 8.0 on the hardware adds up a warp's integers in one instruction,
// __reduce_add_sync. Older GPUs, and numbers that are not integers, need shuffles; which of the two a GPU
// runs is decided when the kernel is compiled for it. (The emulator runs the code for 8.0.)
__device__ int warp_sum(int value) {
#if __CUDA_ARCH__ >= 800
  // BEGIN warp_reduce
  // TODO: Make `value` the sum of the warp with __reduce_add_sync. (1 line)
  value = __reduce_add_sync(lab::all_lanes, value);
  // END warp_reduce
#else
  value = shuffle_sum(value);
#endif
  return value;
}

__global__ void warp_reduce_kernel(const int* input, int* result, std::size_t n) {
  int sum = two_elements(input, n);
  // BEGIN warp_reduce
  // TODO: Write the same as in warp_shuffle_kernel, for int, with warp_sum instead of shuffle_sum. (9 lines)
  __shared__ int warp_sums[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  sum = warp_sum(sum);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < blockDim.x / 32 ? warp_sums[lane] : 0;
    sum = warp_sum(sum);
  }
  // END warp_reduce
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

void warp_reduce(const int* input, int* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(int));
  if (n == 0) return;
  warp_reduce_kernel<<<lab::ceil_div(n, 2 * std::size_t{block}), block>>>(input, result, n);
}

int main(int argc, char** argv) {
  return lab::main(argc, argv,
                   {
                       {"warp_shuffle", warp_shuffle},
                       {"warp_reduce", warp_reduce},
                   });
}
