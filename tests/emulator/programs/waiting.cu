// Threads that wait for each other by spinning: within a warp, between warps, between blocks.
#include "verdict.hpp"

__device__ int lock_word;
__device__ unsigned blocks_done, barrier_arrivals;
__device__ volatile unsigned barrier_round;

// Every lane takes the lock; since Volta, the lane that holds it makes progress while its neighbours spin.
__global__ void lock_by_every_lane(int* count) {
  while (atomicCAS(&lock_word, 0, 1) != 0) {
  }
  *(volatile int*)count = *(volatile int*)count + 1;
  __threadfence();
  atomicExch(&lock_word, 0);
}

__global__ void ticket_lock(int* words) {
  int ticket = atomicAdd(&words[1], 1);
  while (*(volatile int*)&words[2] != ticket) __nanosleep(20);
  *(volatile int*)words = *(volatile int*)words + 1;
  __threadfence();
  atomicAdd(&words[2], 1);
}

// Each block waits for the one after it, which a machine that runs each block to completion in order never
// reaches.
__global__ void chain_from_the_last(volatile int* sums) {
  unsigned block = blockIdx.x, last = gridDim.x - 1;
  if (threadIdx.x != 0) return;
  while (block < last && sums[block + 1] == 0) {
  }
  sums[block] = (block < last ? sums[block + 1] : 0) + 1;
}

__device__ void grid_barrier() {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned round = barrier_round;
    __threadfence();
    if (atomicAdd(&barrier_arrivals, 1) == gridDim.x - 1) {
      barrier_arrivals = 0;
      __threadfence();
      barrier_round = round + 1;
    } else {
      while (barrier_round == round) {
      }
    }
    __threadfence();
  }
  __syncthreads();
}

__global__ void rotate_by_rounds(volatile int* values, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    int from = (round & 1) * gridDim.x, to = gridDim.x - from;
    if (threadIdx.x == 0) values[to + blockIdx.x] = values[from + (blockIdx.x + 1) % gridDim.x] + 1;
    grid_barrier();
  }
}

// The last block to arrive adds up what all of them have stored.
__global__ void last_block_sums(int* words) {
  __shared__ bool is_last;
  words[1 + blockIdx.x] = 0;
  __syncthreads();
  atomicAdd(&words[1 + blockIdx.x], threadIdx.x);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += ((volatile int*)words)[1 + i];
  words[0] = sum;
}

// Two warps write and two read; two named barriers hand the buffer over.
__global__ void named_barriers(int* sums) {
  __shared__ int buffer[64];
  unsigned lane = threadIdx.x % 64;
  if (threadIdx.x < 64) {
    for (int round = 0; round < 10; ++round) {
      asm volatile("bar.sync 1, 128;" ::: "memory");
      buffer[lane] = 1000 * round + lane;
      asm volatile("bar.arrive 2, 128;" ::: "memory");
    }
  } else {
    int sum = 0;
    for (int round = 0; round < 10; ++round) {
      asm volatile("bar.arrive 1, 128;" ::: "memory");
      asm volatile("bar.sync 2, 128;" ::: "memory");
      sum += buffer[lane];
    }
    sums[lane] = sum;
  }
}

__global__ void neighbour_in_the_warp(int* out) {
  __shared__ volatile int flag, data;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    while (!flag) {
    }
    *out = data;
  } else if (threadIdx.x == 1) {
    data = 42;
    __threadfence_block();
    flag = 1;
  }
}

__global__ void early_leavers(int* out) {
  if (threadIdx.x % 2) return;
  __syncthreads();
  if (threadIdx.x >= 64) return;
  out[threadIdx.x] = 10 * __syncthreads_count(threadIdx.x % 4 == 0) + __syncthreads_or(threadIdx.x == 2);
}

int main() {
  check(
      "lock by every lane", 1, [](int* m) { lock_by_every_lane<<<3, 64>>>(m); },
      [](unsigned) { return 192; });
  check(
      "ticket lock", 3, [](int* m) { ticket_lock<<<3, 64>>>(m); }, [](unsigned) { return 192; });
  check(
      "chain from the last block", 60, [](int* m) { chain_from_the_last<<<60, 32>>>(m); },
      [](unsigned i) { return 60 - (int)i; });
  check(
      "rotate by rounds", 64, [](int* m) { rotate_by_rounds<<<32, 64>>>(m, 40); },
      [](unsigned i) { return i < 32 ? 40 : 39; });
  for (int launch = 0; launch < 2; ++launch)
    check(
        "last block", 21, [](int* m) { last_block_sums<<<20, 96>>>(m); },
        [](unsigned i) { return 96 * 95 / 2 * (i == 0 ? 20 : 1); });
  check(
      "named barriers", 64, [](int* m) { named_barriers<<<1, 128>>>(m); },
      [](unsigned i) { return 45000 + 10 * (int)i; });
  check(
      "neighbour in the warp", 1, [](int* m) { neighbour_in_the_warp<<<1, 32>>>(m); },
      [](unsigned) { return 42; });
  check(
      "early leavers", 64, [](int* m) { early_leavers<<<1, 128>>>(m); },
      [](unsigned i) { return i % 2 ? 0 : 161; });
}
