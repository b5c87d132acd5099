// Several locks, tickets, locks of whole blocks, per-thread locks inside a warp; release_acquire.cu has those
// of one word whose fences are left out in turn.
#include "litmus.cuh"

// LITMUS lock_over_two_words: right
__global__ void lock_over_two_words(int* m) { // it covers the word that is read, too
  take(m);
  __threadfence();
  m[64 + blockIdx.x % 2] = m[64 + (blockIdx.x + 1) % 2] + 1;
  __threadfence();
  atomicExch(m, 0);
}
RUN(lock_over_two_words, 4, 1)

// LITMUS two_locks: race-global|fence
__global__ void two_locks(int* m) { // each block takes its own
  int* mine = m + blockIdx.x;
  take(mine);
  __threadfence();
  m[64] += 1 << blockIdx.x; // HERE: no two blocks store the same
  __threadfence();
  atomicExch(mine, 0);
}
RUN(two_locks, 2, 1)

// LITMUS one_takes_no_lock: race-global|fence
__global__ void one_takes_no_lock(int* m) {
  if (blockIdx.x == 0) {
    m[64] += 1 << blockIdx.x; // HERE: no two blocks store the same
    return;
  }
  take(m);
  __threadfence();
  m[64] += 1 << blockIdx.x; // HERE
  __threadfence();
  atomicExch(m, 0);
}
RUN(one_takes_no_lock, 3, 1)

// LITMUS ticket_lock: right
__global__ void ticket_lock(int* m) {
  const int ticket = atomicAdd(m, 1);
  while (look(m + 1) != ticket) {
  }
  __threadfence();
  m[64] += 1;
  __threadfence();
  atomicAdd(m + 1, 1);
}
RUN(ticket_lock, 6, 1)

// LITMUS ticket_lock_no_fence: fence
__global__ void ticket_lock_no_fence(int* m) {
  const int ticket = atomicAdd(m, 1);
  while (look(m + 1) != ticket) {
  }
  __threadfence();
  m[64] += 1; // HERE
  atomicAdd(m + 1, 1);
}
RUN(ticket_lock_no_fence, 6, 1)

// LITMUS lock_many_times: right
__global__ void lock_many_times(int* m) {
  for (int i = 0; i < 50; ++i) {
    take(m);
    __threadfence();
    m[64] += 1;
    __threadfence();
    atomicExch(m, 0);
  }
}
RUN(lock_many_times, 8, 1)

// LITMUS two_locks_in_turn: right
__global__ void two_locks_in_turn(int* m) { // data is handed on under one lock, then under another
  for (int i = 0; i < 2; ++i) {
    take(m + i);
    __threadfence();
    m[64 + i] += 1;
    __threadfence();
    atomicExch(m + i, 0);
  }
}
RUN(two_locks_in_turn, 6, 1)

// LITMUS lock_for_a_block: right
__global__ void lock_for_a_block(int* m) {
  if (threadIdx.x == 0) {
    take(m);
    __threadfence();
  }
  __syncthreads();
  m[64 + threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicExch(m, 0);
  }
}
RUN(lock_for_a_block, 3, 64)

// LITMUS lock_for_a_block_no_barrier: race-global|fence
__global__ void lock_for_a_block_no_barrier(int* m) {
  if (threadIdx.x == 0) {
    take(m);
    __threadfence();
  }
  __syncthreads();
  m[64 + threadIdx.x] += 1 << blockIdx.x; // HERE: no two blocks store the same
  if (threadIdx.x == 0) {
    __threadfence();
    atomicExch(m, 0);
  }
}
RUN(lock_for_a_block_no_barrier, 3, 64)

// LITMUS lane_locks: right
__global__ void lane_locks(int* m) { // every lane for itself
  bool done = false;
  while (!done) {
    if (atomicCAS(m, 0, 1) == 0) {
      __threadfence();
      m[64] += 1;
      __threadfence();
      atomicExch(m, 0);
      done = true;
    }
  }
}
RUN(lane_locks, 1, 32)

// LITMUS lane_locks_no_fence: race-global|fence
__global__ void lane_locks_no_fence(int* m) {
  bool done = false;
  while (!done) {
    if (atomicCAS(m, 0, 1) == 0) {
      m[64] += 1; // HERE
      atomicExch(m, 0);
      done = true;
    }
  }
}
RUN(lane_locks_no_fence, 1, 32)

// LITMUS lane_locks_of_blocks: right
__global__ void lane_locks_of_blocks(int* m) {
  bool done = false;
  while (!done) {
    if (atomicCAS(m, 0, 1) == 0) {
      __threadfence();
      m[64] += 1;
      __threadfence();
      atomicExch(m, 0);
      done = true;
    }
  }
}
RUN(lane_locks_of_blocks, 2, 64)

// LITMUS lane_locks_by_element: right
__global__ void lane_locks_by_element(int* m) { // pairs of lanes share a lock
  int* lock = m + threadIdx.x / 2;
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      m[64 + threadIdx.x / 2] += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
RUN(lane_locks_by_element, 1, 32)

// LITMUS lane_locks_wrong_lock: race-global|fence
__global__ void lane_locks_wrong_lock(int* m) { // one lock per lane, one element for two
  int* lock = m + threadIdx.x;
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      m[64 + threadIdx.x / 2] += threadIdx.x; // HERE
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
RUN(lane_locks_wrong_lock, 1, 32)

// LITMUS lane_lock_in_shared: right
__global__ void lane_lock_in_shared(int* m) {
  __shared__ int lock, count;
  if (threadIdx.x == 0) lock = count = 0;
  __syncthreads();
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence_block();
      count += 1;
      __threadfence_block();
      atomicExch(&lock, 0);
      done = true;
    }
  }
  __syncthreads();
  m[threadIdx.x] = count;
}
RUN(lane_lock_in_shared, 1, 64)

// LITMUS lane_lock_in_shared_no_fence: race-shared
__global__ void lane_lock_in_shared_no_fence(int* m) {
  __shared__ int lock, count;
  if (threadIdx.x == 0) lock = count = 0;
  __syncthreads();
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      count += 1; // HERE
      atomicExch(&lock, 0);
      done = true;
    }
  }
  __syncthreads();
  m[threadIdx.x] = count;
}
RUN(lane_lock_in_shared_no_fence, 1, 64)

// LITMUS lane_flag: right
__global__ void lane_flag(int* m) {
  volatile int* flag = m;
  if (threadIdx.x == 1) {
    m[64] = 42;
    __threadfence_block();
    *flag = 1;
  } else if (threadIdx.x == 0) {
    while (*flag == 0) {
    }
    __threadfence_block();
    m[128] = m[64];
  }
}
RUN(lane_flag, 1, 32)

// LITMUS lane_flag_no_fence: race-global|fence
__global__ void lane_flag_no_fence(int* m) {
  volatile int* flag = m;
  if (threadIdx.x == 1) {
    m[64] = 42; // HERE
    *flag = 1;
  } else if (threadIdx.x == 0) {
    while (*flag == 0) {
    }
    m[128] = m[64]; // HERE
  }
}
RUN(lane_flag_no_fence, 1, 32)

// LITMUS update_by_cas: right
__global__ void update_by_cas(int* m) { // no lock at all
  int old = ref(m).load(cuda::memory_order_relaxed), seen;
  do {
    seen = old;
    old = atomicCAS(m, seen, seen * 2 + 1);
  } while (old != seen);
}
RUN(update_by_cas, 4, 32)

// LITMUS try_lock_once: right
__global__ void try_lock_once(int* m) { // a thread that does not get it gives up
  if (atomicCAS(m, 0, 1) == 0) m[64] = blockIdx.x;
}
RUN(try_lock_once, 4, 1)

int main() {
  return run_all();
}
