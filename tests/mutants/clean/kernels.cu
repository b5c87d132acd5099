// Kernels that synchronise in every way that is allowed: groups, grids, tickets, look-back, locks, barriers
// that stand elsewhere than usual. Nothing is wrong with them, so nothing may be said of them.
#include "clean.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>

namespace cg = cooperative_groups;

constexpr unsigned threads = 256;

// Cooperative groups: a tile, a block, the grid.
__global__ void by_tiles(const int* input, int* result, unsigned n) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const int sum = cg::reduce(tile, i < n ? input[i] : 0, cg::plus<int>());
  if (tile.thread_rank() == 0) atomicAdd(result, sum);
}

__device__ int block_sum(int value, int* partial) {
  const auto block = cg::this_thread_block();
  partial[block.thread_rank()] = value;
  block.sync();
  for (unsigned stride = block.size() / 2; stride > 0; stride /= 2) {
    if (block.thread_rank() < stride) partial[block.thread_rank()] += partial[block.thread_rank() + stride];
    block.sync();
  }
  return partial[0];
}

__device__ int walk(const int* input, unsigned n) {
  int sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += input[i];
  return sum;
}

__global__ void by_grid_sync(const int* input, int* result, unsigned n, int* sums) {
  __shared__ int partial[threads];
  const int sum = block_sum(walk(input, n), partial);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  cg::this_grid().sync();
  if (blockIdx.x != 0) return;
  const int total = block_sum(threadIdx.x < gridDim.x ? sums[threadIdx.x] : 0, partial);
  if (threadIdx.x == 0) *result = total;
}

// The last block, in the way of the threadFenceReduction sample.
__global__ void by_last_block(const int* input, int* result, unsigned n, volatile int* sums,
                              unsigned* ticket) {
  __shared__ int partial[threads];
  __shared__ bool last;
  const int sum = block_sum(walk(input, n), partial);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(ticket, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  int total = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) total += sums[i];
  total = block_sum(total, partial);
  if (threadIdx.x == 0) *result = total, *ticket = 0;
}

// The same with an atomic that acquires and releases.
__global__ void by_atomic_ref(const int* input, int* result, unsigned n, int* sums, unsigned* ticket) {
  __shared__ int partial[threads];
  __shared__ bool last;
  const int sum = block_sum(walk(input, n), partial);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> counted(*ticket);
    last = counted.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  int total = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) total += sums[i];
  total = block_sum(total, partial);
  if (threadIdx.x == 0) *result = total;
}

// One atomic for the lanes that happen to be here together.
__global__ void by_aggregated_atomics(const int* input, int* result, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || input[i] % 3 != 0) return;
  const auto active = cg::coalesced_threads();
  const int sum = cg::reduce(active, input[i], cg::plus<int>());
  if (active.thread_rank() == 0) atomicAdd(result, sum);
}

// A running sum from block to block: each waits for the one before it, as a look-back scan does.
__global__ void by_look_back(const int* input, int* result, unsigned n, int* running, unsigned* ready) {
  __shared__ int partial[threads];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const int sum = block_sum(i < n ? input[i] : 0, partial);
  if (threadIdx.x != 0) return;
  int before = 0;
  if (blockIdx.x > 0) {
    while (atomicAdd(&ready[blockIdx.x - 1], 0) == 0) {
    }
    __threadfence();
    before = __ldcg(&running[blockIdx.x - 1]);
  }
  running[blockIdx.x] = before + sum;
  __threadfence();
  atomicExch(&ready[blockIdx.x], 1);
  if (blockIdx.x == gridDim.x - 1) *result = before + sum;
}

// A plain addition under a lock.
__global__ void by_lock(const int* input, int* result, unsigned n, unsigned* lock) {
  __shared__ int partial[threads];
  const int sum = block_sum(walk(input, n), partial);
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  *result += sum;
  __threadfence();
  atomicExch(lock, 0);
}

// The barrier before each step, not after it; thread 0 reads only what it wrote.
__global__ void by_barriers_before(const int* input, int* result, unsigned n) {
  __shared__ int partial[threads];
  partial[threadIdx.x] = walk(input, n);
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
  }
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

// Bytes of one word that belong to several threads; a flag that all threads set to the same value; two
// buffers.
__global__ void by_bytes_and_buffers(const int* input, int* result, unsigned n) {
  __shared__ unsigned char odd[threads];
  __shared__ int partial[2][threads];
  __shared__ int any;
  any = 1;
  const int sum = walk(input, n);
  odd[threadIdx.x] = sum & 1;
  partial[0][threadIdx.x] = sum;
  __syncthreads();
  unsigned from = 0;
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2, from ^= 1) {
    if (threadIdx.x < stride) {
      partial[from ^ 1][threadIdx.x] = partial[from][threadIdx.x] + partial[from][threadIdx.x + stride];
    }
    __syncthreads();
  }
  unsigned parity = 0;
  if (threadIdx.x == 0) {
    for (unsigned t = 0; t < blockDim.x; ++t) parity ^= odd[t];
    if (any == 1 && parity == (partial[from][0] & 1u)) atomicAdd(result, partial[from][0]);
  }
}

// Some lanes of a warp, by a mask that names just those.
__global__ void by_lanes_that_are_here(const int* input, int* result, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const unsigned here = __ballot_sync(0xffffffff, i < n);
  if (i >= n) return;
  int sum = input[i];
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    const bool partner = lane + distance < 32 && (here >> (lane + distance) & 1);
    const int other = __shfl_sync(here, sum, partner ? lane + distance : lane);
    if (partner) sum += other;
  }
  if (lane == 0) atomicAdd(result, sum);
}

template <class T>
T* zeros(std::size_t count) {
  T* memory = nullptr;
  expect_success(cudaMalloc(&memory, count * sizeof(T)));
  expect_success(cudaMemset(memory, 0, count * sizeof(T)));
  return memory;
}

int main() {
  for (const unsigned n : {1u, 1000u, 100003u}) {
    const std::vector<int> numbers = some_numbers(n);
    const int sum = std::accumulate(numbers.begin(), numbers.end(), 0);
    int sum_of_multiples = 0;
    for (const int number : numbers) sum_of_multiples += number % 3 == 0 ? number : 0;
    const unsigned covering = (n + threads - 1) / threads, wave = 16;
    int *input = zeros<int>(n), *result = zeros<int>(1), *sums = zeros<int>(covering + wave);
    unsigned *words = zeros<unsigned>(covering), *ticket = zeros<unsigned>(1);
    expect_success(cudaMemcpy(input, numbers.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    const auto finish = [&](const char* what, int expected) {
      int got = 0;
      expect_success(cudaGetLastError());
      expect_success(cudaMemcpy(&got, result, sizeof got, cudaMemcpyDeviceToHost));
      expect_equal(what, got, expected);
      expect_success(cudaMemset(result, 0, sizeof(int)));
      expect_success(cudaMemset(ticket, 0, sizeof(unsigned)));
    };
    by_tiles<<<covering, threads>>>(input, result, n);
    finish("tiles", sum);
    void* arguments[] = {&input, &result, const_cast<unsigned*>(&n), &sums};
    expect_success(
        cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(by_grid_sync), wave, threads, arguments));
    finish("grid sync", sum);
    for (int again = 0; again < 2; ++again) {
      by_last_block<<<wave, threads>>>(input, result, n, sums, ticket);
    }
    finish("last block", sum);
    by_atomic_ref<<<wave, threads>>>(input, result, n, sums, ticket);
    finish("atomic_ref", sum);
    by_aggregated_atomics<<<covering, threads>>>(input, result, n);
    finish("aggregated atomics", sum_of_multiples);
    by_look_back<<<covering, threads>>>(input, result, n, sums, words);
    finish("look-back", sum);
    by_lock<<<wave, threads>>>(input, result, n, ticket);
    finish("lock", sum);
    by_barriers_before<<<wave, threads>>>(input, result, n);
    finish("barriers before", sum);
    by_bytes_and_buffers<<<wave, threads>>>(input, result, n);
    finish("bytes and buffers", sum);
    by_lanes_that_are_here<<<covering, threads>>>(input, result, n);
    finish("lanes that are here", sum);
    for (void* memory : {static_cast<void*>(input), static_cast<void*>(result), static_cast<void*>(sums),
                         static_cast<void*>(words), static_cast<void*>(ticket)}) {
      expect_success(cudaFree(memory));
    }
  }
}
