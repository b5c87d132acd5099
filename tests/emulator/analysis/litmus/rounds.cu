// Much synchronisation, which neither hides a race nor makes one up.
#include "litmus.cuh"

// Each thread waits for its neighbour.
__device__ void meet(int* m) {
  int *data = m + 4096 + blockIdx.x * blockDim.x, *flags = data + gridDim.x * blockDim.x;
  const int next = (threadIdx.x + 1) % blockDim.x;
  data[threadIdx.x] = static_cast<int>(threadIdx.x);
  __threadfence_block();
  atomicExch_block(&flags[threadIdx.x], 1);
  while (atomicAdd_block(&flags[next], 0) < 1) {
  }
  __threadfence_block();
  if (data[next] != next) m[1] = 1;
}

// The last block adds up what each block's first thread has written.
template <bool WithFence>
__device__ void take_ticket(int* m) {
  if (threadIdx.x != 0) return;
  m[16 + blockIdx.x] = 1; // HERE
  if (WithFence)
    __threadfence();
  else
    __threadfence_block();
  if (atomicAdd(m, 1) != static_cast<int>(gridDim.x) - 1) return;
  __threadfence();
  int sum = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) sum += m[16 + block]; // HERE
  m[2] = sum;
}

// LITMUS ticket_after_many_have_met: right
__global__ void ticket_after_many_have_met(int* m) {
  meet(m);
  take_ticket<true>(m);
}
RUN(ticket_after_many_have_met, 4, 512)

// LITMUS narrow_ticket_after_64_have_met: fence
__global__ void narrow_ticket_after_64_have_met(int* m) {
  meet(m);
  take_ticket<false>(m);
}
RUN(narrow_ticket_after_64_have_met, 4, 64)

// LITMUS narrow_ticket_after_512_have_met: fence
__global__ void narrow_ticket_after_512_have_met(int* m) {
  meet(m);
  take_ticket<false>(m);
}
RUN(narrow_ticket_after_512_have_met, 4, 512)

// Two warps of each block take turns.
__device__ void count_in_turns(int* m, int rounds) {
  int* lock = m + 64 + 2 * blockIdx.x;
  volatile int* data = lock + 1;
  for (int round = 0; round < rounds; ++round) {
    while (atomicCAS_block(lock, 0, 1) != 0) {
    }
    __threadfence_block();
    *data = *data + 1;
    __threadfence_block();
    atomicExch_block(lock, 0);
  }
}

// LITMUS narrow_lock_after_many_rounds: race-global
__global__ void narrow_lock_after_many_rounds(int* m) {
  if (threadIdx.x % 32) return;
  count_in_turns(m, 100);
  if (threadIdx.x) return;
  while (atomicCAS_block(m, 0, 1) != 0) { // HERE
  }
  __threadfence();
  m[1] += 1; // HERE
  __threadfence();
  atomicExch(m, 0); // HERE
}
RUN(narrow_lock_after_many_rounds, 2, 64)

// LITMUS lock_after_many_rounds: right
__global__ void lock_after_many_rounds(int* m) {
  if (threadIdx.x % 32) return;
  count_in_turns(m, 100);
  if (threadIdx.x) return;
  take(m);
  __threadfence();
  m[1] += 1;
  __threadfence();
  atomicExch(m, 0);
}
RUN(lock_after_many_rounds, 2, 64)

// What is ordered before a thread stays so for whom that thread orders after itself, however near the first
// two are.
template <bool WithLastFence>
__device__ void through_a_third(int* m) {
  int *data = m, *flag = m + 1;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    atomicExch_block(data, 1); // HERE
    __threadfence_block();
    atomicExch(flag, 1);
  } else if (blockIdx.x == 0 && threadIdx.x == 32) {
    while (atomicAdd(flag, 0) != 1) {
    }
    __threadfence();
    atomicExch(data, 2);
    if (WithLastFence)
      __threadfence();
    else
      __threadfence_block();
    atomicExch(flag, 2);
  } else if (blockIdx.x == 1 && threadIdx.x == 0) {
    while (atomicAdd(flag, 0) != 2) {
    }
    __threadfence();
    atomicExch_block(data, 3); // HERE
  }
}

// LITMUS block_scope_through_a_third_thread: right
__global__ void block_scope_through_a_third_thread(int* m) {
  through_a_third<true>(m);
}
RUN(block_scope_through_a_third_thread, 2, 64)

// LITMUS block_scope_through_a_third_thread_that_orders_none: race-global|fence
__global__ void block_scope_through_a_third_thread_that_orders_none(int* m) {
  through_a_third<false>(m);
}
RUN(block_scope_through_a_third_thread_that_orders_none, 2, 64)

// A tree whose partner is in the way: with a barrier after each step, what is wrong is the index.
template <bool WithBarriers, bool Unrolled>
__device__ void tree(int* m, unsigned further) {
  __shared__ int partial[256];
  const unsigned t = threadIdx.x;
  partial[t] = partial[t + 128] = static_cast<int>(t);
  __syncthreads();
  const auto step = [&](unsigned stride) {
    if (t < stride) partial[t] += partial[t + (stride == 64 ? further : stride)];
    if (WithBarriers) __syncthreads();
  };
  if (Unrolled) {
    step(64), step(32), step(16), step(8), step(4), step(2), step(1);
  } else {
#pragma unroll 1
    for (unsigned stride = 64; stride > 0; stride /= 2) step(stride);
  }
  __syncthreads();
  m[t] = partial[0];
}

// LITMUS tree_with_the_partner_at_work: race-shared
// SAYS A barrier before or after this line does not change that.
__global__ void tree_with_the_partner_at_work(int* m) {
  tree<true, false>(m, 32);
}
RUN(tree_with_the_partner_at_work, 1, 128)

// LITMUS unrolled_tree_with_the_partner_at_work: race-shared
// SAYS A barrier before or after this line does not change that.
__global__ void unrolled_tree_with_the_partner_at_work(int* m) {
  tree<true, true>(m, 32);
}
RUN(unrolled_tree_with_the_partner_at_work, 1, 128)

// LITMUS tree_without_barriers: race-shared
// SAYS so either may come first.
__global__ void tree_without_barriers(int* m) {
  tree<false, false>(m, 64);
}
RUN(tree_without_barriers, 1, 128)

// LITMUS unrolled_tree_without_barriers: race-shared
// SAYS so either may come first.
__global__ void unrolled_tree_without_barriers(int* m) {
  tree<false, true>(m, 64);
}
RUN(unrolled_tree_without_barriers, 1, 128)

// The checks keep a record for each access and synchronisation, up to a number: beyond it they say so.
__device__ void synchronise_often(int* m, int times) {
#pragma unroll 1
  for (int i = 0; i < times; ++i) {
    m[threadIdx.x] += 1;
    __syncthreads();
  }
}

// LITMUS sixty_thousand_synchronisations: right
__global__ void sixty_thousand_synchronisations(int* m) {
  synchronise_often(m, 60000);
}
RUN(sixty_thousand_synchronisations, 1, 64)

// LITMUS seventy_thousand_synchronisations: not-checked
// SAYS not checked from here on
__global__ void seventy_thousand_synchronisations(int* m) {
  synchronise_often(m, 70000);
}
RUN(seventy_thousand_synchronisations, 1, 64)

int main() {
  return run_all();
}
