// Labs 01, 02 and 05: how the blocks' sums come together, and what the host has to do for it.
#include "parts.cuh"

#include <cstdint>

__global__ void sequential(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const float sum = tree_sum(own_element(input, n), partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void block_sums(const float* input, float* sums, std::size_t n) {
  extern __shared__ float partial[];
  const float sum = tree_sum(walk(input, n), partial);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// MUTANT not_zeroed: state=wrong kind=none diagnosis=old-result
// Nothing sets the result to 0 before the blocks add to it.
void not_zeroed(const float* input, float* result, std::size_t n, unsigned block) {
  sequential<<<n == 0 ? 1 : lab::ceil_div(n, block), block, block * sizeof(float)>>>(input, result, n);
}

// MUTANT zeroed_too_late: state=wrong kind=none diagnosis=overwritten
// The result is set to 0 after the launch.
void zeroed_too_late(const float* input, float* result, std::size_t n, unsigned block) {
  sequential<<<n == 0 ? 1 : lab::ceil_div(n, block), block, block * sizeof(float)>>>(input, result, n);
  cudaMemset(result, 0, sizeof(float));
}

// MUTANT never_launched: state=wrong kind=none diagnosis=never-written
// Everything is got ready, and no kernel is launched.
void never_launched(const float* input, float* result, std::size_t n, unsigned block) {
  const auto kernel = sequential;
  static_cast<void>(kernel), static_cast<void>(input), static_cast<void>(result);
  static_cast<void>(n), static_cast<void>(block);
}

__global__ void only_block_0(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const float sum = tree_sum(own_element(input, n), partial);
  // MUTANT only_block_0: state=wrong kind=none diagnosis=never-read
  // The thread with the number 0 in the whole grid, where thread 0 of each block is meant.
  if (blockIdx.x * blockDim.x + threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void result_stored(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const float sum = tree_sum(own_element(input, n), partial);
  // MUTANT result_stored: state=wrong kind=race-global diagnosis=any
  // Stored, not added: every block overwrites the others' sums.
  if (threadIdx.x == 0) *result = sum;
}

__global__ void plain_addition(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const float sum = tree_sum(own_element(input, n), partial);
  // MUTANT plain_addition: state=wrong|hazard kind=race-global diagnosis=any
  // Added, but not by an atomic: blocks read the same old sum.
  if (threadIdx.x == 0) *result += sum;
}

__global__ void naive_plain(const float* input, float* result, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // MUTANT naive_plain: state=wrong|hazard kind=race-global diagnosis=any
  // Every thread adds to the one result, and no addition is atomic.
  if (i < n) *result += input[i];
}

__global__ void gaps_between_values(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  float values[8];
  const unsigned first = threadIdx.x % 2;
  values[first] = own_element(input, n);
  values[2 + first] = 0;
  float sum = 0;
  // MUTANT gaps_between_values: state=wrong|hazard kind=uninitialised diagnosis=any
  // A thread adds up all places of its array, of which it has filled two.
  for (unsigned i = 0; i < 8 * gridDim.z; ++i) sum += values[i];
  sum = tree_sum(sum, partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void atomic_at_block(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const float sum = tree_sum(own_element(input, n), partial);
  // MUTANT atomic_at_block: state=wrong kind=out-of-bounds diagnosis=any
  // Each block adds at an address of its own; there is one result.
  if (threadIdx.x == 0) atomicAdd(result + blockIdx.x, sum);
}

__global__ void identity_of_products(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // MUTANT identity_of_products: state=wrong kind=none diagnosis=foreign
  // Threads beyond the end bring 1 along, as for a product.
  const float sum = tree_sum(i < n ? input[i] : 1, partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

// Sums kept in 16 bits stand in for sums of 32 bits, which the checks' inputs do not overflow.
__global__ void sum_overflow_kernel(const int* input, int* result, std::size_t n) {
  // MUTANT sum_overflow: state=wrong kind=none diagnosis=lost-bits
  // The sum has fewer bits than it needs.
  std::int16_t sum = 0;
  for (std::size_t i = threadIdx.x; i < n; i += blockDim.x) sum = static_cast<std::int16_t>(sum + input[i]);
  atomicAdd(result, sum);
}
void sum_overflow(const int* input, int* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(int));
  sum_overflow_kernel<<<1, block>>>(input, result, n);
}

__global__ void input_as_workspace(const float* input, float* result, std::size_t n) {
  float* data = const_cast<float*>(input);
  const std::size_t i = std::size_t{blockIdx.x} * 2 * blockDim.x + threadIdx.x;
  // MUTANT input_as_workspace: state=wrong kind=input-written diagnosis=none
  // The first addition is left in the input, which is not this rung's to change.
  if (i + blockDim.x < n) data[i] += data[i + blockDim.x];
  const float sum = shuffle_sum(i < n ? data[i] : 0);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

// Block sums are combined in the launch that makes them.
__global__ void sums_of_other_blocks_kernel(const float* input, float* result, std::size_t n, float* sums) {
  extern __shared__ float partial[];
  const float sum = tree_sum(walk(input, n), partial);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  __syncthreads();
  if (blockIdx.x != gridDim.x - 1) return;
  float total = 0;
  // MUTANT sums_of_other_blocks: state=wrong|hazard kind=race-global diagnosis=any
  // The last block reads what other blocks write; __syncthreads() waits for its own block only.
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) total += sums[i];
  total = tree_sum(total, partial);
  if (threadIdx.x == 0) *result = total;
}
void sums_of_other_blocks(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  float* sums = lab::scratch<float>(blocks);
  cudaMemset(sums, 0, blocks * sizeof(float));
  sums_of_other_blocks_kernel<<<blocks, block, block * sizeof(float)>>>(input, result, n, sums);
}

// Neighbouring places in global memory, across the blocks' borders, in place.
__global__ void neighbours_in_place_kernel(float* data, std::size_t n, std::size_t stride) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; stride > 0; stride /= 2) {
    // MUTANT neighbours_in_place: state=wrong|hazard kind=race-global diagnosis=any
    // A tree over the whole array in one launch: a barrier waits for a block, not for the grid.
    if (i < stride && i + stride < n) data[i] += data[i + stride];
    __syncthreads();
  }
}
void neighbours_in_place(float* data, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  std::size_t stride = 1;
  while (stride < n) stride *= 2;
  neighbours_in_place_kernel<<<lab::ceil_div(n, block), block>>>(data, n, stride / 2);
  cudaMemcpy(result, data, sizeof(float), cudaMemcpyDeviceToDevice);
}

// The second launch of `grid_stride_two_kernels`: how many sums are there?
__global__ void add_sums(const float* sums, float* result, std::size_t n) {
  extern __shared__ float partial[];
  float sum = 0;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    // MUTANT sums_nobody_wrote: state=wrong kind=uninitialised diagnosis=any
    // The second launch reads a sum per thread, but there is a sum per block.
    sum += sums[i];
  }
  sum = tree_sum(sum, partial);
  if (threadIdx.x == 0) *result = sum;
}
void sums_nobody_wrote(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = 16, shared_bytes = block * sizeof(float);
  float* sums = lab::scratch<float>(1024);
  block_sums<<<blocks, block, shared_bytes>>>(input, sums, n);
  add_sums<<<1, block, shared_bytes>>>(sums, result, block);
}

void sums_all_but_one(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block), shared_bytes = block * sizeof(float);
  float* sums = lab::scratch<float>(blocks);
  block_sums<<<blocks, block, shared_bytes>>>(input, sums, n);
  // MUTANT sums_all_but_one: state=wrong kind=none diagnosis=never-read
  // The last block's sum is left out of the second launch.
  block_sums<<<1, block, shared_bytes>>>(sums, result, blocks - 1);
}

__global__ void freed_sums_kernel(const float* sums, float* result, std::size_t n) {
  extern __shared__ float partial[];
  float sum = 0;
  // MUTANT sums_freed: state=wrong kind=use-after-free diagnosis=none
  // The block sums are freed before the launch that adds them.
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) sum += sums[i];
  sum = tree_sum(sum, partial);
  if (threadIdx.x == 0) *result = sum;
}
void sums_freed(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = 16, shared_bytes = block * sizeof(float);
  float* sums = nullptr;
  cudaMalloc(&sums, blocks * sizeof(float));
  block_sums<<<blocks, block, shared_bytes>>>(input, sums, n);
  cudaFree(sums);
  freed_sums_kernel<<<1, block, shared_bytes>>>(sums, result, blocks);
}

__global__ void host_pointer_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const float sum = tree_sum(walk(input, n), partial);
  // MUTANT host_pointer: state=wrong kind=out-of-bounds diagnosis=none
  // The kernel is given the address of a variable of the host.
  if (threadIdx.x == 0) atomicAdd(result, sum);
}
void host_pointer(const float* input, float* result, std::size_t n, unsigned block) {
  float total = 0;
  host_pointer_kernel<<<lab::resident_blocks(block), block, block * sizeof(float)>>>(input, &total, n);
  cudaMemcpy(result, &total, sizeof total, cudaMemcpyHostToDevice);
}

void too_many_threads(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  // MUTANT too_many_threads: state=wrong kind=none diagnosis=none
  // Eight times the threads asked for: more than a block can have.
  sequential<<<lab::ceil_div(n, 8 * block), 8 * block, 8 * block * sizeof(float)>>>(input, result, n);
}

void too_much_shared_memory(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  // MUTANT too_much_shared_memory: state=wrong kind=none diagnosis=none
  // Shared memory as if every thread kept the whole input.
  sequential<<<lab::ceil_div(n, block), block, n * block * sizeof(float)>>>(input, result, n);
}

// MUTANT cpu_adds_up: state=off-technique kind=none diagnosis=none
// Right, but the host adds up the block sums that a second launch should.
void cpu_adds_up(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = 64;
  float* sums = lab::scratch<float>(blocks);
  block_sums<<<blocks, block, block * sizeof(float)>>>(input, sums, n);
  float on_host[blocks], total = 0;
  cudaMemcpy(on_host, sums, sizeof on_host, cudaMemcpyDeviceToHost);
  for (const float sum : on_host) total += sum;
  cudaMemcpy(result, &total, sizeof total, cudaMemcpyHostToDevice);
}

// The sum of the rung is right here, and would be nowhere else.
void host_reads_input(const float* input, float* result, std::size_t n, unsigned) {
  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    // MUTANT host_reads_input: state=wrong kind=host-access diagnosis=any
    // The host goes over the array itself, through a pointer to device memory.
    sum += input[i];
  }
  cudaMemcpy(result, &sum, sizeof sum, cudaMemcpyHostToDevice);
}

int main(int argc, char** argv) {
  using lab::Rung;
  return lab::main(
      argc, argv,
      {Rung("not_zeroed").on(not_zeroed).promise(one_atomic_per_block()),
       Rung("zeroed_too_late").on(zeroed_too_late).promise(one_atomic_per_block()),
       Rung("never_launched").on(never_launched).promise(one_atomic_per_block()),
       Rung("only_block_0").on(in_blocks<only_block_0>).promise(one_atomic_per_block()),
       Rung("result_stored").on(in_blocks<result_stored>).promise(one_atomic_per_block()),
       Rung("plain_addition").on(in_blocks<plain_addition>).promise(one_atomic_per_block()),
       Rung("naive_plain").on(in_blocks<naive_plain>),
       Rung("gaps_between_values").on(in_blocks<gaps_between_values>).promise(one_atomic_per_block()),
       Rung("atomic_at_block").on(in_blocks<atomic_at_block>).promise(one_atomic_per_block()),
       Rung("identity_of_products").on(in_blocks<identity_of_products>).promise(one_atomic_per_block()),
       Rung("sum_overflow").on(sum_overflow),
       Rung("input_as_workspace").on(in_blocks<input_as_workspace, 2>).promise(one_atomic_per_block()),
       Rung("sums_of_other_blocks").on(sums_of_other_blocks),
       Rung("neighbours_in_place").on(neighbours_in_place),
       Rung("sums_nobody_wrote").on(sums_nobody_wrote),
       Rung("sums_all_but_one").on(sums_all_but_one),
       Rung("sums_freed").on(sums_freed),
       Rung("host_pointer").on(host_pointer),
       Rung("too_many_threads").on(too_many_threads),
       Rung("too_much_shared_memory").on(too_much_shared_memory),
       Rung("host_reads_input").on(host_reads_input),
       Rung("cpu_adds_up")
           .on(cpu_adds_up)
           .promise(lab::promised("05_grid_stride", "grid_stride_two_kernels", lab::Counter::launches))});
}
