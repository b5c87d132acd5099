// Message passing between more than two threads, in turns, or with flags at several addresses; those of
// two threads and one flag are in release_acquire.cu. Also the related litmus tests: store buffering, load
// buffering, two readers of two writers.
#include "litmus.cuh"

// LITMUS mp_other_address: race-global
__global__ void mp_other_address(int* m) {
  if (blockIdx.x == 0) {
    m[64] = 42; // HERE
    __threadfence();
    atomicExch(m, 1);
    atomicExch(m + 1, 1);
  } else if (blockIdx.x == 1) {
    atomicExch(m + 2, 1);
  } else {
    while (atomicAdd(m + 2, 0) == 0) {
    }
    __threadfence();
    m[128] = m[64]; // HERE
  }
}
RUN(mp_other_address, 3, 1)

// LITMUS mp_release_at_another_address: fence|race-global
__global__ void mp_release_at_another_address(int* m) {
  if (blockIdx.x == 0) {
    m[64] = 42; // HERE
    ref(m + 32).store(1, cuda::memory_order_release);
    ref(m).store(1, cuda::memory_order_relaxed);
  } else {
    while (ref(m).load(cuda::memory_order_acquire) == 0) {
    }
    m[128] = m[64]; // HERE
  }
}
RUN(mp_release_at_another_address, 2, 1)

// LITMUS mp_relaxed_store_after_a_release: right
__global__ void mp_relaxed_store_after_a_release(int* m) {
  if (blockIdx.x == 0) {
    m[64] = 42;
    ref(m).store(1, cuda::memory_order_release);
    ref(m).store(2, cuda::memory_order_relaxed);
  } else {
    while (ref(m).load(cuda::memory_order_acquire) != 2) {
    }
    m[128] = m[64];
  }
}
RUN(mp_relaxed_store_after_a_release, 2, 1)

// LITMUS mp_whole_block: right
__global__ void mp_whole_block(int* m) {
  if (blockIdx.x == 0) {
    m[64 + threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(m, 1);
    }
  } else {
    if (threadIdx.x == 0) {
      while (atomicAdd(m, 0) == 0) {
      }
      __threadfence();
    }
    __syncthreads();
    m[512 + threadIdx.x] = m[64 + (threadIdx.x ^ 33)];
  }
}
RUN(mp_whole_block, 2, 128)

// LITMUS mp_block_without_barrier: race-global|fence
__global__ void mp_block_without_barrier(int* m) {
  if (blockIdx.x == 0) {
    m[64 + threadIdx.x] = threadIdx.x; // HERE
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(m, 1);
    }
  } else {
    if (threadIdx.x == 0) {
      while (atomicAdd(m, 0) == 0) {
      }
      __threadfence();
    }
    __syncthreads();
    m[512 + threadIdx.x] = m[64 + (threadIdx.x ^ 33)]; // HERE
  }
}
RUN(mp_block_without_barrier, 2, 128)

// LITMUS mp_reader_without_barrier: race-global|fence
__global__ void mp_reader_without_barrier(int* m) {
  if (blockIdx.x == 0) {
    m[64 + threadIdx.x] = threadIdx.x; // HERE
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(m, 1);
    }
  } else {
    if (threadIdx.x == 0) {
      while (atomicAdd(m, 0) == 0) {
      }
      __threadfence();
    }
    m[512 + threadIdx.x] = m[64 + (threadIdx.x ^ 33)]; // HERE
  }
}
RUN(mp_reader_without_barrier, 2, 128)

// LITMUS mp_fence_by_all: right
__global__ void mp_fence_by_all(int* m) { // each thread executes its own fence, then the barrier
  if (blockIdx.x == 0) {
    m[64 + threadIdx.x] = threadIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(m, 1);
  } else {
    if (threadIdx.x == 0) {
      while (atomicAdd(m, 0) == 0) {
      }
    }
    __syncthreads();
    __threadfence();
    m[512 + threadIdx.x] = m[64 + (threadIdx.x ^ 33)];
  }
}
RUN(mp_fence_by_all, 2, 128)

// LITMUS mp_through_a_third: right
__global__ void mp_through_a_third(int* m) { // 0 to 1 through one flag, 1 to 2 through another
  if (blockIdx.x == 0) {
    m[64] = 42;
    __threadfence();
    atomicExch(m, 1);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(m, 0) == 0) {
    }
    __threadfence();
    atomicExch(m + 1, 1);
  } else {
    while (atomicAdd(m + 1, 0) == 0) {
    }
    __threadfence();
    m[128] = m[64];
  }
}
RUN(mp_through_a_third, 3, 1)

// LITMUS mp_third_without_fence: race-global|fence
__global__ void mp_third_without_fence(int* m) {
  if (blockIdx.x == 0) {
    m[64] = 42; // HERE
    __threadfence();
    atomicExch(m, 1);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(m, 0) == 0) {
    }
    atomicExch(m + 1, 1);
  } else {
    while (atomicAdd(m + 1, 0) == 0) {
    }
    __threadfence();
    m[128] = m[64]; // HERE
  }
}
RUN(mp_third_without_fence, 3, 1)

// LITMUS mp_twice: right
__global__ void mp_twice(int* m) { // and back again
  volatile int* flag = m;
  for (int round = 1; round < 4; ++round) {
    if (blockIdx.x == 0) {
      m[64] = round;
      __threadfence();
      flag[0] = round;
      while (flag[1] != round) {
      }
      __threadfence();
    } else {
      while (flag[0] != round) {
      }
      __threadfence();
      m[128] += m[64];
      __threadfence();
      flag[1] = round;
    }
  }
}
RUN(mp_twice, 2, 1)

// LITMUS mp_no_way_back: race-global|fence
__global__ void mp_no_way_back(int* m) { // the next message may arrive before this one is read
  volatile int* flag = m;
  if (blockIdx.x == 0) {
    m[64] = 1;
    __threadfence();
    flag[0] = 1;
    m[64] = 2; // HERE
  } else {
    while (flag[0] == 0) {
    }
    __threadfence();
    m[128] += m[64]; // HERE
  }
}
RUN(mp_no_way_back, 2, 1)

// LITMUS sb_relaxed: right
__global__ void sb_relaxed(int* m) { // store buffering: any outcome, but no race
  int* mine = m + blockIdx.x * 32;
  int* other = m + (1 - blockIdx.x) * 32;
  ref(mine).store(1, cuda::memory_order_relaxed);
  m[128 + blockIdx.x] = ref(other).load(cuda::memory_order_relaxed);
}
RUN(sb_relaxed, 2, 1)

// LITMUS sb_plain: race-global
__global__ void sb_plain(int* m) {
  m[blockIdx.x * 32] = 1;                         // HERE
  m[128 + blockIdx.x] = m[(1 - blockIdx.x) * 32]; // HERE
}
RUN(sb_plain, 2, 1)

// LITMUS sb_volatile: race-global
__global__ void sb_volatile(int* m) {
  volatile int* v = m;
  v[blockIdx.x * 32] = 1;                         // HERE
  m[128 + blockIdx.x] = v[(1 - blockIdx.x) * 32]; // HERE
}
RUN(sb_volatile, 2, 1)

// LITMUS sb_fenced_plain: race-global|fence
__global__ void sb_fenced_plain(int* m) { // fences order nothing without an access that both sides use
  m[blockIdx.x * 32] = 1;                 // HERE
  __threadfence();
  m[128 + blockIdx.x] = m[(1 - blockIdx.x) * 32]; // HERE
}
RUN(sb_fenced_plain, 2, 1)

// LITMUS sb_atomics: right
__global__ void sb_atomics(int* m) {
  atomicExch(m + blockIdx.x * 32, 1);
  m[128 + blockIdx.x] = atomicAdd(m + (1 - blockIdx.x) * 32, 0);
}
RUN(sb_atomics, 2, 1)

// LITMUS lb_relaxed: right
__global__ void lb_relaxed(int* m) { // load buffering
  const int seen = ref(m + (1 - blockIdx.x) * 32).load(cuda::memory_order_relaxed);
  ref(m + blockIdx.x * 32).store(1, cuda::memory_order_relaxed);
  m[128 + blockIdx.x] = seen;
}
RUN(lb_relaxed, 2, 1)

// LITMUS lb_plain: race-global
__global__ void lb_plain(int* m) {
  const int seen = m[(1 - blockIdx.x) * 32]; // HERE
  m[blockIdx.x * 32] = 1;                    // HERE
  m[128 + blockIdx.x] = seen;
}
RUN(lb_plain, 2, 1)

// LITMUS lb_volatile: race-global
__global__ void lb_volatile(int* m) {
  volatile int* v = m;
  const int seen = v[(1 - blockIdx.x) * 32]; // HERE
  v[blockIdx.x * 32] = 1;                    // HERE
  m[128 + blockIdx.x] = seen;
}
RUN(lb_volatile, 2, 1)

// LITMUS iriw_relaxed: right
__global__ void iriw_relaxed(int* m) { // independent reads of independent writes
  if (blockIdx.x < 2) {
    ref(m + blockIdx.x * 32).store(1, cuda::memory_order_relaxed);
  } else {
    const int first = ref(m + (blockIdx.x - 2) * 32).load(cuda::memory_order_acquire);
    const int second = ref(m + (3 - blockIdx.x) * 32).load(cuda::memory_order_acquire);
    m[128 + blockIdx.x] = first + 2 * second;
  }
}
RUN(iriw_relaxed, 4, 1)

// LITMUS iriw_plain: race-global
__global__ void iriw_plain(int* m) {
  if (blockIdx.x < 2) {
    m[blockIdx.x * 32] = 1; // HERE
  } else {
    m[128 + blockIdx.x] = m[(blockIdx.x - 2) * 32] + 2 * m[(3 - blockIdx.x) * 32]; // HERE
  }
}
RUN(iriw_plain, 4, 1)

// LITMUS coherence_plain_writes: race-global
__global__ void coherence_plain_writes(int* m) {
  m[0] = blockIdx.x + 1; // HERE
}
RUN(coherence_plain_writes, 2, 1)

// LITMUS coherence_relaxed_writes: right
__global__ void coherence_relaxed_writes(int* m) {
  ref(m).store(blockIdx.x + 1, cuda::memory_order_relaxed);
}
RUN(coherence_relaxed_writes, 2, 1)

int main() {
  return run_all();
}
