// Lab 05: a grid that fits the GPU.
//
// So far the grid grew with n: at 2^29 elements there are a million blocks that each load a little, wait a
// lot and end. Here the number of threads does not depend on n. Each thread walks over the array with
// a stride of the whole grid and adds up its elements in a register; only then do the threads of a block
// combine their sums. Neighbouring threads read neighbouring elements at each step, and the tree, which used
// to be all of the work, now happens only once, after the walk.
#include "lab.hpp"

// -----------------------------------------------------------------------------------------------------------
// One block, and the CPU finishes. It would take long for more than 2^31 elements, so n stays below that
// here.

__global__ void thread_sums_kernel(const float* input, float* thread_sums, std::size_t n) {
  // BEGIN thread_sums
  // TODO: Let thread t add up elements t, t + blockDim.x, t + 2 * blockDim.x, ... below n in a register,
  // and store the sum in thread_sums[t]. (5 lines)
  // END thread_sums
}

void thread_sums(const float* input, float* result, std::size_t n, unsigned block) {
  float* sums = lab::scratch<float>(block);
  thread_sums_kernel<<<1, block>>>(input, sums, n);
  // The copy waits for the kernel.
  float on_cpu[1024];
  cudaMemcpy(on_cpu, sums, block * sizeof(float), cudaMemcpyDeviceToHost);
  float total = 0;
  // BEGIN thread_sums
  // TODO: Add up the `block` sums in on_cpu. (1 line)
  // END thread_sums
  cudaMemcpy(result, &total, sizeof total, cudaMemcpyHostToDevice);
}

// -----------------------------------------------------------------------------------------------------------
// 256 blocks; in each, one thread adds up what the others have left in shared memory while the others are
// idle.

// The sum of the elements that this thread visits when it walks over the array with a stride of the whole
// grid.
__device__ float walk(const float* input, std::size_t n) {
  float sum = 0;
  // BEGIN one_thread_folds
  // TODO: Add up elements i, i + s, i + 2 * s, ... below n in `sum`, where i is this thread's number in the
  // whole grid and s is the number of threads in the whole grid (gridDim.x * blockDim.x; other rungs use
  // this walk with other grids). There may be more than 2^32 elements: count them in 64 bits. (4 lines)
  // END one_thread_folds
  return sum;
}

__global__ void one_thread_folds_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  partial[threadIdx.x] = walk(input, n);
  __syncthreads();
  // BEGIN one_thread_folds
  // TODO: In every block, let thread 0 alone add up the block's partial sums and add their total to *result
  // with one atomic. (5 lines)
  // END one_thread_folds
}

constexpr unsigned folding_blocks = 256;

void one_thread_folds(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  one_thread_folds_kernel<<<folding_blocks, block, block * sizeof(float)>>>(input, result, n);
}

// -----------------------------------------------------------------------------------------------------------
// As many blocks as the GPU holds at the same time, and a tree in each.

// The block's sum of its threads' values: the tree of lab 02, `sequential`. `partial` has one element per
// thread.
__device__ float tree_sum(float value, float* partial) {
  const unsigned t = threadIdx.x;
  partial[t] = value;
  __syncthreads();
  // BEGIN grid_stride_tree
  // TODO: Add up partial[] with a tree of halving strides, as in lab 02. (4 lines)
  // END grid_stride_tree
  return partial[0];
}

__global__ void grid_stride_tree_kernel(const float* input, float* result, std::size_t n) {
  extern __shared__ float partial[];
  const float sum = tree_sum(walk(input, n), partial);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

// Blocks of `block` threads that the GPU holds at the same time: more would only queue up.
unsigned fitting_blocks(unsigned block) {
  unsigned blocks = 1;
  // BEGIN grid_stride_tree
  // TODO: Make `blocks` the number of blocks that the device can hold at once: lab::resident_blocks(block)
  // returns it. (1 line)
  // END grid_stride_tree
  return blocks;
}

void grid_stride_tree(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  grid_stride_tree_kernel<<<fitting_blocks(block), block, block * sizeof(float)>>>(input, result, n);
}

// The same without atomics: each block leaves its sum in memory, and a second launch with one block adds
// those up. Every addition has a fixed place, so the same input gives the same bits on every run.
__global__ void block_sums_kernel(const float* input, float* block_sums, std::size_t n) {
  extern __shared__ float partial[];
  const float sum = tree_sum(walk(input, n), partial);
  // BEGIN grid_stride_two_kernels
  // TODO: Let thread 0 store the block's sum in block_sums, one element per block. (1 line)
  // END grid_stride_two_kernels
}

void grid_stride_two_kernels(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = fitting_blocks(block), shared_bytes = block * sizeof(float);
  float* block_sums = lab::scratch<float>(blocks);
  block_sums_kernel<<<blocks, block, shared_bytes>>>(input, block_sums, n);
  // BEGIN grid_stride_two_kernels
  // TODO: Launch the same kernel once more, with one block and as much shared memory. Its input is block_sums
  // (there are `blocks` of them) and its output is result. (1 line)
  // END grid_stride_two_kernels
}

// -----------------------------------------------------------------------------------------------------------
// Shuffles instead of the tree, as in lab 04.

// The block's sum of its threads' values, in thread 0.
__device__ float shuffle_sum(float value) {
  __shared__ float warp_sums[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    value += __shfl_down_sync(lab::all_lanes, value, distance);
  }
  if (lane == 0) warp_sums[warp] = value;
  __syncthreads();
  if (warp != 0) return 0;
  value = lane < blockDim.x / 32 ? warp_sums[lane] : 0;
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    value += __shfl_down_sync(lab::all_lanes, value, distance);
  }
  return value;
}

__global__ void grid_stride_shuffle_kernel(const float* input, float* result, std::size_t n) {
  // BEGIN grid_stride_shuffle
  // TODO: Let each thread walk over the array, add up the sums of the block's threads with shuffle_sum, and
  // let thread 0 of each block add the block's sum to *result with one atomic. (2 lines)
  // END grid_stride_shuffle
}

void grid_stride_shuffle(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  grid_stride_shuffle_kernel<<<fitting_blocks(block), block>>>(input, result, n);
}

// -----------------------------------------------------------------------------------------------------------
// Another way to give a thread more work: a block takes a tile of neighbouring elements, 2 * coarsening per
// thread, and the grid grows with n again, but more slowly. Within the tile, a thread steps by
// the block size, so a warp's loads stay contiguous; several of them are in flight at the same time.

template <unsigned coarsening>
__global__ void coarsened_kernel(const float* input, float* result, std::size_t n) {
  float sum = 0;
  // BEGIN coarsened
  // TODO: Find the first element of this block's tile of 2 * coarsening * blockDim.x elements. Add up this
  // thread's 2 * coarsening elements of the tile in `sum`: the one with its number in the tile, and then
  // every blockDim.x-th after that to the end of the tile, as long as the index is below n. (5 lines)
  // END coarsened
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

template <unsigned coarsening>
void coarsened(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  if (n == 0) return;
  const std::size_t blocks = lab::ceil_div(n, 2 * std::size_t{coarsening} * block);
  coarsened_kernel<coarsening><<<blocks, block>>>(input, result, n);
}

constexpr unsigned usual_coarsening = 2; // try 4 and 8 once it works

int main(int argc, char** argv) {
  return lab::main(argc, argv,
                   {
                       {"thread_sums", thread_sums},
                       {"one_thread_folds", one_thread_folds},
                       {"grid_stride_tree", grid_stride_tree},
                       {"grid_stride_two_kernels", grid_stride_two_kernels},
                       {"grid_stride_shuffle", grid_stride_shuffle},
                       lab::Implementation(
                           "coarsened", coarsened<usual_coarsening>,
                           lab::Variant(coarsened<2 * usual_coarsening>).called("with twice the coarsening"))
                           .elements_per_thread(2 * usual_coarsening),
                   });
}
