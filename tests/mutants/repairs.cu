// Lab 08: repairs that do not repair. Each is one of the lab's broken kernels with a change that looks right.
#include "parts.cuh"

__global__ void barrier_before_the_step(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = walk(input, n);
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (t < stride) partial[t] += partial[t + stride];
  }
  // MUTANT barrier_before_the_step: state=hazard|wrong kind=race-shared diagnosis=any
  // missing_barrier: right for thread 0, which would read what it wrote itself, but another warp adds the
  // sum.
  if (t == blockDim.x - 1) atomicAdd(result, partial[0]);
}

__global__ void barrier_within(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = walk(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) {
      partial[t] += partial[t + stride];
      // MUTANT barrier_within: state=hazard|wrong kind=barrier diagnosis=any
      // missing_barrier: the barrier is there now, but inside the branch.
      __syncthreads();
    }
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void barrier_of_warps(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = walk(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    // MUTANT barrier_of_warps: state=wrong|hazard kind=race-shared diagnosis=any
    // divergent_barrier: a barrier that every warp passes by itself, inside the branch or not.
    if (t < stride) partial[t] += partial[t + stride];
    __syncwarp();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void barrier_in_both_branches(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = walk(input, n);
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) {
      partial[t] += partial[t + stride];
      // MUTANT barrier_in_both_branches: state=hazard|wrong kind=barrier diagnosis=any
      // divergent_barrier: each branch has a barrier of its own, so the threads of a warp wait at two places.
      __syncthreads();
    } else {
      __syncthreads();
    }
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void rest_never_added(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + t;
  if (i < n) partial[t] = input[i];
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    // MUTANT rest_never_added: state=hazard|wrong kind=uninitialised diagnosis=any
    // unwritten_shared: the bound is asked for the reader's element, not for its partner's.
    if (t < stride && i < n) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void first_unwritten_zeroed(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + t;
  if (i < n) partial[t] = input[i];
  if (i == n) partial[t] = 0;
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    // MUTANT first_unwritten_zeroed: state=hazard|wrong kind=uninitialised diagnosis=any
    // unwritten_shared: 0 for the first place behind the end, and nothing for those after it.
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

// The tree of volatile_tail down to the last 64 places.
__device__ void tree_to_warp(float* partial) {
  const unsigned t = threadIdx.x;
  for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
}

__global__ void syncwarp_after_all(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = walk(input, n);
  __syncthreads();
  tree_to_warp(partial);
  if (t < 32) {
    volatile float* tail = partial;
    // MUTANT syncwarp_after_all: state=wrong|hazard kind=race-shared diagnosis=any
    // volatile_tail: one __syncwarp(), after the steps; each step needs the one before.
    for (unsigned stride = 32; stride > 0; stride /= 2) tail[t] += tail[t + stride];
    __syncwarp();
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void fence_for_barrier(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const unsigned t = threadIdx.x;
  partial[t] = walk(input, n);
  __syncthreads();
  tree_to_warp(partial);
  if (t < 32) {
    for (unsigned stride = 32; stride > 0; stride /= 2) {
      // MUTANT fence_for_barrier: state=wrong|hazard kind=race-shared diagnosis=any
      // volatile_tail: a fence orders a thread's own writes, and waits for nobody.
      partial[t] += partial[t + stride];
      __threadfence_block();
    }
  }
  if (t == 0) atomicAdd(result, partial[0]);
}

__global__ void active_mask(const float* input, float* result, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = input[i];
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    // MUTANT active_mask: state=wrong|hazard kind=warp-mask diagnosis=any
    // absent_lanes: __activemask() names the lanes that are here, and some read from one that is not.
    value += __shfl_down_sync(__activemask(), value, distance);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(result, value);
}

__global__ void read_once_not_kept(const float* input, float* result, std::size_t n) {
  __shared__ float warp_sums[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  float sum = warp_sum(walk(input, n));
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp != 0) return;
  const float own = lane < warps ? warp_sums[lane] : 0;
  // MUTANT read_once_not_kept: state=wrong kind=none diagnosis=not-used
  // stale_reads: read once, but each step still starts from the warp's own sum.
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    sum = own + __shfl_down_sync(lab::all_lanes, own, distance);
  }
  if (lane == 0) atomicAdd(result, sum);
}

__global__ void fence_for_launch_kernel(const float* input, float* block_sums, float* result, std::size_t n) {
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
  __threadfence();
  __syncthreads();
  if (blockIdx.x == 0) {
    // MUTANT fence_for_launch: state=wrong|hazard kind=race-global diagnosis=any
    // across_blocks: a fence makes what was written visible, and waits for no other block.
    const float total = shuffle_sum(threadIdx.x < gridDim.x ? block_sums[threadIdx.x] : 0);
    if (threadIdx.x == 0) *result = total;
  }
}
void fence_for_launch(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  float* block_sums = lab::scratch<float>(blocks);
  fence_for_launch_kernel<<<blocks, block>>>(input, block_sums, result, n);
}

__global__ void elements_kernel(const float* input, float* result, std::size_t n) {
  const float sum = shuffle_sum(own_element(input, n));
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

void one_block_more(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  // MUTANT one_block_more: state=off-technique kind=none diagnosis=none
  // lost_tail: right, but where n is a multiple of the block's size a block has nothing to do.
  const std::size_t blocks = n / block + 1;
  elements_kernel<<<blocks, block>>>(input, result, n);
}

void rounded_to_nearest(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  // MUTANT rounded_to_nearest: state=wrong kind=none diagnosis=not-read
  // lost_tail: rounded to the nearest number of blocks, which is up only for a tail of half a block or more.
  const std::size_t blocks = (n + block / 2) / block;
  if (blocks == 0) return;
  elements_kernel<<<blocks, block>>>(input, result, n);
}

__global__ void maximum_kernel(const int* input, int* result, std::size_t n, int start) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  int most = start;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
    most = max(most, input[i]);
  }
  atomicMax(result, most);
}
void start_of_minus_1(const int* input, int* result, std::size_t n, unsigned block) {
  // MUTANT start_of_minus_1: state=wrong kind=none diagnosis=foreign
  // wrong_identity: less than 0, and still more than most.
  const int start = -1;
  cudaMemcpy(result, &start, sizeof start, cudaMemcpyHostToDevice);
  maximum_kernel<<<lab::resident_blocks(block), block>>>(input, result, n, start);
}

// Rows as far apart as the lab's: 4 MiB.
constexpr int pitch = 4 << 20;

__global__ void product_of_ints_kernel(const char* matrix, float* result, int rows, int row_pitch) {
  float sum = 0;
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
    const std::size_t offset = static_cast<std::size_t>(row * row_pitch);
    // MUTANT product_of_ints: state=wrong kind=out-of-bounds|use-after-free diagnosis=any alone=--n=600
    // index_overflow: widened after the product, which has overflowed by then.
    sum += *reinterpret_cast<const float*>(matrix + offset);
  }
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

template <auto kernel>
void first_column(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  char* matrix = lab::scratch<char>(n * pitch);
  cudaMemcpy2D(matrix, pitch, input, sizeof(float), sizeof(float), n, cudaMemcpyDeviceToDevice);
  kernel<<<lab::ceil_div(n, block), block>>>(matrix, result, n, pitch);
}

int main(int argc, char** argv) {
  using lab::Counter, lab::Rung;
  const auto no_idle_block = lab::promised("08_hazards", "lost_tail", Counter::blocks);
  return lab::main(
      argc, argv,
      {Rung("barrier_before_the_step").on(in_one_wave<barrier_before_the_step>).block_sizes(64, 1024),
       Rung("barrier_within").on(in_one_wave<barrier_within>),
       Rung("barrier_of_warps").on(in_one_wave<barrier_of_warps>),
       Rung("barrier_in_both_branches").on(in_one_wave<barrier_in_both_branches>),
       Rung("rest_never_added").on(in_blocks<rest_never_added>),
       Rung("first_unwritten_zeroed").on(in_blocks<first_unwritten_zeroed>),
       Rung("syncwarp_after_all").on(in_one_wave<syncwarp_after_all>).block_sizes(64, 1024),
       Rung("fence_for_barrier").on(in_one_wave<fence_for_barrier>).block_sizes(64, 1024),
       Rung("active_mask").on(in_blocks<active_mask>),
       Rung("read_once_not_kept").on(in_one_wave<read_once_not_kept>),
       Rung("fence_for_launch").on(fence_for_launch),
       Rung("one_block_more").on(one_block_more).promise(no_idle_block),
       Rung("rounded_to_nearest").on(rounded_to_nearest),
       Rung("start_of_minus_1").on(start_of_minus_1).with(lab::Operator::max),
       Rung("product_of_ints")
           .on(first_column<product_of_ints_kernel>)
           .up_to(lab::promised("08_hazards", "index_overflow").max_n)});
}
