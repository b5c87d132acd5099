// Cooperative groups: a block, its tiles, and a grid whose blocks wait for each other.
#include "show.hpp"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void sum_and_share(const int* in, int n, int* block_sums, int* out) {
  __shared__ int total;
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  if (block.thread_rank() == 0) total = 0;
  block.sync();
  int mine = 0;
  for (unsigned i = grid.thread_rank(); i < n; i += grid.size()) mine += in[i];
  mine = cg::reduce(tile, mine, cg::plus<int>());
  if (tile.thread_rank() == 0) atomicAdd(&total, mine);
  block.sync();
  if (block.thread_rank() == 0) block_sums[blockIdx.x] = total;
  grid.sync();
  // Every block now sees what every other one wrote.
  if (block.thread_rank() == 0) {
    int all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += block_sums[b];
    out[blockIdx.x] = all;
  }
  grid.sync();
  if (grid.thread_rank() == 0) printf("valid %d, %llu threads\n", grid.is_valid(), grid.size());
}

int main() {
  int n = 5000, expected = 0, wrong = 0, *in, *block_sums, *out;
  constexpr int blocks = 24;
  cudaMallocManaged(&in, n * sizeof(int));
  cudaMallocManaged(&block_sums, blocks * sizeof(int));
  cudaMallocManaged(&out, blocks * sizeof(int));
  for (int i = 0; i < n; ++i) expected += in[i] = i % 13 - 5;
  for (int round = 0; round < 2; ++round) {
    void* arguments[] = {&in, &n, &block_sums, &out};
    cudaMemset(out, 0xff, blocks * sizeof(int));
    SHOW(cudaLaunchCooperativeKernel(sum_and_share, dim3(blocks), dim3(128), arguments, 0, 0));
    SHOW(cudaDeviceSynchronize());
    for (int b = 0; b < blocks; ++b) wrong += out[b] != expected;
  }
  SHOW_VALUE(wrong);
}
