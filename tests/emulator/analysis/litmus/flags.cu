// Barriers that order one memory only, as OpenCL's do: barrier(CLK_LOCAL_MEM_FENCE) says nothing of global
// memory, and the other way round. The emulator's OpenCL compiles the flags to these lines of PTX.
#include "litmus.cuh"

__device__ void barrier_of_local() {
  asm volatile(".pragma \"warpfold orders shared\";\n\tbar.sync 0;" ::: "memory");
}
__device__ void barrier_of_global() {
  asm volatile(".pragma \"warpfold orders global\";\n\tbar.sync 0;" ::: "memory");
}
__device__ void barrier_of_nothing() {
  asm volatile(".pragma \"warpfold orders nothing\";\n\tbar.sync 0;" ::: "memory");
}

// LITMUS global_by_global: right
__global__ void global_by_global(int* m) {
  m[threadIdx.x] = int(threadIdx.x);
  barrier_of_global();
  m[1000 + threadIdx.x] = m[threadIdx.x ^ 32];
}
RUN(global_by_global, 1, 64)

// LITMUS global_by_local: race-global
// SAYS with a barrier between the two that does not order this memory
__global__ void global_by_local(int* m) {
  m[threadIdx.x] = int(threadIdx.x); // HERE
  barrier_of_local();
  m[1000 + threadIdx.x] = m[threadIdx.x ^ 32]; // HERE
}
RUN(global_by_local, 1, 64)

// LITMUS lanes_by_local: race-global
// SAYS with a barrier between the two that does not order this memory
__global__ void lanes_by_local(int* m) {
  m[threadIdx.x] = int(threadIdx.x); // HERE
  barrier_of_local();
  m[1000 + threadIdx.x] = m[threadIdx.x ^ 1]; // HERE
}
RUN(lanes_by_local, 1, 32)

// LITMUS local_by_local: right
__global__ void local_by_local(int* m) {
  __shared__ int s[64];
  s[threadIdx.x] = int(threadIdx.x);
  barrier_of_local();
  m[threadIdx.x] = s[threadIdx.x ^ 32];
}
RUN(local_by_local, 1, 64)

// LITMUS local_by_global: race-shared
// SAYS with a barrier between the two that does not order this memory
__global__ void local_by_global(int* m) {
  __shared__ int s[64];
  s[threadIdx.x] = int(threadIdx.x); // HERE
  barrier_of_global();
  m[threadIdx.x] = s[threadIdx.x ^ 32]; // HERE
}
RUN(local_by_global, 1, 64)

// LITMUS local_by_nothing: race-shared
// SAYS with a barrier between the two that does not order this memory
__global__ void local_by_nothing(int* m) {
  __shared__ int s[64];
  s[threadIdx.x] = int(threadIdx.x); // HERE
  barrier_of_nothing();
  m[threadIdx.x] = s[threadIdx.x ^ 32]; // HERE
}
RUN(local_by_nothing, 1, 64)

// LITMUS first_one_then_the_other: right
__global__ void first_one_then_the_other(int* m) {
  __shared__ int s[64];
  s[threadIdx.x] = int(threadIdx.x);
  m[threadIdx.x] = int(threadIdx.x);
  barrier_of_local();
  barrier_of_global();
  m[1000 + threadIdx.x] = s[threadIdx.x ^ 32] + m[threadIdx.x ^ 32];
}
RUN(first_one_then_the_other, 1, 64)

// LITMUS each_its_own: right
__global__ void each_its_own(int* m) {
  __shared__ int s[64];
  m[threadIdx.x] = int(threadIdx.x);
  barrier_of_global();
  s[threadIdx.x] = m[threadIdx.x ^ 32];
  barrier_of_local();
  m[1000 + threadIdx.x] = s[threadIdx.x ^ 1] + m[threadIdx.x ^ 33];
}
RUN(each_its_own, 1, 64)

// LITMUS all_by_whole_barrier: right
__global__ void all_by_whole_barrier(int* m) {
  __shared__ int s[64];
  s[threadIdx.x] = int(threadIdx.x);
  barrier_of_global();
  m[threadIdx.x] = int(threadIdx.x);
  __syncthreads();
  m[1000 + threadIdx.x] = s[threadIdx.x ^ 32] + m[threadIdx.x ^ 32];
}
RUN(all_by_whole_barrier, 1, 64)

// LITMUS global_in_rounds: race-global
__global__ void global_in_rounds(int* m) {
  for (int stride = 32; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) m[threadIdx.x] += m[threadIdx.x + stride]; // HERE
    barrier_of_local();
  }
}
RUN(global_in_rounds, 1, 64)

int main() {
  return run_all();
}
