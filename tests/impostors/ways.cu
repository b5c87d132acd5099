// Right sums computed in wrong ways: the threads that do the work are not those that should. Each way is
// combined with the grids of the course and with both of its endings, so that only the way itself gives it
// away.
#include "impostors.hpp"

#include <fmt/format.h>
#include <vector>

namespace lab {
namespace {

// The grids of the course: a thread per element, a thread per two elements, as many as fit the device, one
// block, 256 blocks.
enum class Grid { per_element, per_two, resident, one_block, of_256 };
constexpr const char* grid_names[] = {"a thread per element", "a thread per two", "a resident grid",
                                      "one block", "256 blocks"};

unsigned blocks_of(Grid grid, std::size_t n, unsigned block) {
  const std::size_t blocks = grid == Grid::per_element ? ceil_div(n, block)
                             : grid == Grid::per_two   ? ceil_div(n, 2 * std::size_t{block})
                             : grid == Grid::resident  ? resident_blocks(block)
                             : grid == Grid::one_block ? 1
                                                       : 256;
  return blocks > 0 ? unsigned(blocks) : 1;
}

enum class Way {
  thread_0_of_all,
  warp_0_of_all,
  block_0_of_all,
  thread_0_of_each_block,
  warp_0_of_each_block,
  piece_per_thread,    // contiguous: lanes read far apart
  thread_0_folds,      // loads by all, then thread 0 alone
  thread_0_folds_late, // the same, with as many barriers as a tree
  warp_0_folds,        // loads by all, then one warp alone
};
constexpr const char* way_names[] = {"thread 0 does all",
                                     "warp 0 does all",
                                     "block 0 does all",
                                     "thread 0 of each block does its part",
                                     "warp 0 of each block does its part",
                                     "a contiguous piece per thread",
                                     "thread 0 adds up the block",
                                     "thread 0 adds up the block, among barriers",
                                     "warp 0 adds up the block"};

template <class T>
__device__ T sum_of(const T* input, std::size_t first, std::size_t end, std::size_t step) {
  T sum = 0;
  for (std::size_t i = first; i < end; i += step) sum += input[i];
  return sum;
}

template <class T>
__device__ T tree(T* partial) {
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
  }
  __syncthreads();
  return partial[0];
}

// The sum of the block, in thread 0.
template <class T, Way way>
__device__ T sum_of_block(const T* input, std::size_t n) {
  __shared__ T partial[1024];
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x, t = threadIdx.x;
  const std::size_t part = (n + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * part;
  const std::size_t end = begin + part < n ? begin + part : n;
  T sum = 0;
  if constexpr (way == Way::thread_0_of_all) {
    return blockIdx.x == 0 && t == 0 ? sum_of(input, 0, n, 1) : T(0);
  } else if constexpr (way == Way::thread_0_of_each_block) {
    return t == 0 ? sum_of(input, begin, end, 1) : T(0);
  } else if constexpr (way == Way::warp_0_of_all || way == Way::warp_0_of_each_block) {
    const bool all = way == Way::warp_0_of_all;
    if (t < 32 && (blockIdx.x == 0 || !all)) sum = sum_of(input, all ? t : begin + t, all ? n : end, 32);
    for (unsigned distance = 16; distance > 0; distance /= 2)
      sum += __shfl_down_sync(all_lanes, sum, distance);
    return sum;
  } else if constexpr (way == Way::block_0_of_all) {
    partial[t] = blockIdx.x == 0 ? sum_of(input, t, n, blockDim.x) : T(0);
    return tree(partial);
  } else if constexpr (way == Way::piece_per_thread) {
    const std::size_t piece = (n + threads - 1) / threads;
    const std::size_t first = (std::size_t{blockIdx.x} * blockDim.x + t) * piece;
    partial[t] = first < n ? sum_of(input, first, first + piece < n ? first + piece : n, 1) : T(0);
    return tree(partial);
  } else {
    partial[t] = sum_of(input, std::size_t{blockIdx.x} * blockDim.x + t, n, threads);
    __syncthreads();
    if constexpr (way == Way::thread_0_folds_late) {
      for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) __syncthreads();
    }
    if constexpr (way == Way::warp_0_folds) {
      if (t < 32) {
        for (unsigned i = t; i < blockDim.x; i += 32) sum += partial[i];
        __syncwarp();
        partial[t] = sum;
        __syncwarp();
      }
      if (t == 0) sum = sum_of(partial, 0, 32, 1);
      return sum;
    }
    if (t == 0) sum = sum_of(partial, 0, blockDim.x, 1);
    return sum;
  }
}

template <class T, Way way>
__global__ void add(const T* input, T* result, std::size_t n) {
  const T sum = sum_of_block<T, way>(input, n);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}
template <class T, Way way>
__global__ void store(const T* input, T* results, std::size_t n) {
  const T sum = sum_of_block<T, way>(input, n);
  if (threadIdx.x == 0) results[blockIdx.x] = sum;
}

template <class T, Way way, Grid grid>
void ends_with_atomics(const T* input, T* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(T));
  add<T, way><<<blocks_of(grid, n, block), block>>>(input, result, n);
}
template <class T, Way way, Grid grid>
void ends_with_a_launch(const T* input, T* result, std::size_t n, unsigned block) {
  const unsigned blocks = blocks_of(grid, n, block);
  T* sums = scratch<T>(blocks);
  store<T, way><<<blocks, block>>>(input, sums, n);
  store<T, way><<<1, block>>>(sums, result, blocks);
}

template <class T>
void host_does_all(const T* input, T* result, std::size_t n, unsigned) {
  std::vector<T> copied(n);
  cudaMemcpy(copied.data(), input, n * sizeof(T), cudaMemcpyDeviceToHost);
  T sum = 0;
  for (const T each : copied) sum += each;
  cudaMemcpy(result, &sum, sizeof sum, cudaMemcpyHostToDevice);
}

// As in thread_sums of lab 05, and as many others could: the CPU adds up the blocks' sums.
template <class T, Grid grid>
void host_finishes(const T* input, T* result, std::size_t n, unsigned block) {
  const unsigned blocks = blocks_of(grid, n, block);
  T* sums = scratch<T>(blocks);
  store<T, Way::thread_0_folds><<<blocks, block>>>(input, sums, n);
  std::vector<T> copied(blocks);
  cudaMemcpy(copied.data(), sums, blocks * sizeof(T), cudaMemcpyDeviceToHost);
  T sum = 0;
  for (const T each : copied) sum += each;
  cudaMemcpy(result, &sum, sizeof sum, cudaMemcpyHostToDevice);
}

template <class T, Way way, Grid grid>
void note_grid() {
  const std::string name = fmt::format("{}, {}", way_names[int(way)], grid_names[int(grid)]);
  impostors().push_back({"", name + ", atomics", Variant(ends_with_atomics<T, way, grid>)});
  impostors().push_back({"", name + ", a second launch", Variant(ends_with_a_launch<T, way, grid>)});
}
template <class T, Way way>
void note_way() {
  note_grid<T, way, Grid::per_element>();
  note_grid<T, way, Grid::per_two>();
  note_grid<T, way, Grid::resident>();
  note_grid<T, way, Grid::one_block>();
  note_grid<T, way, Grid::of_256>();
}
template <class T>
void note_type() {
  note_way<T, Way::thread_0_of_all>();
  note_way<T, Way::warp_0_of_all>();
  note_way<T, Way::block_0_of_all>();
  note_way<T, Way::thread_0_of_each_block>();
  note_way<T, Way::warp_0_of_each_block>();
  note_way<T, Way::piece_per_thread>();
  note_way<T, Way::thread_0_folds>();
  note_way<T, Way::thread_0_folds_late>();
  note_way<T, Way::warp_0_folds>();
  impostors().push_back({"", "the host does all", Variant(host_does_all<T>)});
  impostors().push_back(
      {"", "the host adds up the sums of a resident grid", Variant(host_finishes<T, Grid::resident>)});
  impostors().push_back(
      {"", "the host adds up the sums of a thread per two", Variant(host_finishes<T, Grid::per_two>)});
}

const bool noted = (note_type<float>(), note_type<int>(), true);

} // namespace
} // namespace lab
