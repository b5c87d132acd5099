// What the threads of a block copy to shared memory for each other with cp.async, and the barriers in memory
// that belong to it: PTX's mbarrier and cuda::barrier.
#include "litmus.cuh"

#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>

__device__ unsigned in_shared(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
__device__ void copy_word(int* to, const int* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(in_shared(to)), "l"(from) : "memory");
}
__device__ void commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int Left>
__device__ void wait_for_all_but() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}

// LITMUS copy_of_ones_own: right
__global__ void copy_of_ones_own(int* m) { // a thread that copies and waits may read without a barrier
  __shared__ int values[64];
  copy_word(values + threadIdx.x, m + threadIdx.x);
  commit();
  wait_for_all_but<0>();
  m[1024 + threadIdx.x] = values[threadIdx.x];
}
RUN(copy_of_ones_own, 1, 64)

// LITMUS copy_not_waited_for: race-shared
__global__ void copy_not_waited_for(int* m) {
  __shared__ int values[64];
  copy_word(values + threadIdx.x, m + threadIdx.x);
  commit();
  m[1024 + threadIdx.x] = values[threadIdx.x]; // HERE
}
RUN(copy_not_waited_for, 1, 64)

// LITMUS copy_behind_a_barrier_only: race-shared
__global__ void copy_behind_a_barrier_only(int* m) { // a barrier does not wait for copies
  __shared__ int values[64];
  copy_word(values + threadIdx.x, m + threadIdx.x);
  commit();
  __syncthreads();
  m[1024 + threadIdx.x] = values[threadIdx.x ^ 37]; // HERE
}
RUN(copy_behind_a_barrier_only, 1, 64)

// LITMUS copy_of_no_group: race-shared
__global__ void copy_of_no_group(int* m) { // committed after the wait
  __shared__ int values[64];
  copy_word(values + threadIdx.x, m + threadIdx.x);
  wait_for_all_but<0>();
  commit();
  __syncthreads();
  m[1024 + threadIdx.x] = values[threadIdx.x ^ 37]; // HERE
}
RUN(copy_of_no_group, 1, 64)

// LITMUS copies_in_two_buffers_one_too_many_left: race-shared
__global__ void copies_in_two_buffers_one_too_many_left(int* m) {
  __shared__ int values[2][64];
  copy_word(values[0] + threadIdx.x, m + threadIdx.x);
  commit();
  for (int i = 0; i < 4; ++i) {
    if (i + 1 < 4) copy_word(values[(i + 1) % 2] + threadIdx.x, m + 64 * (i + 1) + threadIdx.x);
    commit();
    wait_for_all_but<2>();
    __syncthreads();
    m[1024 + threadIdx.x] += values[i % 2][threadIdx.x ^ 37]; // HERE
    __syncthreads();
  }
}
RUN(copies_in_two_buffers_one_too_many_left, 1, 64)

// LITMUS copy_overwritten: race-shared
__global__ void copy_overwritten(int* m) {
  __shared__ int values[64];
  copy_word(values + threadIdx.x, m + threadIdx.x);
  values[threadIdx.x] = 1; // HERE
  commit();
  wait_for_all_but<0>();
  m[1024 + threadIdx.x] = values[threadIdx.x];
}
RUN(copy_overwritten, 1, 64)

// LITMUS groups_memcpy_async: right
__global__ void groups_memcpy_async(int* m) {
  __shared__ alignas(16) int values[64];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, values, m, sizeof values);
  cg::wait(block);
  m[1024 + threadIdx.x] = values[threadIdx.x ^ 37];
}
RUN(groups_memcpy_async, 1, 64)

// LITMUS groups_memcpy_async_no_wait: race-shared
__global__ void groups_memcpy_async_no_wait(int* m) {
  __shared__ alignas(16) int values[64];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, values, m, sizeof values);
  block.sync();
  m[1024 + threadIdx.x] = values[threadIdx.x ^ 37]; // HERE
}
RUN(groups_memcpy_async_no_wait, 1, 64)

// LITMUS copy_for_others: right
__global__ void copy_for_others(int* m) {
  __shared__ int values[64];
  copy_word(values + threadIdx.x, m + threadIdx.x);
  commit();
  wait_for_all_but<0>();
  __syncthreads();
  m[1024 + threadIdx.x] = values[threadIdx.x ^ 37];
}
RUN(copy_for_others, 1, 64)

// LITMUS copy_for_others_no_barrier: race-shared
__global__ void copy_for_others_no_barrier(int* m) { // a wait covers only one's own copies
  __shared__ int values[64];
  values[threadIdx.x] = 0;
  __syncthreads();
  copy_word(values + threadIdx.x, m + threadIdx.x); // HERE
  commit();
  wait_for_all_but<0>();
  m[1024 + threadIdx.x] = values[threadIdx.x ^ 37]; // HERE
}
RUN(copy_for_others_no_barrier, 1, 64)

// LITMUS copy_onto_what_others_read: race-shared
__global__ void copy_onto_what_others_read(int* m) { // the next copy begins before all threads have read
  __shared__ int values[64];
  for (int i = 0; i < 2; ++i) {
    copy_word(values + threadIdx.x, m + 64 * i + threadIdx.x); // HERE
    commit();
    wait_for_all_but<0>();
    __syncthreads();
    m[1024 + threadIdx.x] += values[threadIdx.x ^ 37]; // HERE
  }
}
RUN(copy_onto_what_others_read, 1, 64)

// LITMUS copy_onto_what_others_have_read: right
__global__ void copy_onto_what_others_have_read(int* m) {
  __shared__ int values[64];
  for (int i = 0; i < 2; ++i) {
    copy_word(values + threadIdx.x, m + 64 * i + threadIdx.x);
    commit();
    wait_for_all_but<0>();
    __syncthreads();
    m[1024 + threadIdx.x] += values[threadIdx.x ^ 37];
    __syncthreads();
  }
}
RUN(copy_onto_what_others_have_read, 1, 64)

// LITMUS copies_in_two_buffers: right
__global__ void copies_in_two_buffers(int* m) {
  __shared__ int values[2][64];
  copy_word(values[0] + threadIdx.x, m + threadIdx.x);
  commit();
  for (int i = 0; i < 4; ++i) {
    if (i + 1 < 4) copy_word(values[(i + 1) % 2] + threadIdx.x, m + 64 * (i + 1) + threadIdx.x);
    commit();
    wait_for_all_but<1>();
    __syncthreads();
    m[1024 + threadIdx.x] += values[i % 2][threadIdx.x ^ 37];
    __syncthreads();
  }
}
RUN(copies_in_two_buffers, 1, 64)

// LITMUS copy_of_what_another_block_writes: race-global
__global__ void copy_of_what_another_block_writes(int* m) {
  __shared__ int values[64];
  if (blockIdx.x == 1) {
    m[threadIdx.x] = 1; // HERE
    return;
  }
  copy_word(values + threadIdx.x, m + threadIdx.x); // HERE
  commit();
  wait_for_all_but<0>();
  m[1024 + threadIdx.x] = values[threadIdx.x];
}
RUN(copy_of_what_another_block_writes, 2, 64)

// LITMUS pipeline_of_a_thread: right
__global__ void pipeline_of_a_thread(int* m) {
  __shared__ int values[64];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(values + threadIdx.x, m + threadIdx.x, sizeof(int), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  __syncthreads();
  m[1024 + threadIdx.x] = values[threadIdx.x ^ 37];
  pipe.consumer_release();
}
RUN(pipeline_of_a_thread, 1, 64)

// LITMUS pipeline_of_a_thread_for_others: race-shared
__global__ void pipeline_of_a_thread_for_others(int* m) {
  __shared__ int values[64];
  values[threadIdx.x] = 0;
  __syncthreads();
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(values + threadIdx.x, m + threadIdx.x, sizeof(int), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  m[1024 + threadIdx.x] = values[threadIdx.x ^ 37]; // HERE
  pipe.consumer_release();
}
RUN(pipeline_of_a_thread_for_others, 1, 64)

// LITMUS copy_by_a_barrier: right
__global__ void copy_by_a_barrier(int* m) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[64];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(values + threadIdx.x, m + threadIdx.x, sizeof(int), barrier);
  barrier.arrive_and_wait();
  m[1024 + threadIdx.x] = values[threadIdx.x ^ 37];
}
RUN(copy_by_a_barrier, 1, 64)

// LITMUS copy_by_a_barrier_no_wait: race-shared
__global__ void copy_by_a_barrier_no_wait(int* m) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[64];
  values[threadIdx.x] = 0;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(values + threadIdx.x, m + threadIdx.x, sizeof(int), barrier); // HERE
  (void)barrier.arrive();
  m[1024 + threadIdx.x] = values[threadIdx.x ^ 37]; // HERE
}
RUN(copy_by_a_barrier_no_wait, 1, 64)

// The arrivals are in an order of their own, so that the write always comes first.
template <bool Waits>
__device__ void arrive_in_turn(int* m) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int value;
  if (threadIdx.x == 0) init(&barrier, 2);
  __syncthreads();
  if (threadIdx.x == 0) {
    value = m[2]; // HERE
    (void)barrier.arrive();
    atomicExch(m, 1);
  } else if (threadIdx.x == 32) {
    while (atomicAdd(m, 0) == 0) {
    }
    auto token = barrier.arrive();
    if (Waits) barrier.wait(std::move(token));
    m[1] = value; // HERE
  }
}

// LITMUS barrier_arrived_and_waited: right
__global__ void barrier_arrived_and_waited(int* m) {
  arrive_in_turn<true>(m);
}
RUN(barrier_arrived_and_waited, 1, 64)

// LITMUS barrier_arrived_not_waited: race-shared
// SAYS has arrived at the same place, but has not waited there
__global__ void barrier_arrived_not_waited(int* m) {
  arrive_in_turn<false>(m);
}
RUN(barrier_arrived_not_waited, 1, 64)

__device__ void begin(unsigned long long* barrier, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(in_shared(barrier)), "r"(count) : "memory");
}
__device__ unsigned long long arrive(unsigned long long* barrier) {
  unsigned long long state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(in_shared(barrier)) : "memory");
  return state;
}
__device__ void wait(unsigned long long* barrier, unsigned long long state) {
  int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(in_shared(barrier)), "l"(state)
                 : "memory");
}

__device__ void wait_for_phase(unsigned long long* barrier, int parity) {
  int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(in_shared(barrier)), "r"(parity)
                 : "memory");
}

// LITMUS mbarrier: right
__global__ void mbarrier(int* m) {
  __shared__ unsigned long long barrier;
  __shared__ int values[64];
  if (threadIdx.x == 0) begin(&barrier, blockDim.x);
  __syncthreads();
  values[threadIdx.x] = threadIdx.x;
  wait(&barrier, arrive(&barrier));
  m[threadIdx.x] = values[threadIdx.x ^ 37];
}
RUN(mbarrier, 1, 64)

// LITMUS mbarrier_no_wait: race-shared
__global__ void mbarrier_no_wait(int* m) {
  __shared__ unsigned long long barrier;
  __shared__ int values[64];
  if (threadIdx.x == 0) begin(&barrier, blockDim.x);
  values[threadIdx.x] = 0;
  __syncthreads();
  values[threadIdx.x] = threadIdx.x; // HERE
  arrive(&barrier);
  m[threadIdx.x] = values[threadIdx.x ^ 37]; // HERE
}
RUN(mbarrier_no_wait, 1, 64)

// LITMUS mbarrier_written_behind_arrival: race-shared
__global__ void mbarrier_written_behind_arrival(int* m) {
  __shared__ unsigned long long barrier;
  __shared__ int values[64];
  if (threadIdx.x == 0) begin(&barrier, blockDim.x);
  values[threadIdx.x] = 0;
  __syncthreads();
  const auto state = arrive(&barrier);
  values[threadIdx.x] = threadIdx.x; // HERE
  wait(&barrier, state);
  m[threadIdx.x] = values[threadIdx.x ^ 37]; // HERE
}
RUN(mbarrier_written_behind_arrival, 1, 64)

// LITMUS mbarrier_producer_and_consumer: right
__global__ void mbarrier_producer_and_consumer(int* m) { // one warp fills, the other one empties
  __shared__ unsigned long long full, empty;
  __shared__ int values[32];
  if (threadIdx.x == 0) begin(&full, 32), begin(&empty, 32);
  __syncthreads();
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < 4; ++round) {
    if (threadIdx.x < 32) {
      if (round > 0) wait_for_phase(&empty, (round - 1) % 2);
      values[lane] = lane + round;
      arrive(&full);
    } else {
      wait_for_phase(&full, round % 2);
      m[64 * round + lane] = values[31 - lane];
      arrive(&empty);
    }
  }
}
RUN(mbarrier_producer_and_consumer, 1, 64)

// LITMUS mbarrier_filled_before_it_is_empty: race-shared
__global__ void mbarrier_filled_before_it_is_empty(int* m) {
  __shared__ unsigned long long full[2];
  __shared__ int values[32];
  if (threadIdx.x < 2) begin(full + threadIdx.x, 32);
  __syncthreads();
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < 2; ++round) {
    if (threadIdx.x < 32) {
      values[lane] = lane + round; // HERE
      arrive(full + round);
    } else {
      wait_for_phase(full + round, 0);
      m[64 * round + lane] = values[31 - lane]; // HERE
    }
  }
}
RUN(mbarrier_filled_before_it_is_empty, 1, 64)

int main() {
  return run_all();
}
