// Scopes: block, device, system. To another block, an access that is strong only for its own block is no more
// than a plain one.
#include "litmus.cuh"

// LITMUS add_block_by_two: race-global
__global__ void add_block_by_two(int* m) {
  atomicAdd_block(m, 1); // HERE
}
RUN(add_block_by_two, 2, 32)

// LITMUS add_block_by_one: right
__global__ void add_block_by_one(int* m) {
  atomicAdd_block(m + blockIdx.x * 32, 1);
}
RUN(add_block_by_one, 2, 64)

// LITMUS add_device_by_two: right
__global__ void add_device_by_two(int* m) {
  atomicAdd(m, 1);
}
RUN(add_device_by_two, 2, 64)

// LITMUS add_system_by_two: right
__global__ void add_system_by_two(int* m) {
  atomicAdd_system(m, 1);
}
RUN(add_system_by_two, 2, 64)

// LITMUS add_mixed_scopes: race-global
__global__ void add_mixed_scopes(int* m) {
  if (blockIdx.x == 0)
    atomicAdd_block(m, 1); // HERE
  else
    atomicAdd(m, 1); // HERE
}
RUN(add_mixed_scopes, 2, 32)

// LITMUS add_mixed_in_one_block: right
__global__ void add_mixed_in_one_block(int* m) {
  if (threadIdx.x < 32)
    atomicAdd_block(m, 1);
  else
    atomicAdd(m, 1);
}
RUN(add_mixed_in_one_block, 1, 64)

// LITMUS add_block_then_read: race-global
__global__ void add_block_then_read(int* m) {
  if (blockIdx.x == 0)
    atomicAdd_block(m, 1); // HERE
  else
    m[64] = ref(m).load(cuda::memory_order_relaxed); // HERE
}
RUN(add_block_then_read, 2, 1)

// LITMUS add_block_then_read_in_one_block: right
__global__ void add_block_then_read_in_one_block(int* m) {
  atomicAdd_block(m, 1);
  __syncthreads();
  if (threadIdx.x == 40) m[64] = m[0];
}
RUN(add_block_then_read_in_one_block, 1, 64)

// LITMUS histogram_block_scope: race-global
__global__ void histogram_block_scope(int* m) {
  atomicAdd_block(m + threadIdx.x % 16, 1); // HERE
}
RUN(histogram_block_scope, 4, 64)

// LITMUS histogram_device_scope: right
__global__ void histogram_device_scope(int* m) {
  atomicAdd(m + threadIdx.x % 16, 1);
}
RUN(histogram_device_scope, 4, 64)

// LITMUS exchange_block_scope: race-global
__global__ void exchange_block_scope(int* m) {
  atomicExch_block(m, blockIdx.x); // HERE
}
RUN(exchange_block_scope, 2, 1)

// LITMUS maximum_block_scope: race-global
__global__ void maximum_block_scope(int* m) {
  atomicMax_block(m, threadIdx.x); // HERE
}
RUN(maximum_block_scope, 3, 32)

// LITMUS ticket_device: right
__global__ void ticket_device(int* m) {
  __shared__ bool last;
  m[64 + blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(m, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last)
    for (int block = 0; block < gridDim.x; ++block)
      m[4096 + threadIdx.x] += m[64 + block * 64 + 63 - threadIdx.x];
}
RUN(ticket_device, 8, 64)

// LITMUS ticket_fence_block: fence
__global__ void ticket_fence_block(int* m) {
  __shared__ bool last;
  m[64 + blockIdx.x * 64 + threadIdx.x] = threadIdx.x; // HERE
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_block();
    last = atomicAdd(m, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last)
    for (int block = 0; block < gridDim.x; ++block)
      m[4096 + threadIdx.x] += m[64 + block * 64 + 63 - threadIdx.x]; // HERE
}
RUN(ticket_fence_block, 8, 64)

// LITMUS ticket_of_block_scope: race-global
__global__ void ticket_of_block_scope(int* m) {
  if (threadIdx.x == 0) {
    __threadfence();
    m[64 + blockIdx.x] = atomicAdd_block(m, 1); // HERE
  }
}
RUN(ticket_of_block_scope, 4, 32)

// LITMUS tickets_of_many_blocks: right
__global__ void tickets_of_many_blocks(int* m) {
  m[64 + blockIdx.x] = blockIdx.x;
  __threadfence();
  if (atomicAdd(m, 1) == gridDim.x - 1)
    for (int block = 0; block < gridDim.x; ++block) m[16000] += m[64 + block];
}
RUN(tickets_of_many_blocks, 4000, 1)

// LITMUS shared_atomics_block_scope: right
__global__ void shared_atomics_block_scope(int* m) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd_block(&count, 1);
  __syncthreads();
  m[threadIdx.x + blockIdx.x * 64] = count;
}
RUN(shared_atomics_block_scope, 2, 64)

// LITMUS plain_read_beside_atomics: race-global
__global__ void plain_read_beside_atomics(int* m) {
  atomicAdd(m, 1);           // HERE
  m[64 + blockIdx.x] = m[0]; // HERE
}
RUN(plain_read_beside_atomics, 2, 1)

// LITMUS volatile_read_beside_atomics: right
__global__ void volatile_read_beside_atomics(int* m) {
  atomicAdd(m, 1);
  m[64 + blockIdx.x] = look(m);
}
RUN(volatile_read_beside_atomics, 2, 1)

int main() {
  return run_all();
}

// LITMUS syncwarp_of_half: race-global
// SAYS with a __syncwarp() between the two whose mask does not name both lanes
__global__ void syncwarp_of_half(int* m) { // each half of the warp waits for itself
  m[threadIdx.x] = 1;                      // HERE
  __syncwarp(threadIdx.x < 16 ? 0xffff : 0xffff0000);
  m[64 + threadIdx.x] = m[31 - threadIdx.x]; // HERE
}
RUN(syncwarp_of_half, 1, 32)

// LITMUS syncwarp_within_half: right
__global__ void syncwarp_within_half(int* m) {
  m[threadIdx.x] = 1;
  __syncwarp(threadIdx.x < 16 ? 0xffff : 0xffff0000);
  m[64 + threadIdx.x] = m[threadIdx.x ^ 15];
}
RUN(syncwarp_within_half, 1, 32)

// LITMUS syncwarp_before_the_write: race-global
// SAYS with no __syncwarp() between the two
__global__ void syncwarp_before_the_write(int* m) {
  __syncwarp(threadIdx.x < 16 ? 0xffff : 0xffff0000);
  m[threadIdx.x] = 1;                        // HERE
  m[64 + threadIdx.x] = m[31 - threadIdx.x]; // HERE
}
RUN(syncwarp_before_the_write, 1, 32)
