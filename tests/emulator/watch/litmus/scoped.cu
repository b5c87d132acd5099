// Fences, atomics and locks, each once right and once with too narrow a scope or a part left out: 18 with a
// race and 14 without, each on plain data and on volatile data. The kinds are those of a published suite of
// micro-benchmarks (Kamath, George, Basu: "ScoRD: A Scoped Race Detector for GPUs", ISCA 2020), but the
// programs are not. "far": between blocks; "near": between warps of one block.
#include "litmus.cuh"

#define RUN_BOTH(name, blocks, threads)                                                                      \
  static Enter enter_plain_##name(#name "_plain", [](int* m) { name<int><<<blocks, threads>>>(m); });        \
  static Enter enter_volatile_##name(#name "_volatile",                                                      \
                                     [](int* m) { name<volatile int><<<blocks, threads>>>(m); });

constexpr int data_word = 64;

// The thread that writes a message and the one that reads it: the first and the last of the grid.
__device__ bool is_writer() {
  return blockIdx.x == 0 && threadIdx.x == 0;
}
__device__ bool is_reader() {
  return blockIdx.x == gridDim.x - 1 && threadIdx.x == blockDim.x - 1;
}
__device__ void raise(int* flag) {
  atomicExch(flag, 1);
}
__device__ void wait_for(int* flag) {
  while (atomicAdd(flag, 0) == 0) {
  }
}

// ---- fences

// LITMUS_BOTH far_fence_of_device: right
template <class Data>
__global__ void far_fence_of_device(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    *data = 42;
    __threadfence();
    raise(m);
  } else if (is_reader()) {
    wait_for(m);
    __threadfence();
    m[128] = *data;
  }
}
RUN_BOTH(far_fence_of_device, 2, 32)

// LITMUS_BOTH far_fence_of_system: right
template <class Data>
__global__ void far_fence_of_system(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    *data = 42;
    __threadfence_system();
    raise(m);
  } else if (is_reader()) {
    wait_for(m);
    __threadfence_system();
    m[128] = *data;
  }
}
RUN_BOTH(far_fence_of_system, 2, 32)

// LITMUS_BOTH near_fence_of_block: right
template <class Data>
__global__ void near_fence_of_block(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    *data = 42;
    __threadfence_block();
    raise(m);
  } else if (is_reader()) {
    wait_for(m);
    __threadfence_block();
    m[128] = *data;
  }
}
RUN_BOTH(near_fence_of_block, 1, 64)

// LITMUS_BOTH near_fence_of_device: right
template <class Data>
__global__ void near_fence_of_device(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    *data = 42;
    __threadfence();
    raise(m);
  } else if (is_reader()) {
    wait_for(m);
    __threadfence();
    m[128] = *data;
  }
}
RUN_BOTH(near_fence_of_device, 1, 64)

// LITMUS_BOTH far_no_fence: race-global|fence
template <class Data>
__global__ void far_no_fence(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    *data = 42; // HERE
    raise(m);
  } else if (is_reader()) {
    wait_for(m);
    __threadfence();
    m[128] = *data; // HERE
  }
}
RUN_BOTH(far_no_fence, 2, 32)

// LITMUS_BOTH far_fence_of_block: race-global|fence
template <class Data>
__global__ void far_fence_of_block(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    *data = 42; // HERE
    __threadfence_block();
    raise(m);
  } else if (is_reader()) {
    wait_for(m);
    __threadfence();
    m[128] = *data; // HERE
  }
}
RUN_BOTH(far_fence_of_block, 2, 32)

// LITMUS_BOTH near_no_fence: race-global|fence
template <class Data>
__global__ void near_no_fence(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    *data = 42; // HERE
    raise(m);
  } else if (is_reader()) {
    wait_for(m);
    __threadfence_block();
    m[128] = *data; // HERE
  }
}
RUN_BOTH(near_no_fence, 1, 64)

// LITMUS_BOTH far_fence_behind_flag: race-global|fence
template <class Data>
__global__ void far_fence_behind_flag(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    *data = 42; // HERE
    raise(m);
    __threadfence();
  } else if (is_reader()) {
    wait_for(m);
    __threadfence();
    m[128] = *data; // HERE
  }
}
RUN_BOTH(far_fence_behind_flag, 2, 32)

// LITMUS_BOTH far_fence_before_data: race-global|fence
template <class Data>
__global__ void far_fence_before_data(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    __threadfence();
    *data = 42; // HERE
    raise(m);
  } else if (is_reader()) {
    wait_for(m);
    __threadfence();
    m[128] = *data; // HERE
  }
}
RUN_BOTH(far_fence_before_data, 2, 32)

// LITMUS_BOTH far_fence_but_no_wait: race-global|fence
template <class Data>
__global__ void far_fence_but_no_wait(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    *data = 42; // HERE
    __threadfence();
    raise(m);
  } else if (is_reader()) {
    __threadfence();
    m[128] = *data; // HERE
  }
}
RUN_BOTH(far_fence_but_no_wait, 2, 32)

// ---- atomics

// LITMUS_BOTH far_atomic_of_device: right
template <class Data>
__global__ void far_atomic_of_device(int* m) {
  Data* data = m + data_word;
  atomicAdd(const_cast<int*>(data), 1);
}
RUN_BOTH(far_atomic_of_device, 3, 64)

// LITMUS_BOTH far_atomic_of_system: right
template <class Data>
__global__ void far_atomic_of_system(int* m) {
  Data* data = m + data_word;
  atomicAdd_system(const_cast<int*>(data), 1);
}
RUN_BOTH(far_atomic_of_system, 3, 64)

// LITMUS_BOTH near_atomic_of_block: right
template <class Data>
__global__ void near_atomic_of_block(int* m) {
  Data* data = m + data_word;
  atomicAdd_block(const_cast<int*>(data), 1);
  __syncthreads();
  if (threadIdx.x == 40) m[128] = *data;
}
RUN_BOTH(near_atomic_of_block, 1, 64)

// LITMUS_BOTH near_atomics_of_two_scopes: right
template <class Data>
__global__ void near_atomics_of_two_scopes(int* m) {
  Data* data = m + data_word;
  if (threadIdx.x < 32)
    atomicAdd_block(const_cast<int*>(data), 1);
  else
    atomicAdd(const_cast<int*>(data), 1);
}
RUN_BOTH(near_atomics_of_two_scopes, 1, 64)

// LITMUS_BOTH far_atomic_of_block: race-global
template <class Data>
__global__ void far_atomic_of_block(int* m) {
  Data* data = m + data_word;
  atomicAdd_block(const_cast<int*>(data), 1); // HERE
}
RUN_BOTH(far_atomic_of_block, 3, 64)

// LITMUS_BOTH far_atomics_of_two_scopes: race-global
template <class Data>
__global__ void far_atomics_of_two_scopes(int* m) {
  Data* data = m + data_word;
  if (blockIdx.x == 0)
    atomicAdd_block(const_cast<int*>(data), 1); // HERE
  else
    atomicAdd(const_cast<int*>(data), 1); // HERE
}
RUN_BOTH(far_atomics_of_two_scopes, 3, 64)

// LITMUS_BOTH far_update_without_atomic: race-global
template <class Data>
__global__ void far_update_without_atomic(int* m) {
  Data* data = m + data_word;
  *data = *data + 1; // HERE
}
RUN_BOTH(far_update_without_atomic, 2, 1)

// LITMUS_BOTH far_flag_raised_for_block: race-global|fence
template <class Data>
__global__ void far_flag_raised_for_block(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    *data = 42; // HERE
    __threadfence();
    atomicExch_block(m, 1); // HERE
  } else if (is_reader()) {
    wait_for(m); // HERE
    __threadfence();
    m[128] = *data; // HERE
  }
}
RUN_BOTH(far_flag_raised_for_block, 2, 32)

// LITMUS_BOTH far_flag_watched_in_block: race-global|fence
template <class Data>
__global__ void far_flag_watched_in_block(int* m) {
  Data* data = m + data_word;
  if (is_writer()) {
    *data = 42; // HERE
    __threadfence();
    atomicExch(m, 1); // HERE
  } else if (is_reader()) {
    while (atomicAdd_block(m, 0) == 0) { // HERE
    }
    __threadfence();
    m[128] = *data; // HERE
  }
}
RUN_BOTH(far_flag_watched_in_block, 2, 32)

// ---- locks

// LITMUS_BOTH far_lock: right
template <class Data>
__global__ void far_lock(int* m) {
  Data* data = m + data_word;
  take(m);
  __threadfence();
  *data = *data + 1;
  __threadfence();
  atomicExch(m, 0);
}
RUN_BOTH(far_lock, 4, 1)

// LITMUS_BOTH far_lock_of_system: right
template <class Data>
__global__ void far_lock_of_system(int* m) {
  Data* data = m + data_word;
  while (atomicCAS_system(m, 0, 1) != 0) {
  }
  __threadfence_system();
  *data = *data + 1;
  __threadfence_system();
  atomicExch_system(m, 0);
}
RUN_BOTH(far_lock_of_system, 4, 1)

// LITMUS_BOTH far_lock_over_two_words: right
template <class Data>
__global__ void far_lock_over_two_words(int* m) { // it covers the word that is read, too
  Data* data = m + data_word;
  take(m);
  __threadfence();
  data[blockIdx.x % 2] = data[(blockIdx.x + 1) % 2] + 1;
  __threadfence();
  atomicExch(m, 0);
}
RUN_BOTH(far_lock_over_two_words, 4, 1)

// LITMUS_BOTH far_lock_for_a_block: right
template <class Data>
__global__ void far_lock_for_a_block(int* m) { // one thread takes it for its whole block
  Data* data = m + data_word;
  if (threadIdx.x == 0) {
    take(m);
    __threadfence();
  }
  __syncthreads();
  data[threadIdx.x] = data[threadIdx.x] + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicExch(m, 0);
  }
}
RUN_BOTH(far_lock_for_a_block, 3, 64)

// LITMUS_BOTH near_lock_of_block: right
template <class Data>
__global__ void near_lock_of_block(int* m) {
  Data* data = m + data_word;
  if (threadIdx.x % 32) return;
  while (atomicCAS_block(m, 0, 1) != 0) {
  }
  __threadfence_block();
  *data = *data + 1;
  __threadfence_block();
  atomicExch_block(m, 0);
}
RUN_BOTH(near_lock_of_block, 1, 128)

// LITMUS_BOTH near_lock_of_device: right
template <class Data>
__global__ void near_lock_of_device(int* m) {
  Data* data = m + data_word;
  if (threadIdx.x % 32) return;
  take(m);
  __threadfence();
  *data = *data + 1;
  __threadfence();
  atomicExch(m, 0);
}
RUN_BOTH(near_lock_of_device, 1, 128)

// LITMUS_BOTH far_lock_without_fences: race-global|fence
template <class Data>
__global__ void far_lock_without_fences(int* m) {
  Data* data = m + data_word;
  take(m);
  *data = *data + 1; // HERE
  atomicExch(m, 0);
}
RUN_BOTH(far_lock_without_fences, 4, 1)

// LITMUS_BOTH far_lock_taken_without_fence: race-global|fence
template <class Data>
__global__ void far_lock_taken_without_fence(int* m) {
  Data* data = m + data_word;
  take(m);
  *data = *data + 1; // HERE
  __threadfence();
  atomicExch(m, 0);
}
RUN_BOTH(far_lock_taken_without_fence, 4, 1)

// LITMUS_BOTH far_lock_given_back_without_fence: race-global|fence
template <class Data>
__global__ void far_lock_given_back_without_fence(int* m) {
  Data* data = m + data_word;
  take(m);
  __threadfence();
  *data = *data + 1; // HERE
  atomicExch(m, 0);
}
RUN_BOTH(far_lock_given_back_without_fence, 4, 1)

// LITMUS_BOTH far_lock_taken_with_fence_of_block: race-global|fence
template <class Data>
__global__ void far_lock_taken_with_fence_of_block(int* m) {
  Data* data = m + data_word;
  take(m);
  __threadfence_block();
  *data = *data + 1; // HERE
  __threadfence();
  atomicExch(m, 0);
}
RUN_BOTH(far_lock_taken_with_fence_of_block, 4, 1)

// LITMUS_BOTH far_lock_given_back_with_fence_of_block: race-global|fence
template <class Data>
__global__ void far_lock_given_back_with_fence_of_block(int* m) {
  Data* data = m + data_word;
  take(m);
  __threadfence();
  *data = *data + 1; // HERE
  __threadfence_block();
  atomicExch(m, 0);
}
RUN_BOTH(far_lock_given_back_with_fence_of_block, 4, 1)

// LITMUS_BOTH far_lock_taken_for_block: race-global|fence
template <class Data>
__global__ void far_lock_taken_for_block(int* m) {
  Data* data = m + data_word;
  while (atomicCAS_block(m, 0, 1) != 0) { // HERE
  }
  __threadfence();
  *data = *data + 1; // HERE
  __threadfence();
  atomicExch(m, 0); // HERE
}
RUN_BOTH(far_lock_taken_for_block, 4, 1)

// LITMUS_BOTH far_lock_given_back_for_block: race-global|fence
template <class Data>
__global__ void far_lock_given_back_for_block(int* m) {
  Data* data = m + data_word;
  take(m); // HERE
  __threadfence();
  *data = *data + 1; // HERE
  __threadfence();
  atomicExch_block(m, 0); // HERE
}
RUN_BOTH(far_lock_given_back_for_block, 4, 1)

int main() {
  return run_all();
}
