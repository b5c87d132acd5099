// Release sequences, chains of flags, barriers that a program makes itself, polled flags, cooperative groups.
#include "litmus.cuh"

// LITMUS sequence_by_updates: right
__global__ void sequence_by_updates(int* m) { // an update in between continues the release
  if (blockIdx.x == 0) {
    m[64] = 42;
    __threadfence();
    atomicAdd(m, 1);
  } else if (blockIdx.x == 1) {
    while (look(m) == 0) {
    }
    atomicAdd(m, 1);
  } else {
    while (look(m) != 2) {
    }
    __threadfence();
    m[128] = m[64];
  }
}
RUN(sequence_by_updates, 3, 1)

// LITMUS sequence_cut_by_a_store: race-global|fence
__global__ void sequence_cut_by_a_store(int* m) { // a thread that reads 2 has read nothing from block 0
  if (blockIdx.x == 0) {
    m[64] = 42; // HERE
    __threadfence();
    atomicExch(m, 1);
  } else if (blockIdx.x == 1) {
    while (look(m) == 0) {
    }
    ref(m).store(2, cuda::memory_order_relaxed);
    ref(m + 1).store(1, cuda::memory_order_relaxed);
  } else {
    while (look(m + 1) == 0) {
    }
    m[256] = ref(m).load(cuda::memory_order_acquire);
    m[128] = m[64]; // HERE
  }
}
RUN(sequence_cut_by_a_store, 3, 1)

// LITMUS sequence_store_with_fence: right
__global__ void sequence_store_with_fence(int* m) {
  if (blockIdx.x == 0) {
    m[64] = 42;
    __threadfence();
    atomicExch(m, 1);
  } else if (blockIdx.x == 1) {
    while (look(m) == 0) {
    }
    __threadfence();
    ref(m).store(2, cuda::memory_order_relaxed);
  } else {
    while (look(m) != 2) {
    }
    __threadfence();
    m[128] = m[64];
  }
}
RUN(sequence_store_with_fence, 3, 1)

// LITMUS update_without_release: right
__global__ void update_without_release(int* m) { // the ticket of a thread that has nothing to announce
  if (blockIdx.x == 0) {
    m[64] = 42;
    __threadfence();
    atomicAdd(m, 1);
  } else if (blockIdx.x < 5) {
    atomicAdd(m, 1);
  } else {
    while (look(m) != 5) {
    }
    __threadfence();
    m[128] = m[64];
  }
}
RUN(update_without_release, 6, 1)

// LITMUS chain_of_flags: right
__global__ void chain_of_flags(int* m) {
  if (blockIdx.x > 0)
    while (look(m + blockIdx.x - 1) == 0) {
    }
  __threadfence();
  m[64] += 1;
  __threadfence();
  atomicExch(m + blockIdx.x, 1);
}
RUN(chain_of_flags, 30, 1)

// LITMUS chain_with_a_gap: race-global|fence
__global__ void chain_with_a_gap(int* m) { // block 5 does not wait
  if (blockIdx.x > 0 && blockIdx.x != 5)
    while (look(m + blockIdx.x - 1) == 0) {
    }
  __threadfence();
  m[64] += 1; // HERE
  __threadfence();
  atomicExch(m + blockIdx.x, 1);
}
RUN(chain_with_a_gap, 10, 1)

// LITMUS fan_in: right
__global__ void fan_in(int* m) {
  if (blockIdx.x < 7) {
    m[64 + blockIdx.x] = 1;
    __threadfence();
    atomicExch(m + blockIdx.x, 1);
  } else {
    for (int i = 0; i < 7; ++i) {
      while (look(m + i) == 0) {
      }
      __threadfence();
      m[128] += m[64 + i];
    }
  }
}
RUN(fan_in, 8, 1)

// LITMUS fan_in_one_missing: race-global|fence
__global__ void fan_in_one_missing(int* m) {
  if (blockIdx.x < 7) {
    m[64 + blockIdx.x] = 1; // HERE
    __threadfence();
    atomicExch(m + blockIdx.x, 1);
  } else {
    for (int i = 0; i < 6; ++i)
      while (look(m + i) == 0) {
      }
    __threadfence();
    for (int i = 0; i < 7; ++i) m[128] += m[64 + i]; // HERE
  }
}
RUN(fan_in_one_missing, 8, 1)

// LITMUS fan_out: right
__global__ void fan_out(int* m) {
  if (blockIdx.x == 0) {
    m[64] = 42;
    __threadfence();
    atomicExch(m, 1);
  } else {
    while (look(m) == 0) {
    }
    __threadfence();
    m[128 + blockIdx.x] = m[64];
  }
}
RUN(fan_out, 8, 1)

__device__ void own_grid_barrier(int* m, bool with_fences) {
  __syncthreads();
  if (threadIdx.x == 0) {
    volatile int* round = m + 1;
    const int before = *round;
    if (with_fences) __threadfence();
    if (atomicAdd(m, 1) == gridDim.x - 1) {
      atomicExch(m, 0);
      if (with_fences) __threadfence();
      *round = before + 1;
    } else {
      while (*round == before) {
      }
    }
    if (with_fences) __threadfence();
  }
  __syncthreads();
}

// LITMUS grid_barrier_of_ones_own: right
__global__ void grid_barrier_of_ones_own(int* m) {
  for (int round = 0; round < 4; ++round) {
    const int from = 64 + (round & 1) * 1024, to = 64 + (~round & 1) * 1024;
    m[to + blockIdx.x * 64 + threadIdx.x] =
        m[from + (blockIdx.x + 1) % gridDim.x * 64 + 63 - threadIdx.x] + 1;
    own_grid_barrier(m, true);
  }
}
RUN(grid_barrier_of_ones_own, 6, 64)

// LITMUS grid_barrier_without_fences: race-global|fence
__global__ void grid_barrier_without_fences(int* m) {
  for (int round = 0; round < 4; ++round) {
    const int from = 64 + (round & 1) * 1024, to = 64 + (~round & 1) * 1024;
    m[to + blockIdx.x * 64 + threadIdx.x] =
        m[from + (blockIdx.x + 1) % gridDim.x * 64 + 63 - threadIdx.x] + 1; // HERE
    own_grid_barrier(m, false);
  }
}
RUN(grid_barrier_without_fences, 6, 64)

// LITMUS grid_barrier_every_other_time: race-global|fence
__global__ void grid_barrier_every_other_time(int* m) {
  for (int round = 0; round < 4; ++round) {
    const int from = 64 + (round & 1) * 1024, to = 64 + (~round & 1) * 1024;
    m[to + blockIdx.x * 64 + threadIdx.x] =
        m[from + (blockIdx.x + 1) % gridDim.x * 64 + 63 - threadIdx.x] + 1; // HERE
    if (round & 1) own_grid_barrier(m, true);
  }
}
RUN(grid_barrier_every_other_time, 6, 64)

// LITMUS grid_sync: right
__global__ void grid_sync(int* m) {
  for (int round = 0; round < 3; ++round) {
    const int from = 64 + (round & 1) * 1024, to = 64 + (~round & 1) * 1024;
    m[to + blockIdx.x * 64 + threadIdx.x] =
        m[from + (blockIdx.x + 1) % gridDim.x * 64 + 63 - threadIdx.x] + 1;
    cg::this_grid().sync();
  }
}
RUN_TOGETHER(grid_sync, 4, 64)

// LITMUS grid_sync_in_place: race-global|fence
__global__ void grid_sync_in_place(int* m) {
  for (int round = 0; round < 3; ++round) {
    m[64 + blockIdx.x * 64 + threadIdx.x] =
        m[64 + (blockIdx.x + 1) % gridDim.x * 64 + 63 - threadIdx.x] + 1; // HERE
    cg::this_grid().sync();
  }
}
RUN_TOGETHER(grid_sync_in_place, 4, 64)

// LITMUS grid_sync_left_out: race-global|fence
__global__ void grid_sync_left_out(int* m) {
  m[64 + blockIdx.x * 64 + threadIdx.x] = 1; // HERE
  cg::this_grid().sync();
  m[64 + blockIdx.x * 64 + threadIdx.x] += 1;                                                        // HERE
  m[2048 + blockIdx.x * 64 + threadIdx.x] = m[64 + (blockIdx.x + 1) % gridDim.x * 64 + threadIdx.x]; // HERE
}
RUN_TOGETHER(grid_sync_left_out, 4, 64)

// LITMUS grid_sync_half_have_left: barrier
__global__ void grid_sync_half_have_left(int* m) {
  if (threadIdx.x >= 32) return;
  m[64 + blockIdx.x * 32 + threadIdx.x] = 1;
  cg::this_grid().sync(); // HERE
  m[1024 + blockIdx.x * 32 + threadIdx.x] = m[64 + (blockIdx.x + 1) % gridDim.x * 32 + threadIdx.x];
}
RUN_TOGETHER(grid_sync_half_have_left, 4, 64)

// LITMUS tile_sync: right
__global__ void tile_sync(int* m) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  m[threadIdx.x] = threadIdx.x;
  tile.sync();
  m[1024 + threadIdx.x] = m[threadIdx.x ^ 5];
}
RUN(tile_sync, 1, 64)

// LITMUS tile_sync_too_small: race-global
__global__ void tile_sync_too_small(int* m) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  m[threadIdx.x] = threadIdx.x; // HERE
  tile.sync();
  m[1024 + threadIdx.x] = m[threadIdx.x ^ 21]; // HERE
}
RUN(tile_sync_too_small, 1, 64)

// LITMUS block_sync: right
__global__ void block_sync(int* m) {
  m[threadIdx.x] = threadIdx.x;
  cg::this_thread_block().sync();
  m[1024 + threadIdx.x] = m[threadIdx.x ^ 37];
}
RUN(block_sync, 1, 64)

// LITMUS coalesced_sync: right
__global__ void coalesced_sync(int* m) {
  if (threadIdx.x % 2) {
    const auto here = cg::coalesced_threads();
    m[threadIdx.x] = threadIdx.x;
    here.sync();
    m[1024 + threadIdx.x] = m[threadIdx.x ^ 2];
  }
}
RUN(coalesced_sync, 1, 32)

// LITMUS coalesced_no_sync: race-global
__global__ void coalesced_no_sync(int* m) {
  if (threadIdx.x % 2) {
    m[threadIdx.x] = threadIdx.x;               // HERE
    m[1024 + threadIdx.x] = m[threadIdx.x ^ 2]; // HERE
  }
}
RUN(coalesced_no_sync, 1, 32)

// LITMUS barrier_of_cuda: right
__global__ void barrier_of_cuda(int* m) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[64];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  values[threadIdx.x] = threadIdx.x;
  barrier.arrive_and_wait();
  m[threadIdx.x] = values[threadIdx.x ^ 37];
}
RUN(barrier_of_cuda, 1, 64)

// LITMUS barrier_of_cuda_arrive_wait: right
__global__ void barrier_of_cuda_arrive_wait(int* m) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[64];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  values[threadIdx.x] = threadIdx.x;
  auto token = barrier.arrive();
  m[512 + threadIdx.x] = 1;
  barrier.wait(std::move(token));
  m[threadIdx.x] = values[threadIdx.x ^ 37];
}
RUN(barrier_of_cuda_arrive_wait, 1, 64)

// LITMUS barrier_of_cuda_no_wait: race-shared
__global__ void barrier_of_cuda_no_wait(int* m) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[64];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  values[threadIdx.x] = 0;
  __syncthreads();
  values[threadIdx.x] = threadIdx.x; // HERE
  (void)barrier.arrive();
  m[threadIdx.x] = values[threadIdx.x ^ 37]; // HERE
}
RUN(barrier_of_cuda_no_wait, 1, 64)

// LITMUS barrier_of_cuda_written_behind: race-shared
__global__ void barrier_of_cuda_written_behind(int* m) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[64];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  values[threadIdx.x] = 0;
  __syncthreads();
  auto token = barrier.arrive();
  values[threadIdx.x] = threadIdx.x; // HERE
  barrier.wait(std::move(token));
  m[threadIdx.x] = values[threadIdx.x ^ 37]; // HERE
}
RUN(barrier_of_cuda_written_behind, 1, 64)

// LITMUS flag_in_shared: right
__global__ void flag_in_shared(int* m) {
  __shared__ volatile int flag;
  __shared__ int data;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = 42;
    __threadfence_block();
    flag = 1;
  } else if (threadIdx.x == 32) {
    while (flag == 0) {
    }
    __threadfence_block();
    m[0] = data;
  }
}
RUN(flag_in_shared, 1, 64)

// LITMUS flag_in_shared_no_fence: race-shared
__global__ void flag_in_shared_no_fence(int* m) {
  __shared__ volatile int flag;
  __shared__ int data;
  if (threadIdx.x == 0) flag = data = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = 42; // HERE
    flag = 1;
  } else if (threadIdx.x == 32) {
    while (flag == 0) {
    }
    m[0] = data; // HERE
  }
}
RUN(flag_in_shared_no_fence, 1, 64)

// LITMUS flag_in_shared_plain: race-shared
__global__ void flag_in_shared_plain(int* m) {
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0)
    flag = 1; // HERE
  else if (threadIdx.x == 32)
    m[0] = flag; // HERE
}
RUN(flag_in_shared_plain, 1, 64)

// LITMUS volatile_tree_in_a_warp: race-shared
__global__ void volatile_tree_in_a_warp(int* m) {
  __shared__ volatile int partial[64];
  partial[threadIdx.x] = threadIdx.x;
  partial[threadIdx.x + 32] = 1;
  __syncwarp();
  partial[threadIdx.x] += partial[threadIdx.x + 16]; // HERE
  partial[threadIdx.x] += partial[threadIdx.x + 8];  // HERE
  m[threadIdx.x] = partial[threadIdx.x];
}
RUN(volatile_tree_in_a_warp, 1, 32)

// LITMUS polled_counter: right
__global__ void polled_counter(int* m) {
  if (threadIdx.x != 0) return;
  atomicAdd(m, 1);
  while (look(m) < gridDim.x) {
  }
  m[64 + blockIdx.x] = 1;
}
RUN(polled_counter, 8, 32)

// LITMUS polled_twice: right
__global__ void polled_twice(int* m) { // what was polled is read once more
  volatile int* v = m;
  if (blockIdx.x == 0) {
    v[0] = 7;
  } else {
    while (v[0] == 0) {
    }
    m[64] = v[0];
  }
}
RUN(polled_twice, 2, 1)

// LITMUS polled_after_a_look: right
__global__ void polled_after_a_look(int* m) { // value and mark in one word, which the reader clears
  volatile unsigned long long* word = reinterpret_cast<volatile unsigned long long*>(m);
  constexpr unsigned long long present = 1ull << 32;
  if (blockIdx.x > 0) {
    word[blockIdx.x] = present | blockIdx.x;
    return;
  }
  unsigned long long seen[7];
#pragma unroll
  for (int i = 0; i < 7; ++i) seen[i] = word[i + 1];
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 7; ++i) {
    while (seen[i] < present) seen[i] = word[i + 1];
    sum += static_cast<int>(seen[i]);
    word[i + 1] = 0;
  }
  m[64] = sum;
}
RUN(polled_after_a_look, 8, 1)

// LITMUS volatile_never_polled: race-global
__global__ void volatile_never_polled(int* m) {
  volatile int* v = m;
  if (blockIdx.x == 0)
    v[threadIdx.x] = 1; // HERE
  else
    m[64 + threadIdx.x] = v[threadIdx.x]; // HERE
}
RUN(volatile_never_polled, 2, 32)

// LITMUS volatile_walked: race-global
__global__ void volatile_walked(int* m) { // a loop that moves on does not wait
  volatile int* v = m;
  if (blockIdx.x == 0) {
    v[threadIdx.x] = 1; // HERE
  } else if (threadIdx.x == 0) {
    int i = 0;
    while (i < 32 && v[i] == 0) ++i; // HERE
    m[64] = i;
  }
}
RUN(volatile_walked, 2, 32)

// LITMUS polled_address: right
__global__ void polled_address(int* m) { // one flag for each thread
  volatile int* v = m;
  if (blockIdx.x == 0) {
    m[64 + threadIdx.x] = threadIdx.x;
    __threadfence();
    v[threadIdx.x] = 1;
  } else {
    while (v[threadIdx.x] == 0) {
    }
    __threadfence();
    m[128 + threadIdx.x] = m[64 + threadIdx.x];
  }
}
RUN(polled_address, 2, 32)

// LITMUS polled_neighbours_flag: race-global|fence
__global__ void polled_neighbours_flag(int* m) {
  volatile int* v = m;
  if (blockIdx.x == 0) {
    m[64 + threadIdx.x] = threadIdx.x; // HERE
    __threadfence();
    v[threadIdx.x] = 1;
  } else if (threadIdx.x < 31) {
    while (v[threadIdx.x] == 0) {
    }
    __threadfence();
    m[128 + threadIdx.x] = m[64 + 63 - threadIdx.x]; // HERE
  }
}
RUN(polled_neighbours_flag, 2, 64)

int main() {
  return run_all();
}
