// What a thread does depends on what it finds, so that in one order nothing goes wrong.
#include "litmus.cuh"

// LITMUS_IN_BOTH_ORDERS sequence_lock_with_plain_data: race-global
__global__ void sequence_lock_with_plain_data(int* m) {
  if (blockIdx.x == 0) {
    atomicAdd(m, 1);
    __threadfence();
    m[64] = 1; // HERE
    m[65] = 2;
    __threadfence();
    atomicAdd(m, 1);
  } else {
    int before, a, b;
    do {
      before = look(m);
      __threadfence();
      a = m[64]; // HERE
      b = m[65];
      __threadfence();
    } while (before % 2 != 0 || look(m) != before);
    m[128] = a + b;
  }
}
RUN(sequence_lock_with_plain_data, 2, 1)

// LITMUS sequence_lock: right
__global__ void sequence_lock(int* m) {
  if (blockIdx.x == 0) {
    atomicAdd(m, 1);
    __threadfence();
    atomicExch(m + 64, 1);
    atomicExch(m + 65, 2);
    __threadfence();
    atomicAdd(m, 1);
  } else {
    int before, a, b;
    do {
      before = look(m);
      __threadfence();
      a = look(m + 64);
      b = look(m + 65);
      __threadfence();
    } while (before % 2 != 0 || look(m) != before);
    m[128] = a + b;
  }
}
RUN(sequence_lock, 2, 1)

// LITMUS_IN_BOTH_ORDERS reads_without_waiting: race-global
__global__ void reads_without_waiting(int* m) {
  if (blockIdx.x == 0) {
    m[64] = 42; // HERE
    __threadfence();
    atomicExch(m, 1);
  } else {
    m[1] = look(m); // whether it was there
    __threadfence();
    m[128] = m[64]; // HERE
  }
}
RUN(reads_without_waiting, 2, 1)

// LITMUS reads_if_it_is_there: right
__global__ void reads_if_it_is_there(int* m) {
  if (blockIdx.x == 0) {
    m[64] = 42;
    __threadfence();
    atomicExch(m, 1);
  } else if (look(m) == 1) {
    __threadfence();
    m[128] = m[64];
  }
}
RUN(reads_if_it_is_there, 2, 1)

// LITMUS_IN_BOTH_ORDERS reads_the_other_warps_word: race-shared
__global__ void reads_the_other_warps_word(int* m) {
  __shared__ int data, flag;
  if (threadIdx.x == 0) data = flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = 42; // HERE
    __threadfence_block();
    atomicExch_block(&flag, 1);
  } else if (threadIdx.x == 32) {
    m[1] = atomicAdd_block(&flag, 0);
    __threadfence_block();
    m[128] = data; // HERE
  }
}
RUN(reads_the_other_warps_word, 1, 64)

// LITMUS_IN_BOTH_ORDERS first_come_leaves_the_rest: race-global|fence
__global__ void first_come_leaves_the_rest(int* m) { // block 1 writes only if it comes first
  if (blockIdx.x == 1) {
    if (atomicExch(m, 1) == 0) m[64] = 1; // HERE
  } else {
    atomicExch(m, 1);
    m[64] = 2; // HERE
  }
}
RUN(first_come_leaves_the_rest, 2, 1)

int main() {
  return run_all();
}
