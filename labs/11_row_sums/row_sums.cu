// Lab 11: many sums at once.
//
// A matrix is stored row after row, and each row has its own sum. Now there are two sources of parallel work:
// the rows, and the elements of a row. How many threads a row should get depends on the matrix. One thread
// per row needs no cooperation at all, but neighbouring threads read addresses that are a whole row apart.
// One warp per row reads contiguous memory and needs only shuffles. One block per row costs a barrier, which
// pays off only for long rows.
#include "lab.hpp"

// The sum of a warp's 32 values, in lane 0: lab 04.
__device__ float warp_sum(float value) {
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    value += __shfl_down_sync(lab::all_lanes, value, distance);
  }
  return value;
}

// One thread per row.
__global__ void thread_per_row_kernel(const float* matrix, float* sums, std::size_t rows,
                                      std::size_t columns) {
  // BEGIN thread_per_row
  // TODO: Find this thread's row; threads beyond the last row do nothing. Add up the row's `columns`
  // elements, of which the first is matrix[row * columns], and store the sum. (5 lines)
  // END thread_per_row
}

void thread_per_row(const float* matrix, float* sums, std::size_t rows, std::size_t columns, unsigned block) {
  if (rows == 0) return;
  thread_per_row_kernel<<<lab::ceil_div(rows, block), block>>>(matrix, sums, rows, columns);
}

// One warp per row: in each step its lanes read 32 neighbouring elements, which are 128 bytes in four or
// five sectors of 32 bytes.
__global__ void warp_per_row_kernel(const float* matrix, float* sums, std::size_t rows, std::size_t columns) {
  // BEGIN warp_per_row
  // TODO: Find this thread's lane and its warp's row, counted over the whole grid; warps beyond the last row
  // do nothing. Let the lanes walk over the row side by side, in steps of 32. Add up the lanes with warp_sum,
  // and let lane 0 store the row's sum. (7 lines)
  // END warp_per_row
}

void warp_per_row(const float* matrix, float* sums, std::size_t rows, std::size_t columns, unsigned block) {
  if (rows == 0) return;
  warp_per_row_kernel<<<lab::ceil_div(rows, block / 32), block>>>(matrix, sums, rows, columns);
}

// One block per row: for rows so long, or so few, that one warp per row would leave the GPU idle.
__global__ void block_per_row_kernel(const float* matrix, float* sums, std::size_t columns) {
  // BEGIN block_per_row
  // TODO: The block's row is blockIdx.x. Let all threads walk over it, those of a warp side by side. Then add
  // up the block as in lab 04: store each warp's sum in shared memory, wait once, and let the first warp add
  // those up (lane k takes the sum of warp k, or 0 if the block has no warp k). Thread 0 stores the row's
  // sum. (11 lines)
  // END block_per_row
}

void block_per_row(const float* matrix, float* sums, std::size_t rows, std::size_t columns, unsigned block) {
  if (rows == 0) return;
  block_per_row_kernel<<<rows, block>>>(matrix, sums, columns);
}

int main(int argc, char** argv) {
  return lab::main(argc, argv,
                   {
                       {"thread_per_row", thread_per_row},
                       {"warp_per_row", warp_per_row},
                       {"block_per_row", block_per_row},
                   });
}
