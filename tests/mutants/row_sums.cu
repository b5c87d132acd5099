// Lab 11: rows and columns, who takes which row, and what a block leaves behind between two rows.
#include "parts.cuh"

using RowKernel = void (*)(const float*, float*, std::size_t, std::size_t);

// Host functions: a thread, a warp or a block for each row.
template <RowKernel kernel>
void by_threads(const float* matrix, float* sums, std::size_t rows, std::size_t columns, unsigned block) {
  if (rows == 0) return;
  kernel<<<lab::ceil_div(rows, block), block>>>(matrix, sums, rows, columns);
}
template <RowKernel kernel>
void by_warps(const float* matrix, float* sums, std::size_t rows, std::size_t columns, unsigned block) {
  if (rows == 0) return;
  kernel<<<lab::ceil_div(rows, block / 32), block>>>(matrix, sums, rows, columns);
}
template <RowKernel kernel>
void by_blocks(const float* matrix, float* sums, std::size_t rows, std::size_t columns, unsigned block) {
  if (rows == 0) return;
  kernel<<<rows, block>>>(matrix, sums, rows, columns);
}

// What a lane, or a thread of a block, finds in its row.
__device__ float walk_of_lane(const float* row, std::size_t columns) {
  float sum = 0;
  for (std::size_t column = threadIdx.x % 32; column < columns; column += 32) sum += row[column];
  return sum;
}
__device__ float walk_of_thread(const float* row, std::size_t columns) {
  float sum = 0;
  for (std::size_t column = threadIdx.x; column < columns; column += blockDim.x) sum += row[column];
  return sum;
}

__device__ std::size_t thread_of_grid() {
  return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

// -----------------------------------------------------------------------------------------------------------
// One thread per row.

__global__ void rows_for_columns(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  const std::size_t row = thread_of_grid();
  if (row >= rows) return;
  float sum = 0;
  // MUTANT rows_for_columns: state=wrong kind=out-of-bounds diagnosis=any alone=--rows=100
  // A row starts row * columns elements after the first, not row * rows.
  for (std::size_t column = 0; column < columns; ++column) sum += matrix[row * rows + column];
  sums[row] = sum;
}

__global__ void read_by_columns(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  const std::size_t row = thread_of_grid();
  if (row >= rows) return;
  float sum = 0;
  // MUTANT read_by_columns: state=wrong kind=none diagnosis=other-row
  // As if the matrix were stored column after column.
  for (std::size_t column = 0; column < columns; ++column) sum += matrix[column * rows + row];
  sums[row] = sum;
}

__global__ void no_row_bound(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  const std::size_t row = thread_of_grid();
  float sum = 0;
  // MUTANT no_row_bound: state=wrong kind=out-of-bounds diagnosis=any
  // Nobody asks whether there is a row for this thread.
  for (std::size_t column = 0; column < columns; ++column) sum += matrix[row * columns + column];
  sums[row] = sum;
}

__global__ void one_column_more(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  const std::size_t row = thread_of_grid();
  if (row >= rows) return;
  float sum = 0;
  // MUTANT one_column_more: state=wrong kind=out-of-bounds diagnosis=any
  // <= where < is meant: the next row's first element is added, too.
  for (std::size_t column = 0; column <= columns; ++column) sum += matrix[row * columns + column];
  sums[row] = sum;
}

__global__ void last_column_lost(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  const std::size_t row = thread_of_grid();
  if (row >= rows) return;
  float sum = 0;
  // MUTANT last_column_lost: state=wrong kind=none diagnosis=not-read
  // + 1 < where < is meant: the last element of each row is left out.
  for (std::size_t column = 0; column + 1 < columns; ++column) sum += matrix[row * columns + column];
  sums[row] = sum;
}

__global__ void right_by_threads(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  const std::size_t row = thread_of_grid();
  if (row >= rows) return;
  float sum = 0;
  for (std::size_t column = 0; column < columns; ++column) sum += matrix[row * columns + column];
  sums[row] = sum;
}
void last_rows_lost(const float* matrix, float* sums, std::size_t rows, std::size_t columns, unsigned block) {
  if (rows == 0) return;
  // MUTANT last_rows_lost: state=wrong kind=none diagnosis=never-written
  // rows / block blocks: the rows that do not fill a block are left out.
  const std::size_t blocks = rows < block ? 1 : rows / block;
  right_by_threads<<<blocks, block>>>(matrix, sums, rows, columns);
}

// -----------------------------------------------------------------------------------------------------------
// One warp per row.

__global__ void lanes_stride_of_block(const float* matrix, float* sums, std::size_t rows,
                                      std::size_t columns) {
  const std::size_t row = thread_of_grid() / 32;
  if (row >= rows) return;
  float sum = 0;
  // MUTANT lanes_stride_of_block: state=wrong kind=none diagnosis=not-read
  // The lanes walk at a stride of the block; a row has the 32 lanes of one warp.
  for (std::size_t column = threadIdx.x % 32; column < columns; column += blockDim.x) {
    sum += matrix[row * columns + column];
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}

__global__ void warp_of_block(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  const std::size_t row = threadIdx.x / 32;
  if (row >= rows) return;
  const float sum = warp_sum(walk_of_lane(matrix + row * columns, columns));
  // MUTANT warp_of_block: state=wrong kind=none diagnosis=never-written
  // The warp's number in its block is taken for its number in the grid: all blocks do the first rows.
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}

__global__ void lanes_without_column(const float* matrix, float* sums, std::size_t rows,
                                     std::size_t columns) {
  const std::size_t row = thread_of_grid() / 32;
  if (row >= rows) return;
  if (threadIdx.x % 32 >= columns) return;
  float sum = walk_of_lane(matrix + row * columns, columns);
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    // MUTANT lanes_without_column: state=wrong|hazard kind=warp-mask diagnosis=any alone=--rows=100
    // In a row of fewer than 32 columns some lanes have left; the mask names them all.
    sum += __shfl_down_sync(lab::all_lanes, sum, distance);
  }
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}

__global__ void every_lane_writes(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  const std::size_t row = thread_of_grid() / 32;
  if (row >= rows) return;
  const float sum = warp_sum(walk_of_lane(matrix + row * columns, columns));
  // MUTANT every_lane_writes: state=wrong|hazard kind=race-global diagnosis=any
  // All lanes write, and the sum is in lane 0 alone.
  sums[row] = sum;
}

__global__ void lane_without_shuffles(const float* matrix, float* sums, std::size_t rows,
                                      std::size_t columns) {
  const std::size_t row = thread_of_grid() / 32;
  if (row >= rows) return;
  // MUTANT lane_without_shuffles: state=wrong kind=none diagnosis=not-used
  // The lanes' sums are not added up: lane 0's own is taken for the row's.
  const float sum = walk_of_lane(matrix + row * columns, columns);
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}

__global__ void lanes_in_a_row(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  const std::size_t row = thread_of_grid() / 32, each = (columns + 31) / 32;
  if (row >= rows) return;
  float sum = 0;
  const std::size_t first = threadIdx.x % 32 * each;
  // MUTANT lanes_in_a_row: state=off-technique kind=none diagnosis=none
  // Right, but each lane reads a part of the row by itself: neighbouring lanes read far apart.
  for (std::size_t column = first; column < columns && column < first + each; ++column) {
    sum += matrix[row * columns + column];
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}

// -----------------------------------------------------------------------------------------------------------
// One block per row.

__global__ void no_barrier_in_row(const float* matrix, float* sums, std::size_t, std::size_t columns) {
  __shared__ float warp_sums[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float sum = warp_sum(walk_of_thread(matrix + blockIdx.x * columns, columns));
  if (lane == 0) warp_sums[warp] = sum;
  if (warp != 0) return;
  // MUTANT no_barrier_in_row: state=wrong|hazard kind=race-shared diagnosis=any
  // The first warp reads the others' sums without waiting for them.
  const float total = warp_sum(lane < blockDim.x / 32 ? warp_sums[lane] : 0);
  if (lane == 0) sums[blockIdx.x] = total;
}

__global__ void first_warp_of_row(const float* matrix, float* sums, std::size_t, std::size_t columns) {
  // MUTANT first_warp_of_row: state=wrong kind=none diagnosis=not-used
  // No second stage: the first warp's sum is taken for the row's.
  const float sum = warp_sum(walk_of_thread(matrix + blockIdx.x * columns, columns));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void right_by_block(const float* matrix, float* sums, std::size_t, std::size_t columns) {
  const float sum = shuffle_sum(walk_of_thread(matrix + blockIdx.x * columns, columns));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void row_added(const float* matrix, float* sums, std::size_t, std::size_t columns) {
  const float sum = warp_sum(walk_of_thread(matrix + blockIdx.x * columns, columns));
  // MUTANT row_added: state=wrong kind=none diagnosis=old-result
  // Each warp adds its sum to the row's, which nothing has set to 0.
  if (threadIdx.x % 32 == 0) atomicAdd(&sums[blockIdx.x], sum);
}

// MUTANT one_block_for_all: state=wrong kind=none diagnosis=never-written
// The launch is of one block, and a block does the one row of its number.
void one_block_for_all(const float* matrix, float* sums, std::size_t rows, std::size_t columns,
                       unsigned block) {
  if (rows == 0) return;
  right_by_block<<<1, block>>>(matrix, sums, rows, columns);
}

// Blocks that walk over the rows, for grids smaller than the matrix is long.
template <RowKernel kernel>
void by_few_blocks(const float* matrix, float* sums, std::size_t rows, std::size_t columns, unsigned block) {
  kernel<<<4, block>>>(matrix, sums, rows, columns);
}

__global__ void sum_not_reset(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  float sum = 0;
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    for (std::size_t column = threadIdx.x; column < columns; column += blockDim.x) {
      // MUTANT sum_not_reset: state=wrong kind=none diagnosis=other-row
      // Declared outside the loop over the rows, so each row's sum goes on from the one before.
      sum += matrix[row * columns + column];
    }
    const float total = shuffle_sum(sum);
    if (threadIdx.x == 0) sums[row] = total;
    __syncthreads();
  }
}

__global__ void warp_sums_reused(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  __shared__ float warp_sums[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float sum = warp_sum(walk_of_thread(matrix + row * columns, columns));
    // MUTANT warp_sums_reused: state=wrong|hazard kind=race-shared diagnosis=any
    // One barrier per row: the next row's sums may come while the first warp still reads this row's.
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
      const float total = warp_sum(lane < blockDim.x / 32 ? warp_sums[lane] : 0);
      if (lane == 0) sums[row] = total;
    }
  }
}

int main(int argc, char** argv) {
  using lab::Rung;
  const auto contiguous = lab::promised("11_row_sums", "warp_per_row", lab::Counter::global_load_sectors);
  return lab::main(
      argc, argv,
      {Rung("rows_for_columns").on(by_threads<rows_for_columns>),
       Rung("read_by_columns").on(by_threads<read_by_columns>),
       Rung("no_row_bound").on(by_threads<no_row_bound>),
       Rung("one_column_more").on(by_threads<one_column_more>),
       Rung("last_column_lost").on(by_threads<last_column_lost>), Rung("last_rows_lost").on(last_rows_lost),
       Rung("lanes_stride_of_block").on(by_warps<lanes_stride_of_block>),
       Rung("warp_of_block").on(by_warps<warp_of_block>),
       Rung("lanes_without_column").on(by_warps<lanes_without_column>),
       Rung("every_lane_writes").on(by_warps<every_lane_writes>),
       Rung("lane_without_shuffles").on(by_warps<lane_without_shuffles>),
       Rung("lanes_in_a_row").on(by_warps<lanes_in_a_row>).promise(contiguous),
       Rung("no_barrier_in_row").on(by_blocks<no_barrier_in_row>),
       Rung("first_warp_of_row").on(by_blocks<first_warp_of_row>), Rung("row_added").on(by_blocks<row_added>),
       Rung("one_block_for_all").on(one_block_for_all),
       Rung("sum_not_reset").on(by_few_blocks<sum_not_reset>),
       Rung("warp_sums_reused").on(by_few_blocks<warp_sums_reused>)});
}
