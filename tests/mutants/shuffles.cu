// Lab 04, shuffles: masks, distances, and the second stage.
#include "parts.cuh"

// A block's sum whose first stage is right; what follows it is the mistake.
struct Stage {
  unsigned lane, warp;
  __device__ Stage() : lane(threadIdx.x % 32), warp(threadIdx.x / 32) {}
};

__global__ void shuffle_in_branch(const float* input, float* result, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  float sum = 0;
  if (i < n) {
    sum = input[i];
    for (unsigned distance = 16; distance > 0; distance /= 2) {
      // MUTANT shuffle_in_branch: state=hazard kind=warp-mask diagnosis=any
      // The mask names all lanes, but those beyond the end do not come here.
      sum += __shfl_down_sync(lab::all_lanes, sum, distance);
    }
  }
  if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}

__global__ void shuffle_after_return(const float* input, float* result, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = input[i];
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    // MUTANT shuffle_after_return: state=hazard kind=warp-mask diagnosis=any
    // The mask names lanes that have returned.
    sum += __shfl_down_sync(0xffffffff, sum, distance);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}

__global__ void mask_of_half(const float* input, float* result, std::size_t n) {
  float sum = two_elements(input, n);
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    // MUTANT mask_of_half: state=hazard kind=warp-mask diagnosis=any
    // 0xffff names the lower half of the lanes; all 32 call.
    sum += __shfl_down_sync(0xffff, sum, distance);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}

__global__ void second_stage_of_few(const float* input, float* result, std::size_t n) {
  __shared__ float warp_sums[32];
  const Stage at;
  float sum = warp_sum(two_elements(input, n));
  if (at.lane == 0) warp_sums[at.warp] = sum;
  __syncthreads();
  if (threadIdx.x < blockDim.x / 32) {
    sum = warp_sums[at.lane];
    for (unsigned distance = 16; distance > 0; distance /= 2) {
      // MUTANT second_stage_of_few: state=hazard kind=warp-mask diagnosis=any
      // Only as many lanes as there are warps come here; the mask names all 32.
      sum += __shfl_down_sync(lab::all_lanes, sum, distance);
    }
  }
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void second_stage_rereads(const float* input, float* result, std::size_t n) {
  __shared__ float warp_sums[32];
  const Stage at;
  float sum = warp_sum(two_elements(input, n));
  if (threadIdx.x < 32) warp_sums[threadIdx.x] = 0;
  __syncthreads();
  if (at.lane == 0) warp_sums[at.warp] = sum;
  __syncthreads();
  if (at.warp == 0) {
    sum = warp_sums[at.lane];
    for (unsigned distance = 16; distance > 0; distance /= 2) {
      // MUTANT second_stage_rereads: state=wrong kind=none diagnosis=not-used
      // Each step shuffles the warp sum as it stands in shared memory, not the sum so far.
      sum += __shfl_down_sync(lab::all_lanes, warp_sums[at.lane], distance);
    }
  }
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void warps_that_are_not_there(const float* input, float* result, std::size_t n) {
  __shared__ float warp_sums[32];
  const Stage at;
  float sum = warp_sum(two_elements(input, n));
  if (at.lane == 0) warp_sums[at.warp] = sum;
  __syncthreads();
  // MUTANT warps_that_are_not_there: state=hazard kind=uninitialised diagnosis=any
  // The second stage reads 32 warp sums, and a block of 256 threads has 8.
  if (at.warp == 0) sum = warp_sum(warp_sums[at.lane]);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void warp_sums_too_few(const float* input, float* result, std::size_t n) {
  __shared__ float warp_sums[8];
  const Stage at;
  float sum = warp_sum(two_elements(input, n));
  // MUTANT warp_sums_too_few: state=wrong kind=out-of-bounds diagnosis=none alone=--block=1024
  // Room for the sums of 8 warps; a block of 1024 threads has 32.
  if (at.lane == 0) warp_sums[at.warp] = sum;
  __syncthreads();
  if (at.warp == 0) sum = warp_sum(at.lane < blockDim.x / 32 ? warp_sums[at.lane] : 0);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

void without_dynamic_memory(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n > 0) warp_sums_too_few<<<lab::ceil_div(n, 2 * std::size_t{block}), block>>>(input, result, n);
}

__global__ void no_barrier_between_stages(const float* input, float* result, std::size_t n) {
  __shared__ float warp_sums[32];
  const Stage at;
  float sum = warp_sum(two_elements(input, n));
  // MUTANT no_barrier_between_stages: state=wrong kind=race-shared diagnosis=any
  // The first warp reads the others' sums without waiting for them.
  if (at.lane == 0) warp_sums[at.warp] = sum;
  if (at.warp == 0) sum = warp_sum(at.lane < blockDim.x / 32 ? warp_sums[at.lane] : 0);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void atomic_of_each_warp(const float* input, float* result, std::size_t n) {
  // MUTANT atomic_of_each_warp: state=off-technique kind=none diagnosis=none
  // Right, but an atomic per warp in place of the second stage.
  const float sum = warp_sum(two_elements(input, n));
  if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}

__global__ void only_first_warp(const float* input, float* result, std::size_t n) {
  // MUTANT only_first_warp: state=wrong kind=none diagnosis=not-used
  // No second stage: only the first warp's sum is added.
  const float sum = warp_sum(two_elements(input, n));
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void last_warp_left_out(const float* input, float* result, std::size_t n) {
  __shared__ float warp_sums[32];
  const Stage at;
  float sum = warp_sum(two_elements(input, n));
  if (at.lane == 0) warp_sums[at.warp] = sum;
  __syncthreads();
  // MUTANT last_warp_left_out: state=wrong kind=none diagnosis=never-read
  // One off in the number of warps.
  if (at.warp == 0) sum = warp_sum(at.lane < blockDim.x / 32 - 1 ? warp_sums[at.lane] : 0);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void first_distance_8(const float* input, float* result, std::size_t n) {
  __shared__ float warp_sums[32];
  const Stage at;
  float sum = two_elements(input, n);
  // MUTANT first_distance_8: state=wrong kind=none diagnosis=not-used
  // A warp has 32 lanes, so the first distance is 16, not 8.
  for (unsigned distance = 8; distance > 0; distance /= 2)
    sum += __shfl_down_sync(lab::all_lanes, sum, distance);
  if (at.lane == 0) warp_sums[at.warp] = sum;
  __syncthreads();
  if (at.warp == 0) sum = warp_sum(at.lane < blockDim.x / 32 ? warp_sums[at.lane] : 0);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void up_for_down(const float* input, float* result, std::size_t n) {
  float sum = two_elements(input, n);
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    // MUTANT up_for_down: state=wrong kind=none diagnosis=not-used
    // Shuffled upwards, the warp's sum is in lane 31; lane 0 has doubled its own value five times.
    sum += __shfl_up_sync(lab::all_lanes, sum, distance);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}

__global__ void result_of_lane_31(const float* input, float* result, std::size_t n) {
  const float sum = warp_sum(two_elements(input, n));
  // MUTANT result_of_lane_31: state=wrong kind=none diagnosis=not-used
  // After shuffling down the sum is in lane 0, not in the last lane.
  if (threadIdx.x % 32 == 31) atomicAdd(result, sum);
}

__global__ void every_warp_adds(const float* input, float* result, std::size_t n) {
  __shared__ float warp_sums[32];
  const Stage at;
  float sum = warp_sum(two_elements(input, n));
  if (at.lane == 0) warp_sums[at.warp] = sum;
  __syncthreads();
  sum = warp_sum(at.lane < blockDim.x / 32 ? warp_sums[at.lane] : 0);
  // MUTANT every_warp_adds: state=wrong kind=none diagnosis=added-again
  // Lane 0 of every warp adds the block's sum; thread 0 of the block should.
  if (at.lane == 0) atomicAdd(result, sum);
}

__global__ void all_through_shared_memory(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  // MUTANT all_through_shared_memory: state=off-technique kind=none diagnosis=none
  // Right, but by the tree in shared memory.
  const float sum = tree_sum(two_elements(input, n), partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

int main(int argc, char** argv) {
  using lab::Rung;
  return lab::main(
      argc, argv,
      {Rung("shuffle_in_branch").on(in_blocks<shuffle_in_branch>),
       Rung("shuffle_after_return").on(in_blocks<shuffle_after_return>),
       Rung("mask_of_half").on(in_blocks<mask_of_half, 2>),
       Rung("second_stage_of_few").on(in_blocks<second_stage_of_few, 2>).promise(one_store_per_warp()),
       Rung("second_stage_rereads").on(in_blocks<second_stage_rereads, 2>),
       Rung("warps_that_are_not_there")
           .on(in_blocks<warps_that_are_not_there, 2>)
           .promise(one_store_per_warp()),
       Rung("warp_sums_too_few").on(without_dynamic_memory).promise(one_store_per_warp()),
       Rung("no_barrier_between_stages").on(in_blocks<no_barrier_between_stages, 2>),
       Rung("atomic_of_each_warp").on(in_blocks<atomic_of_each_warp, 2>).promise(one_store_per_warp()),
       Rung("only_first_warp").on(in_blocks<only_first_warp, 2>).promise(one_store_per_warp()),
       Rung("last_warp_left_out").on(in_blocks<last_warp_left_out, 2>).promise(one_store_per_warp()),
       Rung("first_distance_8").on(in_blocks<first_distance_8, 2>).promise(one_store_per_warp()),
       Rung("up_for_down").on(in_blocks<up_for_down, 2>),
       Rung("result_of_lane_31").on(in_blocks<result_of_lane_31, 2>),
       Rung("every_warp_adds").on(in_blocks<every_warp_adds, 2>).promise(one_store_per_warp()),
       Rung("all_through_shared_memory")
           .on(in_blocks<all_through_shared_memory, 2>)
           .promise(one_lane_stores())});
}
