// Labs 01, 02 and 05: which thread takes which element.
#include "parts.cuh"

#include <cstdint>
#include <vector>

__global__ void sequential(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const float sum = tree_sum(own_element(input, n), partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

void lost_tail(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  // MUTANT lost_tail: state=wrong kind=none diagnosis=not-read
  // n / block blocks: the elements that do not fill a block are lost.
  const std::size_t blocks = n < block ? 1 : n / block;
  sequential<<<blocks, block, block * sizeof(float)>>>(input, result, n);
}

void no_blocks_at_all(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  // MUTANT no_blocks_at_all: state=wrong kind=none diagnosis=none
  // For n = 0 this is a grid of 0 blocks, which no launch accepts.
  sequential<<<lab::ceil_div(n, block), block, block * sizeof(float)>>>(input, result, n);
}

__global__ void first_add_overlaps(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  // MUTANT first_add_overlaps: state=wrong kind=none diagnosis=read-again
  // Each block takes two elements per thread, but starts only one block size after the block before it.
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  float sum = i < n ? input[i] : 0;
  if (i + blockDim.x < n) sum += input[i + blockDim.x];
  sum = tree_sum(sum, partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void second_element_lost(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  // MUTANT second_element_lost: state=wrong kind=none diagnosis=not-read
  // Half as many blocks, but each thread still takes one element.
  const std::size_t i = std::size_t{blockIdx.x} * 2 * blockDim.x + threadIdx.x;
  const float sum = tree_sum(i < n ? input[i] : 0, partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void first_add_tail_unguarded(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const std::size_t i = std::size_t{blockIdx.x} * 2 * blockDim.x + threadIdx.x;
  // MUTANT first_add_tail_unguarded: state=wrong kind=out-of-bounds|use-after-free diagnosis=any
  // The question is asked for the first element only; the second may lie beyond the end.
  float sum = i < n ? input[i] + input[i + blockDim.x] : 0;
  sum = tree_sum(sum, partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void one_past_the_end(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // MUTANT one_past_the_end: state=wrong kind=out-of-bounds diagnosis=any
  // <= where < is meant.
  float sum = i <= n ? input[i] : 0;
  sum = tree_sum(sum, partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void no_bound(const float* input, float* result, std::size_t) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // MUTANT no_bound: state=wrong kind=out-of-bounds diagnosis=any
  // Nobody asks whether there is an element for this thread.
  atomicAdd(result, input[i]);
}

__global__ void same_part(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  // MUTANT same_part: state=wrong kind=none diagnosis=not-read
  // The block's number is missing in the index.
  const std::size_t i = threadIdx.x;
  const float sum = tree_sum(i < n ? input[i] : 0, partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void grid_dim_for_block_dim(const float* input, float* result, std::size_t n) {
  // MUTANT grid_dim_for_block_dim: state=wrong kind=none diagnosis=not-read
  // gridDim in place of blockDim in the index: some elements are taken twice, others not at all.
  const std::size_t i = std::size_t{blockIdx.x} * gridDim.x + threadIdx.x;
  if (i < n) atomicAdd(result, input[i]);
}

__global__ void no_walk(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  // MUTANT no_walk: state=wrong kind=none diagnosis=not-read
  // The grid fits the machine, but each thread takes one element and does not walk on.
  const float sum = tree_sum(own_element(input, n), partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void stride_of_a_block(const float* input, float* result, std::size_t n) {
  float sum = 0;
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // MUTANT stride_of_a_block: state=wrong kind=none diagnosis=read-again
  // A stride of blockDim.x in a grid of many blocks: each block takes all that follows its first element.
  for (std::size_t i = first; i < n; i += blockDim.x) sum += input[i];
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void stride_of_two_grids(const float* input, float* result, std::size_t n) {
  float sum = 0;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  // MUTANT stride_of_two_grids: state=wrong kind=none diagnosis=not-read
  // Each thread takes one element and steps over two grids.
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += 2 * threads)
    sum += input[i];
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void endless_walk(const float* input, float* result, std::size_t n) {
  float sum = 0;
  const unsigned waves = gridDim.x / 100000;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;) {
    // MUTANT endless_walk: state=wrong kind=endless diagnosis=none
    // A whole-number division makes the stride 0: nobody gets to the end.
    sum += input[i];
    i += std::size_t{waves} * blockDim.x;
  }
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void last_element_lost(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // MUTANT last_element_lost: state=wrong kind=none diagnosis=not-read
  // The last element's index is n - 1, but < leaves it out.
  const float sum = tree_sum(i < n - 1 ? input[i] : 0, partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void wrap_of_nothing_kernel(const float* input, float* result, unsigned n) {
  float sum = 0;
  const unsigned last = n - 1;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i <= last; i += gridDim.x * blockDim.x) {
    // MUTANT wrap_of_nothing: state=wrong kind=out-of-bounds diagnosis=none alone=--n=0
    // With n = 0 the last index, n - 1, wraps round to the largest number that there is.
    sum += input[i];
  }
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}
void wrap_of_nothing(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  wrap_of_nothing_kernel<<<lab::resident_blocks(block), block>>>(input, result, n);
}

// 2^31 elements are too many for a check, so 16 bits stand in for 32: they overflow in the same way, sooner.
__global__ void count_overflow_kernel(const float* input, float* result, std::uint16_t n) {
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) atomicAdd(result, sum);
}
void count_overflow(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  // MUTANT count_overflow: state=wrong kind=none diagnosis=not-read
  // The kernel takes n in fewer bits than it has: what is left is n modulo 2^16.
  count_overflow_kernel<<<lab::resident_blocks(block), block>>>(input, result, static_cast<std::uint16_t>(n));
}

__global__ void index_overflow(const float* input, float* result, std::size_t n) {
  // The index that overflows is the one from which the thread walks on.
  const auto i = static_cast<std::int16_t>(blockIdx.x * blockDim.x + threadIdx.x);
  // MUTANT index_overflow: state=wrong kind=out-of-bounds diagnosis=none alone=--n=100003
  // A signed index with too few bits: beyond its largest number it is negative.
  if (i < static_cast<long long>(n)) atomicAdd(result, input[i]);
}

__global__ void grid_of_elements(const float* input, float* result, std::size_t n) {
  // MUTANT grid_of_elements: state=off-technique kind=none diagnosis=none
  // Right, but the grid grows with n where it should fit the machine.
  const float sum = shuffle_sum(own_element(input, n));
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

constexpr unsigned coarsening = 2;

__global__ void half_a_tile(const float* input, float* result, std::size_t n) {
  float sum = 0;
  const std::size_t tile = std::size_t{blockIdx.x} * 2 * coarsening * blockDim.x;
  // MUTANT half_a_tile: state=wrong kind=none diagnosis=not-read
  // Each thread takes `coarsening` elements of a tile that has twice as many for it.
  for (unsigned k = 0; k < coarsening; ++k) {
    const std::size_t i = tile + k * blockDim.x + threadIdx.x;
    if (i < n) sum += input[i];
  }
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void sum_unset(const float* input, float* result, std::size_t n) {
  float sum;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
    // MUTANT sum_unset: state=wrong kind=unset-register diagnosis=any
    // The sum begins with what the register held, since nothing was put into it; of no elements, that is all.
    sum += input[i];
  }
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void sums_of_threads(const float* input, float* sums, std::size_t n) {
  if (threadIdx.x >= n) return;
  float sum = 0;
  for (std::size_t i = threadIdx.x; i < n; i += blockDim.x) sum += input[i];
  sums[threadIdx.x] = sum;
}

void places_not_written(const float* input, float* result, std::size_t n, unsigned block) {
  float* sums = lab::scratch<float>(block);
  sums_of_threads<<<1, block>>>(input, sums, n);
  std::vector<float> on_cpu(block);
  // MUTANT places_not_written: state=wrong kind=unwritten-copy diagnosis=any
  // A thread without an element stores nothing, but the CPU adds up the places of all threads.
  cudaMemcpy(on_cpu.data(), sums, block * sizeof(float), cudaMemcpyDeviceToHost);
  float total = 0;
  for (const float sum : on_cpu) total += sum;
  cudaMemcpy(result, &total, sizeof total, cudaMemcpyHostToDevice);
}

int main(int argc, char** argv) {
  using lab::Rung;
  return lab::main(
      argc, argv,
      {Rung("lost_tail").on(lost_tail).promise(one_atomic_per_block()),
       Rung("no_blocks_at_all").on(no_blocks_at_all).promise(one_atomic_per_block()),
       Rung("first_add_overlaps").on(in_blocks<first_add_overlaps>).promise(one_atomic_per_block()),
       Rung("second_element_lost").on(in_blocks<second_element_lost, 2>).promise(one_atomic_per_block()),
       Rung("first_add_tail_unguarded")
           .on(in_blocks<first_add_tail_unguarded, 2>)
           .promise(one_atomic_per_block()),
       Rung("one_past_the_end").on(in_blocks<one_past_the_end>).promise(one_atomic_per_block()),
       Rung("no_bound").on(in_blocks<no_bound>),
       Rung("same_part").on(in_blocks<same_part>),
       Rung("grid_dim_for_block_dim").on(in_blocks<grid_dim_for_block_dim>),
       Rung("no_walk").on(in_one_wave<no_walk>).promise(grid_fits_device()),
       Rung("stride_of_a_block").on(in_one_wave<stride_of_a_block>).promise(grid_fits_device()),
       Rung("stride_of_two_grids").on(in_one_wave<stride_of_two_grids>).promise(grid_fits_device()),
       Rung("endless_walk").on(in_one_wave<endless_walk>).promise(grid_fits_device()),
       Rung("last_element_lost").on(in_blocks<last_element_lost>).promise(one_atomic_per_block()),
       Rung("wrap_of_nothing").on(wrap_of_nothing).promise(grid_fits_device()),
       Rung("count_overflow").on(count_overflow).promise(grid_fits_device()),
       Rung("index_overflow").on(in_blocks<index_overflow>),
       Rung("grid_of_elements").on(in_blocks<grid_of_elements>).promise(grid_fits_device()),
       Rung("sum_unset").on(in_one_wave<sum_unset>).promise(grid_fits_device()),
       Rung("places_not_written").on(places_not_written).on_the_host([](const lab::Size& s) {
         return double(s.block);
       }),
       Rung("half_a_tile").on(in_blocks<half_a_tile, 2 * coarsening>).promise(one_atomic_per_block())});
}
