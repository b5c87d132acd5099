// Lab 09, the block that finishes last: fences, tickets, and what the others may see.
#include "parts.cuh"

// What the last block does: adds up the sums that the others left, past L1, which may be stale.
__device__ inline void finish(const float* sums, float* result) {
  __shared__ float warp_sums[32];
  float value = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) value += __ldcg(sums + i);
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  value = warp_sum(threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0);
  if (threadIdx.x == 0) *result = value;
}

using Finisher = void (*)(const float*, float*, std::size_t, float*, unsigned*);

// Each run gets a ticket of 0 and room for a sum per block.
template <Finisher kernel>
void one_launch(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  unsigned* ticket = lab::scratch<unsigned>(1);
  cudaMemset(ticket, 0, sizeof(unsigned));
  kernel<<<blocks, block>>>(input, result, n, lab::scratch<float>(blocks), ticket);
}

__global__ void no_fence(const float* input, float* result, std::size_t n, float* sums, unsigned* ticket) {
  __shared__ bool last;
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) {
    // MUTANT no_fence: state=hazard kind=fence diagnosis=any
    // No __threadfence() between the sum and the ticket: who sees the ticket need not see the sum.
    sums[blockIdx.x] = sum;
    last = atomicAdd(ticket, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) finish(sums, result);
}

__global__ void fence_too_late(const float* input, float* result, std::size_t n, float* sums,
                               unsigned* ticket) {
  __shared__ bool last;
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) {
    // MUTANT fence_too_late: state=hazard kind=fence diagnosis=any
    // The fence comes after the ticket, when the last block may have looked already.
    sums[blockIdx.x] = sum;
    last = atomicAdd(ticket, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) finish(sums, result);
}

__global__ void fence_of_block(const float* input, float* result, std::size_t n, float* sums,
                               unsigned* ticket) {
  __shared__ bool last;
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) {
    // MUTANT fence_of_block: state=hazard kind=fence diagnosis=any
    // __threadfence_block() orders for the own block only; the reader is in another.
    sums[blockIdx.x] = sum;
    __threadfence_block();
    last = atomicAdd(ticket, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) finish(sums, result);
}

__global__ void ticket_told_too_soon(const float* input, float* result, std::size_t n, float* sums,
                                     unsigned* ticket) {
  __shared__ bool last;
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(ticket, 1) == gridDim.x - 1;
    __threadfence();
  }
  // MUTANT ticket_told_too_soon: state=wrong|hazard kind=race-shared diagnosis=any
  // No barrier between thread 0's answer and the others' reading of it.
  if (last) finish(sums, result);
}

__global__ void plain_ticket(const float* input, float* result, std::size_t n, float* sums,
                             unsigned* ticket) {
  __shared__ bool last;
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    // MUTANT plain_ticket: state=wrong|hazard kind=race-global diagnosis=any
    // The ticket is counted without an atomic.
    last = (*ticket)++ == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) finish(sums, result);
}

__global__ void last_never_comes(const float* input, float* result, std::size_t n, float* sums,
                                 unsigned* ticket) {
  __shared__ bool last;
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    // MUTANT last_never_comes: state=wrong kind=none diagnosis=never-written
    // Tickets count from 0, so the last of them is gridDim.x - 1, not gridDim.x.
    last = atomicAdd(ticket, 1) == gridDim.x;
    __threadfence();
  }
  __syncthreads();
  if (last) finish(sums, result);
}

// The ticket as a variable of the device, which every launch finds as the one before left it.
__device__ unsigned kept_ticket;

__global__ void ticket_not_reset(const float* input, float* result, std::size_t n, float* sums, unsigned*) {
  __shared__ bool last;
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    // MUTANT ticket_not_reset: state=wrong kind=none diagnosis=left-in-a-variable
    // Right the first time; nobody sets the ticket back for the next launch.
    last = atomicAdd(&kept_ticket, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) finish(sums, result);
}

__global__ void first_block_finishes(const float* input, float* result, std::size_t n, float* sums,
                                     unsigned* ticket) {
  __shared__ bool last;
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(ticket, 1) == 0;
    __threadfence();
  }
  __syncthreads();
  if (!last || threadIdx.x >= 32) return;
  float total = 0;
  // MUTANT first_block_finishes: state=wrong kind=race-global diagnosis=any
  // The block with the first ticket finishes, when the others have not left their sums yet.
  for (unsigned i = threadIdx.x; i < gridDim.x; i += 32) total += __ldcg(sums + i);
  total = warp_sum(total);
  if (threadIdx.x == 0) *result = total;
}

// A lock around a plain addition.
__device__ inline void lock(unsigned* taken) {
  while (atomicCAS(taken, 0, 1) != 0) {
  }
}

__global__ void lock_without_fence(const float* input, float* result, std::size_t n, float*,
                                   unsigned* taken) {
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) {
    lock(taken);
    // MUTANT lock_without_fence: state=wrong|hazard kind=fence diagnosis=any
    // No fence before the lock is given back: the next one to take it need not see the new sum.
    *result = (blockIdx.x == 0 ? 0 : *result) + sum;
    atomicExch(taken, 0);
  }
}

// The same sums as a chain: each block waits for the flag of the one before it.
__global__ void flag_without_fence(const float* input, float* result, std::size_t n, float* sums,
                                   unsigned* turn) {
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) {
    while (atomicAdd(turn, 0) != blockIdx.x) {
    }
    // MUTANT flag_without_fence: state=hazard kind=fence diagnosis=any
    // The running sum is handed on by a flag, with no fence between the two.
    sums[blockIdx.x] = sum + (blockIdx.x == 0 ? 0 : __ldcg(sums + blockIdx.x - 1));
    if (blockIdx.x == gridDim.x - 1) *result = sums[blockIdx.x];
    atomicExch(turn, blockIdx.x + 1);
  }
}

// MUTANT two_launches: state=off-technique kind=none diagnosis=none
// Right, but a second launch does what the last block should.
__global__ void left_for_later(const float* input, float*, std::size_t n, float* sums, unsigned*) {
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
__global__ void add_up(const float* sums, float* result, std::size_t n) {
  const float sum = shuffle_sum(walk(sums, n));
  if (threadIdx.x == 0) *result = sum;
}
void two_launches(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  float* sums = lab::scratch<float>(blocks);
  left_for_later<<<blocks, block>>>(input, result, n, sums, nullptr);
  add_up<<<1, block>>>(sums, result, blocks);
}

int main(int argc, char** argv) {
  using lab::Rung;
  const auto of = [](const char* name, void (*reduce)(const float*, float*, std::size_t, unsigned)) {
    return Rung(name).on(reduce).promise(
        lab::promised("09_speed_of_light", "last_block", lab::Counter::launches));
  };
  return lab::main(
      argc, argv,
      {of("no_fence", one_launch<no_fence>), of("fence_too_late", one_launch<fence_too_late>),
       of("fence_of_block", one_launch<fence_of_block>),
       of("ticket_told_too_soon", one_launch<ticket_told_too_soon>),
       of("plain_ticket", one_launch<plain_ticket>), of("last_never_comes", one_launch<last_never_comes>),
       of("ticket_not_reset", one_launch<ticket_not_reset>),
       of("first_block_finishes", one_launch<first_block_finishes>),
       of("lock_without_fence", one_launch<lock_without_fence>),
       of("flag_without_fence", one_launch<flag_without_fence>), of("two_launches", two_launches)});
}
