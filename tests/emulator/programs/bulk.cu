// Bulk asynchronous copies and their barriers, as libcu++ offers them and as PTX: from global to shared
// memory and back, reductions, groups, and what goes with them.
#include "verdict.hpp"

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace ptx = cuda::ptx;
using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;
constexpr unsigned threads = 128, tile = 256, tiles = 4;

__global__ void number(int* words, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) words[i] = static_cast<int>(i);
}

// The example of the CUDA guide: load, change, store.
__global__ void add_one(int* data, unsigned offset) {
  __shared__ alignas(128) int values[tile];
  __shared__ BlockBarrier barrier;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  BlockBarrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(values, data + offset, cuda::aligned_size_t<16>(sizeof values), barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof values);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  for (unsigned i = threadIdx.x; i < tile; i += blockDim.x) values[i] += 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, data + offset, values, sizeof values);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

// memcpy_async of one thread expects the bytes by itself; that of a group lets each thread copy, or one.
__global__ void copy_to_barrier(const int* from, int* to, bool together) {
  __shared__ alignas(128) int values[tile];
  __shared__ BlockBarrier barrier;
  const auto block = cooperative_groups::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  if (together)
    cuda::memcpy_async(block, values, from, cuda::aligned_size_t<16>(sizeof values), barrier);
  else if (threadIdx.x == 0)
    cuda::memcpy_async(values, from, cuda::aligned_size_t<16>(sizeof values), barrier);
  barrier.arrive_and_wait();
  for (unsigned i = threadIdx.x; i < tile; i += blockDim.x) to[i] = values[tile - 1 - i];
}

// Two buffers: tile after tile is loaded ahead, under the PTX instructions, with the parity of each phase.
__global__ void two_buffers(const int* from, int* to) {
  __shared__ alignas(16) int in[2][tile], out[2][tile];
  __shared__ std::uint64_t full[2];
  if (threadIdx.x == 0) {
    for (auto& one : full) ptx::mbarrier_init(&one, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  const auto load = [&](unsigned which) {
    std::uint64_t* const barrier = &full[which % 2];
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier,
                                   sizeof in[0]);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, in[which % 2], from + which * tile,
                       sizeof in[0], barrier);
  };
  if (threadIdx.x == 0) load(0), load(1);
  for (unsigned which = 0; which < tiles; ++which) {
    const unsigned buffer = which % 2;
    while (!ptx::mbarrier_try_wait_parity(&full[buffer], which / 2 % 2)) {
    }
    for (unsigned i = threadIdx.x; i < tile; i += blockDim.x) out[buffer][i] = 2 * in[buffer][tile - 1 - i];
    ptx::fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, to + which * tile, out[buffer], sizeof out[0]);
      ptx::cp_async_bulk_commit_group();
      if (which + 2 < tiles) load(which + 2);
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());
    }
    __syncthreads(); // the other buffer has been read
  }
}

// The threads that fill a buffer again wait behind a barrier for the thread that waits for its group.
__global__ void one_buffer_again(int* to) {
  __shared__ alignas(16) int out[tile];
  for (unsigned which = 0; which < tiles; ++which) {
    for (unsigned i = threadIdx.x; i < tile; i += blockDim.x) out[i] = static_cast<int>(which * tile + i);
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, to + which * tile, out, sizeof out);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    __syncthreads();
  }
}

template <typename T, typename Operation>
__global__ void reduce(T* to, Operation operation) {
  __shared__ alignas(16) T own[tile];
  for (unsigned i = threadIdx.x; i < tile; i += blockDim.x) own[i] = T(static_cast<int>(i % 16 + blockIdx.x));
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x != 0) return;
  ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, operation, to, own, sizeof own);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

// In shared memory, a reduction completes at an mbarrier.
__global__ void reduce_in_shared(unsigned* to) {
  __shared__ alignas(16) unsigned own[tile], sum[tile];
  __shared__ std::uint64_t barrier;
  for (unsigned i = threadIdx.x; i < tile; i += blockDim.x) own[i] = i, sum[i] = 5;
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 1);
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i)
      ptx::cp_reduce_async_bulk(ptx::space_cluster, ptx::space_shared, ptx::op_add, sum, own, sizeof own,
                                &barrier);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier,
                                   2 * sizeof own);
  }
  while (!ptx::mbarrier_try_wait_parity(&barrier, 0)) {
  }
  for (unsigned i = threadIdx.x; i < tile; i += blockDim.x) to[i] = sum[i];
}

__device__ bool is_elected() {
  unsigned yes;
  asm volatile("{ .reg .pred p; elect.sync _|p, -1; selp.u32 %0, 1, 0, p; }" : "=r"(yes));
  return yes;
}

// The warp elects a lane for the copy; the wait is by the token of the arrival.
__global__ void elected(const int* from, int* to) {
  __shared__ alignas(16) int in[tile];
  __shared__ std::uint64_t barrier;
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, blockDim.x);
  __syncthreads();
  std::uint64_t token = 0;
  if (threadIdx.x < 32 && is_elected()) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, in, from, sizeof in, &barrier);
    token = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier,
                                           sizeof in);
  } else {
    token = ptx::mbarrier_arrive(&barrier);
  }
  while (!ptx::mbarrier_test_wait(&barrier, token)) {
  }
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(64) : "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  for (unsigned i = threadIdx.x; i < tile; i += blockDim.x) to[i] = in[i] + 7;
}

int main() {
  int* numbers = nullptr;
  cudaMalloc(&numbers, tiles * tile * sizeof(int));
  number<<<tiles, tile>>>(numbers, tiles * tile);
  check(
      "load, change, store", 2 * tile,
      [](int* m) {
        number<<<2, tile>>>(m, 2 * tile);
        add_one<<<1, threads>>>(m, tile);
      },
      [](unsigned i) { return static_cast<int>(i < tile ? i : i + 1); });
  for (const bool together : {false, true})
    check(
        together ? "copy of a group" : "copy of a thread", tile,
        [&](int* m) { copy_to_barrier<<<1, threads>>>(numbers, m, together); },
        [](unsigned i) { return static_cast<int>(tile - 1 - i); });
  check(
      "two buffers", tiles * tile, [&](int* m) { two_buffers<<<1, threads>>>(numbers, m); },
      [](unsigned i) { return static_cast<int>(2 * (i / tile * tile + tile - 1 - i % tile)); });
  check(
      "one buffer again", tiles * tile, [&](int* m) { one_buffer_again<<<1, threads>>>(m); },
      [](unsigned i) { return static_cast<int>(i); });
  check(
      "add", tile, [](int* m) { reduce<<<3, threads>>>((unsigned*)m, ptx::op_add); },
      [](unsigned i) { return static_cast<int>(3 * (i % 16) + 3); });
  check(
      "add floats", tile, [](int* m) { reduce<<<3, threads>>>((float*)m, ptx::op_add); },
      [](unsigned i) {
        const float sum = 3.0f * (i % 16) + 3;
        int bits;
        return std::memcpy(&bits, &sum, 4), bits;
      });
  check(
      "add halves", tile / 2, [](int* m) { reduce<<<3, threads>>>((__half*)m, ptx::op_add); },
      [](unsigned i) {
        const auto of = [](unsigned j) { return __half_as_ushort(__float2half(3.0f * (j % 16) + 3)); };
        return static_cast<int>(of(2 * i) | of(2 * i + 1) << 16);
      });
  check(
      "largest", tile, [](int* m) { reduce<<<3, threads>>>(m, ptx::op_max); },
      [](unsigned i) { return static_cast<int>(i % 16 + 2); });
  check(
      "or", tile, [](int* m) { reduce<<<2, threads>>>((unsigned*)m, ptx::op_or_op); },
      [](unsigned i) { return static_cast<int>(i % 16 | (i % 16 + 1)); });
  check(
      "reduce in shared memory", tile,
      [](int* m) { // a GPU copies within shared memory only in a launch with a cluster size
        cudaLaunchConfig_t config{};
        config.gridDim = 1, config.blockDim = threads;
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {1, 1, 1};
        config.attrs = &attribute, config.numAttrs = 1;
        cudaLaunchKernelEx(&config, reduce_in_shared, (unsigned*)m);
      },
      [](unsigned i) { return static_cast<int>(5 + 2 * i); });
  check(
      "elected lane", tile,
      [&](int* m) {
        cudaLaunchConfig_t config{};
        config.gridDim = 1, config.blockDim = threads;
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.attrs = &attribute, config.numAttrs = 1;
        cudaLaunchKernelEx(&config, elected, static_cast<const int*>(numbers), m);
      },
      [](unsigned i) { return static_cast<int>(i + 7); });
  return cudaFree(numbers) ? 1 : 0;
}
