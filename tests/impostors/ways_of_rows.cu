// The same for the rows of a matrix.
#include "impostors.hpp"

#include <vector>

namespace lab {
namespace {

enum class Way {
  thread,
  warp,
  block,
  thread_of_each_warp,
  thread_of_each_block,
  warp_of_each_block,
  piece_of_warp,
  piece_of_block
};

__device__ float warp_sum(float value) {
  for (unsigned distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(all_lanes, value, distance);
  return value;
}

// The part of a row that worker `w` of so many takes: by strides, or a contiguous piece.
__device__ float share(const float* row, std::size_t columns, unsigned w, unsigned workers, bool piece) {
  const std::size_t length = (columns + workers - 1) / workers;
  float sum = 0;
  if (piece) {
    for (std::size_t i = w * length; i < (w + 1) * length && i < columns; ++i) sum += row[i];
  } else {
    for (std::size_t i = w; i < columns; i += workers) sum += row[i];
  }
  return sum;
}

__device__ float block_sum(float value) {
  __shared__ float warp_sums[32];
  value = warp_sum(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = value;
  __syncthreads();
  return threadIdx.x < 32 ? warp_sum(threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0) : 0;
}

template <Way way>
__global__ void sum_rows(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  const unsigned t = threadIdx.x, lane = t % 32;
  if constexpr (way == Way::thread || way == Way::warp || way == Way::block) {
    if (blockIdx.x != 0) return;
    for (std::size_t row = 0; row < rows; ++row) {
      const float* from = matrix + row * columns;
      if constexpr (way == Way::thread) {
        if (t == 0) sums[row] = share(from, columns, 0, 1, false);
      } else if constexpr (way == Way::warp) {
        if (t >= 32) continue;
        const float sum = warp_sum(share(from, columns, lane, 32, false));
        if (t == 0) sums[row] = sum;
      } else {
        const float sum = block_sum(share(from, columns, t, blockDim.x, false));
        if (t == 0) sums[row] = sum;
      }
    }
  } else if constexpr (way == Way::thread_of_each_warp || way == Way::piece_of_warp) {
    const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + t) / 32;
    if (row >= rows) return;
    const bool alone = way == Way::thread_of_each_warp;
    float sum = alone && lane != 0
                    ? 0
                    : share(matrix + row * columns, columns, alone ? 0 : lane, alone ? 1 : 32, !alone);
    sum = warp_sum(sum);
    if (lane == 0) sums[row] = sum;
  } else {
    const float* row = matrix + blockIdx.x * columns;
    float sum = 0;
    if (way == Way::thread_of_each_block && t == 0) sum = share(row, columns, 0, 1, false);
    if (way == Way::warp_of_each_block && t < 32) sum = share(row, columns, t, 32, false);
    if (way == Way::piece_of_block) sum = share(row, columns, t, blockDim.x, true);
    sum = block_sum(sum);
    if (t == 0) sums[blockIdx.x] = sum;
  }
}

template <Way way>
void with_a_thread_per_row(const float* matrix, float* sums, std::size_t rows, std::size_t columns,
                           unsigned block) {
  if (rows) sum_rows<way><<<ceil_div(rows, block), block>>>(matrix, sums, rows, columns);
}
template <Way way>
void with_a_warp_per_row(const float* matrix, float* sums, std::size_t rows, std::size_t columns,
                         unsigned block) {
  if (rows) sum_rows<way><<<ceil_div(rows, block / 32), block>>>(matrix, sums, rows, columns);
}
template <Way way>
void with_a_block_per_row(const float* matrix, float* sums, std::size_t rows, std::size_t columns,
                          unsigned block) {
  if (rows) sum_rows<way><<<rows, block>>>(matrix, sums, rows, columns);
}

void host_does_all(const float* matrix, float* sums, std::size_t rows, std::size_t columns, unsigned) {
  std::vector<float> copied(rows * columns), result(rows);
  cudaMemcpy(copied.data(), matrix, copied.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (std::size_t i = 0; i < copied.size(); ++i) result[i / columns] += copied[i];
  cudaMemcpy(sums, result.data(), rows * sizeof(float), cudaMemcpyHostToDevice);
}

template <Way way>
void note(const std::string& name) {
  impostors().push_back({"", name + ", a thread per row", Variant(with_a_thread_per_row<way>)});
  impostors().push_back({"", name + ", a warp per row", Variant(with_a_warp_per_row<way>)});
  impostors().push_back({"", name + ", a block per row", Variant(with_a_block_per_row<way>)});
}

const bool noted = [] {
  note<Way::thread>("thread 0 does all rows");
  note<Way::warp>("warp 0 does all rows");
  note<Way::block>("block 0 does all rows");
  impostors().push_back(
      {"", "lane 0 of each warp does its row", Variant(with_a_warp_per_row<Way::thread_of_each_warp>)});
  impostors().push_back(
      {"", "a contiguous piece of the row per lane", Variant(with_a_warp_per_row<Way::piece_of_warp>)});
  impostors().push_back(
      {"", "thread 0 of each block does its row", Variant(with_a_block_per_row<Way::thread_of_each_block>)});
  impostors().push_back(
      {"", "warp 0 of each block does its row", Variant(with_a_block_per_row<Way::warp_of_each_block>)});
  impostors().push_back(
      {"", "a contiguous piece of the row per thread", Variant(with_a_block_per_row<Way::piece_of_block>)});
  impostors().push_back({"", "the host does all rows", Variant(host_does_all)});
  return true;
}();

} // namespace
} // namespace lab
