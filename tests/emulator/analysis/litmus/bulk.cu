// Bulk copies (cp.async.bulk): what must be waited for before a place in shared memory is used or written
// again, and what must be fenced before one is handed to a copy.
#include "litmus.cuh"

#include <cuda/ptx>

namespace ptx = cuda::ptx;
constexpr unsigned tile = 64;

struct Buffers {
  alignas(16) int values[2][tile];
  std::uint64_t full[2];
};
__device__ void begin(Buffers& of, unsigned arrivals = 1) {
  if (threadIdx.x == 0)
    for (auto& one : of.full) ptx::mbarrier_init(&one, arrivals);
  __syncthreads();
}
__device__ void load(Buffers& of, unsigned which, const int* from) {
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &of.full[which],
                                 sizeof of.values[0]);
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, of.values[which], from, sizeof of.values[0],
                     &of.full[which]);
}
__device__ void wait_for(std::uint64_t* barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}
__device__ void store(int* to, const int* from) {
  ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, to, from, tile * sizeof(int));
  ptx::cp_async_bulk_commit_group();
}
template <int Left>
__device__ void wait_for_all_but() {
  ptx::cp_async_bulk_wait_group_read(ptx::n32_t<Left>());
}

// LITMUS bulk_load: right
__global__ void bulk_load(int* m) {
  __shared__ Buffers of;
  begin(of);
  if (threadIdx.x == 0) load(of, 0, m);
  wait_for(&of.full[0], 0);
  m[1024 + threadIdx.x] = of.values[0][63 - threadIdx.x];
}
RUN(bulk_load, 1, 64)

// LITMUS bulk_load_not_waited_for: race-shared
// SAYS bulk copy to it is still in flight
__global__ void bulk_load_not_waited_for(int* m) { // a barrier does not wait for copies
  __shared__ Buffers of;
  begin(of);
  if (threadIdx.x == 0) load(of, 0, m);
  __syncthreads();
  m[1024 + threadIdx.x] = of.values[0][63 - threadIdx.x]; // HERE
}
RUN(bulk_load_not_waited_for, 1, 64)

// LITMUS bulk_load_of_ones_own: race-shared
// SAYS while its own bulk copy to it is still in flight
__global__ void bulk_load_of_ones_own(int* m) {
  __shared__ Buffers of;
  begin(of);
  if (threadIdx.x == 0) {
    load(of, 0, m);
    m[1024] = of.values[0][5]; // HERE
  }
  wait_for(&of.full[0], 0);
}
RUN(bulk_load_of_ones_own, 1, 64)

// LITMUS bulk_load_waited_for_by_one: right
__global__ void bulk_load_waited_for_by_one(int* m) { // and a barrier hands that on to the others
  __shared__ Buffers of;
  begin(of);
  if (threadIdx.x == 0) load(of, 0, m);
  if (threadIdx.x == 40) wait_for(&of.full[0], 0);
  __syncthreads();
  m[1024 + threadIdx.x] = of.values[0][63 - threadIdx.x];
}
RUN(bulk_load_waited_for_by_one, 1, 64)

// LITMUS bulk_load_waited_for_by_one_only: race-shared
__global__ void bulk_load_waited_for_by_one_only(int* m) {
  __shared__ Buffers of;
  begin(of);
  if (threadIdx.x == 0) load(of, 0, m);
  if (threadIdx.x == 40) wait_for(&of.full[0], 0);
  m[1024 + threadIdx.x] = of.values[0][63 - threadIdx.x]; // HERE
  wait_for(&of.full[0], 0);
}
RUN(bulk_load_waited_for_by_one_only, 1, 64)

// LITMUS bulk_loads_in_turn: right
__global__ void bulk_loads_in_turn(int* m) { // one buffer, phase after phase
  __shared__ Buffers of;
  begin(of);
  for (unsigned round = 0; round < 4; ++round) {
    if (threadIdx.x == 0) load(of, 0, m + 64 * round);
    wait_for(&of.full[0], round % 2);
    m[1024 + 64 * round + threadIdx.x] = of.values[0][63 - threadIdx.x];
    __syncthreads();
  }
}
RUN(bulk_loads_in_turn, 1, 64)

// LITMUS bulk_load_with_the_parity_before: race-shared
// SAYS bulk copy to it is still in flight
__global__ void bulk_load_with_the_parity_before(int* m) { // the second wait finds the first phase complete
  __shared__ Buffers of;
  begin(of);
  for (unsigned round = 0; round < 2; ++round) {
    if (threadIdx.x == 0) load(of, 0, m + 64 * round);
    if (round == 1) __syncthreads();
    ptx::mbarrier_test_wait_parity(&of.full[0], 0);
    if (round == 0) wait_for(&of.full[0], 0);
    m[1024 + 64 * round + threadIdx.x] = of.values[0][63 - threadIdx.x]; // HERE
    __syncthreads();
  }
}
RUN(bulk_load_with_the_parity_before, 1, 64)

// LITMUS bulk_load_of_the_other_buffer: race-shared
__global__ void
bulk_load_of_the_other_buffer(int* m) { // waits at one barrier and reads what belongs to the other
  __shared__ Buffers of;
  begin(of);
  if (threadIdx.x == 0) load(of, 0, m), load(of, 1, m + 64);
  wait_for(&of.full[0], 0);
  m[1024 + threadIdx.x] = of.values[1][63 - threadIdx.x]; // HERE
  wait_for(&of.full[1], 0);
}
RUN(bulk_load_of_the_other_buffer, 1, 64)

// LITMUS bulk_load_onto_what_is_read: race-shared
__global__ void bulk_load_onto_what_is_read(int* m) { // no barrier before the buffer is filled again
  __shared__ Buffers of;
  begin(of);
  if (threadIdx.x == 0) load(of, 0, m);
  wait_for(&of.full[0], 0);
  m[1024 + threadIdx.x] = of.values[0][63 - threadIdx.x]; // HERE
  if (threadIdx.x != 0) return;
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &of.full[1], 256);
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, of.values[0], m + 64, 256, // HERE
                     &of.full[1]);
  wait_for(&of.full[1], 0);
}
RUN(bulk_load_onto_what_is_read, 1, 64)

// LITMUS bulk_load_by_a_token: right
__global__ void bulk_load_by_a_token(int* m) { // every thread arrives, and waits for the phase of its arrival
  __shared__ Buffers of;
  begin(of, 64);
  std::uint64_t token = 0;
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, of.values[0], m, sizeof of.values[0],
                       &of.full[0]);
    token = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &of.full[0],
                                           sizeof of.values[0]);
  } else {
    token = ptx::mbarrier_arrive(&of.full[0]);
  }
  while (!ptx::mbarrier_try_wait(&of.full[0], token)) {
  }
  m[1024 + threadIdx.x] = of.values[0][63 - threadIdx.x];
}
RUN(bulk_load_by_a_token, 1, 64)

// LITMUS bulk_load_of_what_another_block_writes: race-global
__global__ void bulk_load_of_what_another_block_writes(int* m) {
  __shared__ Buffers of;
  begin(of);
  if (blockIdx.x == 0) {
    m[threadIdx.x] = 1; // HERE
    return;
  }
  if (threadIdx.x == 0) load(of, 0, m); // HERE
  wait_for(&of.full[0], 0);
  m[1024 + threadIdx.x] = of.values[0][threadIdx.x];
}
RUN(bulk_load_of_what_another_block_writes, 2, 64)

// LITMUS bulk_store: right
__global__ void bulk_store(int* m) {
  __shared__ Buffers of;
  of.values[0][threadIdx.x] = threadIdx.x;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    store(m, of.values[0]);
    wait_for_all_but<0>();
  }
}
RUN(bulk_store, 1, 64)

// LITMUS bulk_store_no_barrier: race-shared
__global__ void bulk_store_no_barrier(int* m) {
  __shared__ Buffers of;
  of.values[0][threadIdx.x] = threadIdx.x; // HERE
  ptx::fence_proxy_async(ptx::space_shared);
  if (threadIdx.x == 0) {
    store(m, of.values[0]); // HERE
    wait_for_all_but<0>();
  }
}
RUN(bulk_store_no_barrier, 1, 64)

// LITMUS bulk_store_no_fence: fence
// SAYS without a proxy fence
__global__ void bulk_store_no_fence(int* m) {
  __shared__ Buffers of;
  of.values[0][threadIdx.x] = threadIdx.x; // HERE
  __syncthreads();
  if (threadIdx.x == 0) {
    store(m, of.values[0]);
    wait_for_all_but<0>();
  }
}
RUN(bulk_store_no_fence, 1, 64)

// LITMUS bulk_store_fence_of_one_thread: fence
// SAYS without a proxy fence
__global__ void bulk_store_fence_of_one_thread(int* m) { // which covers what that thread has written
  __shared__ Buffers of;
  of.values[0][threadIdx.x] = threadIdx.x; // HERE
  if (threadIdx.x == 0) ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    store(m, of.values[0]);
    wait_for_all_but<0>();
  }
}
RUN(bulk_store_fence_of_one_thread, 1, 64)

// LITMUS bulk_store_fence_too_early: fence
// SAYS without a proxy fence
__global__ void bulk_store_fence_too_early(int* m) {
  __shared__ Buffers of;
  ptx::fence_proxy_async(ptx::space_shared);
  of.values[0][threadIdx.x] = threadIdx.x; // HERE
  __syncthreads();
  if (threadIdx.x == 0) {
    store(m, of.values[0]);
    wait_for_all_but<0>();
  }
}
RUN(bulk_store_fence_too_early, 1, 64)

// LITMUS bulk_store_fence_behind_the_barrier: right
__global__ void bulk_store_fence_behind_the_barrier(int* m) { // on the way from the writes to the copy, too
  __shared__ Buffers of;
  of.values[0][threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::fence_proxy_async(ptx::space_shared);
    store(m, of.values[0]);
    wait_for_all_but<0>();
  }
}
RUN(bulk_store_fence_behind_the_barrier, 1, 64)

// LITMUS bulk_stores_in_turn: right
__global__ void bulk_stores_in_turn(int* m) {
  __shared__ Buffers of;
  for (unsigned round = 0; round < 4; ++round) {
    of.values[round % 2][threadIdx.x] = threadIdx.x + round;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      store(m + 64 * round, of.values[round % 2]);
      wait_for_all_but<1>();
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) wait_for_all_but<0>();
}
RUN(bulk_stores_in_turn, 1, 64)

// LITMUS bulk_store_outlives_its_block: race-shared
// SAYS ends while a bulk copy of thread 0 of block
__global__ void bulk_store_outlives_its_block(int* m) {
  __shared__ Buffers of;
  of.values[0][threadIdx.x] = threadIdx.x;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) store(m, of.values[0]);
}
RUN(bulk_store_outlives_its_block, 1, 64)

// LITMUS bulk_store_overwritten: race-shared
// SAYS bulk copy may still be reading it
__global__ void bulk_store_overwritten(int* m) {
  __shared__ Buffers of;
  for (unsigned round = 0; round < 2; ++round) {
    of.values[0][threadIdx.x] = threadIdx.x + round; // HERE
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) store(m + 64 * round, of.values[0]);
    __syncthreads();
  }
  if (threadIdx.x == 0) wait_for_all_but<0>();
}
RUN(bulk_store_overwritten, 1, 64)

// LITMUS bulk_store_one_group_too_many_left: race-shared
// SAYS bulk copy may still be reading it
__global__ void bulk_store_one_group_too_many_left(int* m) {
  __shared__ Buffers of;
  for (unsigned round = 0; round < 2; ++round) {
    of.values[0][threadIdx.x] = threadIdx.x + round; // HERE
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      store(m + 64 * round, of.values[0]);
      wait_for_all_but<1>();
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) wait_for_all_but<0>();
}
RUN(bulk_store_one_group_too_many_left, 1, 64)

// LITMUS bulk_store_of_no_group: race-shared
// SAYS may still be reading it
__global__ void bulk_store_of_no_group(int* m) { // a copy that was not committed is not waited for
  __shared__ Buffers of;
  of.values[0][threadIdx.x] = threadIdx.x;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, m, of.values[0], tile * sizeof(int));
    wait_for_all_but<0>();
  }
  __syncthreads();
  of.values[0][threadIdx.x] = 1; // HERE
}
RUN(bulk_store_of_no_group, 1, 64)

// LITMUS bulk_store_onto_what_another_block_writes: race-global
__global__ void bulk_store_onto_what_another_block_writes(int* m) {
  __shared__ Buffers of;
  of.values[0][threadIdx.x] = threadIdx.x;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) m[5] = -1; // HERE
    if (blockIdx.x == 1) {
      store(m, of.values[0]); // HERE
      wait_for_all_but<0>();
    }
  }
}
RUN(bulk_store_onto_what_another_block_writes, 2, 64)

// LITMUS bulk_reductions: right
__global__ void bulk_reductions(int* m) { // of all blocks to the same words
  __shared__ Buffers of;
  of.values[0][threadIdx.x] = threadIdx.x;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, m, of.values[0],
                              tile * sizeof(int));
    ptx::cp_async_bulk_commit_group();
    wait_for_all_but<0>();
  }
}
RUN(bulk_reductions, 4, 64)

// LITMUS bulk_load_of_nothing_written: uninitialised
__global__ void bulk_load_of_nothing_written(int* m) { // half of the buffer is copied, all of it is read
  __shared__ Buffers of;
  begin(of);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &of.full[0], 128);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, of.values[0], m, 128, &of.full[0]);
  }
  wait_for(&of.full[0], 0);
  m[1024 + threadIdx.x] = of.values[0][63 - threadIdx.x]; // HERE
}
RUN(bulk_load_of_nothing_written, 1, 64)

int main() {
  return run_all();
}
