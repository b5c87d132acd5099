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

// LITMUS_IN_BOTH_ORDERS stack_with_plain_links: race-global|fence
//
// A stack of nodes m[65] ... m[80] below their index in *m: each thread takes the top one and puts it back.
// Who has read the next node of one that another has taken meanwhile finds out by `atomicCAS`, and still has
// read it.
template <bool Plain>
__device__ void take_and_put_back(int* m) {
  int* next = m + 64;
  const auto read = [&](int node) { return Plain ? next[node] : look(next + node); }; // HERE
  int top, old;
  do {
    top = look(m);
    if (top == 0) return;
    __threadfence();
    old = atomicCAS(m, top, read(top));
  } while (old != top);
  __threadfence();
  do {
    old = look(m);
    if (Plain)
      next[top] = old; // HERE
    else
      atomicExch(next + top, old);
    __threadfence();
  } while (atomicCAS(m, old, top) != old);
}
__global__ void fill_stack(int* m) {
  for (int node = 1; node <= 16; ++node) m[64 + node] = node - 1;
  m[0] = 16;
}

__global__ void stack_with_plain_links(int* m) {
  take_and_put_back<true>(m);
}
static Enter enter_stack_with_plain_links("stack_with_plain_links", [](int* m) {
  fill_stack<<<1, 1>>>(m);
  stack_with_plain_links<<<4, 1>>>(m);
});

// LITMUS stack: right
__global__ void stack(int* m) {
  take_and_put_back<false>(m);
}
static Enter enter_stack("stack", [](int* m) {
  fill_stack<<<1, 1>>>(m);
  stack<<<4, 1>>>(m);
});

int main() {
  return run_all();
}
