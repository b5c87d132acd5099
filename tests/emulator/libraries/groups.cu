// Cooperative groups, on their own and in reductions and scans: each use is right, and nothing may be
// reported.
#include "algorithms.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

constexpr int threads = 128;

template <int Size>
__global__ void by_tiles(const int* in, int* out, int n) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<Size>(block);
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sum = cg::reduce(tile, sum, cg::plus<int>());
  if (tile.thread_rank() == 0) atomicAdd(out, sum);
}

__global__ void by_coalesced(const int* in, int* out, int n) { // one of those in the branch adds
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || in[i] % 2 == 0) return;
  const auto active = cg::coalesced_threads();
  const int sum = cg::reduce(active, in[i], cg::plus<int>());
  if (active.thread_rank() == 0) atomicAdd(out, sum);
}

__global__ void by_labels(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const auto same = cg::labeled_partition(cg::coalesced_threads(), in[i] % 3);
  if (same.thread_rank() == 0) atomicAdd(out + in[i] % 3, static_cast<int>(same.size()));
}

__global__ void in_a_tile_of_shared_memory(const int* in, int* out, int n) {
  __shared__ int words[threads];
  const auto block = cg::this_thread_block();
  const int first = blockIdx.x * threads, count = min(threads, n - first);
  if (count <= 0) return;
  cg::memcpy_async(block, words, in + first, sizeof(int) * count);
  cg::wait(block);
  const auto tile = cg::tiled_partition<32>(block);
  const int mine = threadIdx.x < count ? words[count - 1 - threadIdx.x] : 0;
  const int upto = cg::inclusive_scan(tile, mine, cg::plus<int>());
  block.sync();
  words[threadIdx.x] = upto;
  block.sync();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int warp = 0; warp < threads / 32; ++warp) sum += words[warp * 32 + 31];
    atomicAdd(out, sum);
  }
}

__global__ void of_the_grid(const int* in, int* out, int* partial, int n) {
  const auto grid = cg::this_grid();
  int sum = 0;
  for (auto i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
  partial[grid.thread_rank()] = sum;
  grid.sync();
  for (auto half = grid.size() / 2; half > 0; half /= 2) { // the grid's size is a power of two
    if (grid.thread_rank() < half) partial[grid.thread_rank()] += partial[grid.thread_rank() + half];
    grid.sync();
  }
  if (grid.thread_rank() == 0) *out = partial[0];
}

void try_all(std::mt19937_64& random, int n) {
  std::vector<int> in(n), total(1), odd(1), of_label(3);
  for (int& each : in) {
    each = static_cast<int>(random() % 1000);
    total[0] += each, odd[0] += each % 2 ? each : 0, ++of_label[each % 3];
  }
  Buffer<int> input(in);
  const int blocks = (n + threads - 1) / threads;
  const auto holds = [&](const char* what, const std::vector<int>& expected, auto run) {
    Buffer<int> output(expected.size());
    need(cudaMemset(output.data(), 0, expected.size() * sizeof(int)));
    run(output.data());
    need(cudaDeviceSynchronize());
    check(what, output, expected);
  };
  holds("tiles of 32", total, [&](int* out) { by_tiles<32><<<blocks, threads>>>(input.data(), out, n); });
  holds("tiles of 4", total, [&](int* out) { by_tiles<4><<<3, threads>>>(input.data(), out, n); });
  holds("coalesced", odd, [&](int* out) { by_coalesced<<<blocks, threads>>>(input.data(), out, n); });
  holds("labels", of_label, [&](int* out) { by_labels<<<blocks, threads>>>(input.data(), out, n); });
  holds("memcpy_async", total,
        [&](int* out) { in_a_tile_of_shared_memory<<<blocks, threads>>>(input.data(), out, n); });
  holds("grid", total, [&](int* out) {
    Buffer<int> partial(4 * threads);
    const int* from = input.data();
    int *to = partial.data(), size = n;
    void* arguments[] = {&from, &out, &to, &size};
    need(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(of_the_grid), 4, threads, arguments));
    need(cudaDeviceSynchronize());
  });
}

int main(int argc, char** argv) {
  return run_rounds("cooperative groups", argc, argv,
                    [](auto& random, int n) { try_all(random, 1 + n % 2000); });
}
