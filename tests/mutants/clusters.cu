// Lab 13: shared memory of a cluster, and bulk copies. Each mistake is made in a kernel that is right without
// it.
#include "parts.cuh"

#include "compute_90.cuh"

enum Mistake {
  none,
  block_not_started,
  block_ended,
  copy_not_waited_for,
  wrong_parity,
  bytes_never_come,
  arrival_not_initialised,
  refilled_too_soon,
  no_multiple_of_16,
  no_fence_for_copies,
  overwritten_while_stored,
  ended_while_stored,
};

// The first block of each cluster adds the sums of all.
template <Mistake mistake>
__global__ void over_clusters(const float* input, float* result, std::size_t n) {
  __shared__ float of_block;
  const float sum = shuffle_sum(own_element(input, n));
  if (threadIdx.x == 0) of_block = sum;
  if constexpr (mistake == block_not_started)
    __syncthreads();
  else
    lab::cluster_sync();
  if (lab::cluster_rank() == 0 && threadIdx.x < lab::cluster_blocks()) {
    const float* const there = lab::in_block(&of_block, threadIdx.x);
    if constexpr (mistake == block_not_started) {
      // MUTANT not_started: state=wrong kind=cluster-memory diagnosis=any
      // No barrier of the cluster before the first access: the other block may not have begun.
      atomicAdd(result, *there);
    } else if constexpr (mistake == block_ended) {
      // MUTANT ended: state=hazard kind=cluster-memory diagnosis=none
      // No barrier of the cluster after the last access: the other block may have ended.
      atomicAdd(result, *there);
    } else {
      // MUTANT right_over_clusters: state=pass kind=none diagnosis=none
      // With both barriers of the cluster.
      atomicAdd(result, *there);
    }
  }
  if constexpr (mistake != block_ended) lab::cluster_sync();
}

template <auto kernel, unsigned blocks>
void in_clusters(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  const std::size_t clusters = lab::ceil_div(n, std::size_t{blocks} * block);
  lab::launch_clusters(kernel, clusters, blocks, block, input, result, n);
}

// MUTANT cluster_of_32: state=wrong kind=none diagnosis=none
// No GPU runs clusters of 32 blocks, so that the launch is refused.
constexpr auto cluster_of_32 = in_clusters<over_clusters<none>, 32>;

__device__ void fetch(float* tile, const float* values, unsigned bytes, unsigned expected,
                      lab::Arrival& arrival) {
  // MUTANT not_initialised: state=wrong kind=barrier diagnosis=any
  // The second buffer's barrier is used without having been initialised.
  arrival.expect(expected);
  // MUTANT odd_size: state=wrong kind=misaligned diagnosis=any
  // The last element of a tile is left out of its copy, whose size is no multiple of 16.
  lab::bulk_load(tile, values, bytes, arrival);
}

// The sum of whole tiles of as many values as there are threads, which come through two buffers.
template <Mistake mistake>
__global__ void by_bulk_loads(const float* values, float* result, unsigned tiles) {
  __shared__ alignas(16) float tile[2][1024];
  __shared__ lab::Arrival arrival[2];
  const unsigned bytes = blockDim.x * sizeof(float) - (mistake == no_multiple_of_16 ? 4 : 0);
  const unsigned expected = bytes + (mistake == bytes_never_come ? 16 : 0);
  if (threadIdx.x < (mistake == arrival_not_initialised ? 1 : 2)) arrival[threadIdx.x].init();
  __syncthreads();
  if (threadIdx.x == 0) {
    fetch(tile[0], values + std::size_t{blockIdx.x} * blockDim.x, bytes, expected, arrival[0]);
  }
  float sum = 0;
  unsigned round = 0;
  for (unsigned at = blockIdx.x; at < tiles; at += gridDim.x, ++round) {
    const unsigned next = at + gridDim.x, other = (round + 1) % 2;
    if (threadIdx.x == 0 && next < tiles) {
      fetch(tile[other], values + std::size_t{next} * blockDim.x, bytes, expected, arrival[other]);
    }
    const unsigned parity = round / 2 % 2;
    if constexpr (mistake == copy_not_waited_for) {
      __syncthreads();
    } else if constexpr (mistake == wrong_parity) {
      // MUTANT parity_before: state=wrong kind=barrier|race-shared diagnosis=any
      // Waits for the phase before the one that the copy belongs to; if that is over, for one that never
      // ends.
      arrival[round % 2].wait(parity ^ 1);
    } else {
      // MUTANT never_complete: state=wrong kind=barrier diagnosis=any
      // 16 bytes more are expected than are copied, so that the phase never ends.
      arrival[round % 2].wait(parity);
    }
    if constexpr (mistake == refilled_too_soon) __syncthreads();
    if constexpr (mistake == copy_not_waited_for) {
      // MUTANT not_waited_for: state=hazard kind=race-shared diagnosis=any
      // A barrier of the block does not wait for its copies.
      sum += tile[round % 2][threadIdx.x];
    } else if constexpr (mistake == refilled_too_soon) {
      // MUTANT refilled: state=wrong|hazard kind=race-shared diagnosis=any
      // A barrier before the reading and none after it: the next copy comes while other warps still read.
      sum += tile[round % 2][threadIdx.x];
    } else {
      // MUTANT right_by_bulk_loads: state=pass kind=none diagnosis=none
      // Waits for each copy, and fills a buffer again when all have read it.
      sum += tile[round % 2][threadIdx.x];
    }
    if constexpr (mistake != refilled_too_soon) __syncthreads();
  }
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

// Leaves the elements of the input, and zeros behind them, where bulk copies can move them.
template <Mistake mistake>
__global__ void by_bulk_stores(const float* input, float* values, std::size_t n, unsigned tiles) {
  __shared__ alignas(16) float tile[1024];
  for (unsigned at = blockIdx.x; at < tiles; at += gridDim.x) {
    const std::size_t i = std::size_t{at} * blockDim.x + threadIdx.x;
    if constexpr (mistake == no_fence_for_copies) {
      // MUTANT no_proxy_fence: state=hazard kind=fence diagnosis=any
      // What threads wrote is handed to a bulk store without a proxy fence.
      tile[threadIdx.x] = i < n ? input[i] : 0;
    } else if constexpr (mistake == overwritten_while_stored) {
      // MUTANT overwritten: state=hazard kind=race-shared diagnosis=any
      // The buffer is written again while the bulk store of the last round may still read it.
      tile[threadIdx.x] = i < n ? input[i] : 0;
    } else {
      // MUTANT right_by_bulk_stores: state=pass kind=none diagnosis=none
      // Fenced before the store, and waited for before the buffer is written again.
      tile[threadIdx.x] = i < n ? input[i] : 0;
    }
    if constexpr (mistake != no_fence_for_copies) lab::fence_for_bulk_copies();
    __syncthreads();
    if (threadIdx.x == 0) {
      // MUTANT ended_too_soon: state=hazard kind=race-shared diagnosis=any
      // The block ends, and its shared memory with it, while the store may still read it.
      lab::bulk_store(values + std::size_t{at} * blockDim.x, tile, blockDim.x * sizeof(float));
      if constexpr (mistake != overwritten_while_stored && mistake != ended_while_stored)
        lab::wait_until_stored_but<0>();
    }
    __syncthreads();
  }
  if (mistake == overwritten_while_stored && threadIdx.x == 0) lab::wait_until_stored_but<0>();
}

template <Mistake in_store, Mistake in_load = none>
void by_bulk_copies(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  const unsigned tiles = lab::ceil_div(n, block);
  const unsigned blocks = in_store == ended_while_stored ? tiles : lab::ceil_div(tiles, 4u);
  float* const values = lab::scratch<float>(std::size_t{tiles} * block);
  by_bulk_stores<in_store><<<blocks, block>>>(input, values, n, tiles);
  by_bulk_loads<in_load><<<blocks, block>>>(values, result, tiles);
}

int main(int argc, char** argv) {
  using lab::Rung;
  return lab::main(argc, argv,
                   {Rung("not_started").needs(90).on(in_clusters<over_clusters<block_not_started>, 4>),
                    Rung("ended").needs(90).on(in_clusters<over_clusters<block_ended>, 4>),
                    Rung("right_over_clusters").needs(90).on(in_clusters<over_clusters<none>, 4>),
                    Rung("cluster_of_32").needs(90).on(cluster_of_32),
                    Rung("odd_size").needs(90).on(by_bulk_copies<none, no_multiple_of_16>),
                    Rung("not_initialised").needs(90).on(by_bulk_copies<none, arrival_not_initialised>),
                    Rung("never_complete").needs(90).on(by_bulk_copies<none, bytes_never_come>),
                    Rung("not_waited_for").needs(90).on(by_bulk_copies<none, copy_not_waited_for>),
                    Rung("parity_before").needs(90).on(by_bulk_copies<none, wrong_parity>),
                    Rung("refilled").needs(90).on(by_bulk_copies<none, refilled_too_soon>),
                    Rung("right_by_bulk_loads").needs(90).on(by_bulk_copies<none>),
                    Rung("no_proxy_fence").needs(90).on(by_bulk_copies<no_fence_for_copies>),
                    Rung("overwritten").needs(90).on(by_bulk_copies<overwritten_while_stored>),
                    Rung("right_by_bulk_stores").needs(90).on(by_bulk_copies<none>),
                    Rung("ended_too_soon").needs(90).on(by_bulk_copies<ended_while_stored>)});
}
