// libcu++ and cooperative groups as compiled for compute capability 8.0: barriers in shared memory,
// asynchronous copies, pipelines, tiles of several warps.
#include "verdict.hpp"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

// Barriers have constructors; `init` does their work, as the CUDA guide recommends.
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;
constexpr unsigned threads = 256, batches = 10;

__global__ void fill(int* words) {
  words[blockIdx.x * threads + threadIdx.x] = blockIdx.x * threads + threadIdx.x;
}

__global__ void arrive_and_wait(int* out) {
  __shared__ BlockBarrier barrier;
  __shared__ int values[threads];
  if (threadIdx.x == 0) init(&barrier, threads);
  __syncthreads();
  int value = threadIdx.x;
  for (unsigned round = 0; round < 5; ++round) {
    values[threadIdx.x] = value;
    barrier.wait(barrier.arrive());
    value = values[(threadIdx.x + 1) % threads] + 1;
    barrier.arrive_and_wait();
  }
  out[threadIdx.x] = value;
}

__global__ void copy_to_barrier(const int4* in, int4* out) {
  __shared__ alignas(16) int4 staged[threads];
  __shared__ BlockBarrier barrier;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, threads);
  block.sync();
  cuda::memcpy_async(block, staged, in, cuda::aligned_size_t<16>(sizeof staged), barrier);
  barrier.arrive_and_wait();
  out[threadIdx.x] = staged[threads - 1 - threadIdx.x];
}

__global__ void two_stages(const int* in, int* out) {
  __shared__ int staged[2][threads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (unsigned taken = 0, given = 0; taken < batches; ++taken) {
    for (; given < batches && given < taken + 2; ++given) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, staged[given % 2], in + given * threads, sizeof staged[0], pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += staged[taken % 2][threads - 1 - threadIdx.x];
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

__global__ void tiles_of_two_warps(int* out) {
  __shared__ cg::block_tile_memory<threads> memory;
  auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
  out[threadIdx.x] = cg::reduce(tile, (int)threadIdx.x, cg::plus<int>());
}

__global__ void atomic_objects(int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> sum(out[0]), largest(out[1]);
  sum.fetch_add(threadIdx.x, cuda::memory_order_relaxed);
  largest.fetch_max(threadIdx.x);
  cuda::atomic_ref<unsigned char> byte(*reinterpret_cast<unsigned char*>(out + 2));
  byte.fetch_add(1);
}

int main() {
  int* numbers = nullptr;
  cudaMalloc(&numbers, batches * threads * sizeof(int));
  fill<<<batches, threads>>>(numbers);
  check(
      "arrive and wait", threads, [](int* m) { arrive_and_wait<<<1, threads>>>(m); },
      [](unsigned i) { return (int)((i + 5) % threads + 5); });
  check(
      "copy to a barrier", 4 * threads,
      [&](int* m) { copy_to_barrier<<<1, threads>>>((const int4*)numbers, (int4*)m); },
      [](unsigned i) { return (int)((threads - 1 - i / 4) * 4 + i % 4); });
  check(
      "pipeline of two stages", threads, [&](int* m) { two_stages<<<1, threads>>>(numbers, m); },
      [](unsigned i) { return (int)(batches * (threads - 1 - i) + threads * batches * (batches - 1) / 2); });
  check(
      "tiles of two warps", threads, [](int* m) { tiles_of_two_warps<<<1, threads>>>(m); },
      [](unsigned i) { return (int)(64 * (i / 64 * 64) + 64 * 63 / 2); });
  check(
      "atomic objects", 3, [](int* m) { atomic_objects<<<4, 100>>>(m); },
      [](unsigned i) { return i == 0   ? 4 * 4950
                              : i == 1 ? 99
                                       : 400 % 256; });
}
