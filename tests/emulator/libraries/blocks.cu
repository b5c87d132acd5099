// CUB's block and warp primitives on partly filled tiles, where they move unset values about: each use is
// right, and nothing may be reported.
#include "algorithms.cuh"

#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

constexpr int threads = 128, items = 4, tile = threads * items;

template <class T, cub::BlockReduceAlgorithm Algorithm>
__global__ void reduce(const T* in, T* out, int n) { // one element per thread; the last threads have none
  using Reduce = cub::BlockReduce<T, threads, Algorithm>;
  __shared__ typename Reduce::TempStorage storage;
  T value;
  if (threadIdx.x < n) value = in[threadIdx.x];
  const T sum = Reduce(storage).Reduce(value, Plus(), n);
  if (threadIdx.x == 0) *out = sum;
}

template <class T>
__global__ void reduce_warp(const T* in, T* out, int n) {
  using Reduce = cub::WarpReduce<T>;
  __shared__ typename Reduce::TempStorage storage;
  T value;
  if (threadIdx.x < n) value = in[threadIdx.x];
  const T sum = Reduce(storage).Reduce(value, Plus(), n);
  if (threadIdx.x == 0) *out = sum;
}

// Loads, scans and stores the valid part of the tile; the rest of each thread's array stays unchanged.
template <class T, cub::BlockLoadAlgorithm Load, cub::BlockStoreAlgorithm Store, cub::BlockScanAlgorithm Scan>
__global__ void scan(const T* in, T* out, int n) {
  using Loader = cub::BlockLoad<T, threads, items, Load>;
  using Storer = cub::BlockStore<T, threads, items, Store>;
  using Scanner = cub::BlockScan<T, threads, Scan>;
  __shared__ union {
    typename Loader::TempStorage load;
    typename Storer::TempStorage store;
    typename Scanner::TempStorage scan;
  } storage;
  T values[items];
  Loader(storage.load).Load(in, values, n, in[0]);
  __syncthreads();
  Scanner(storage.scan).InclusiveScan(values, values, Plus());
  __syncthreads();
  Storer(storage.store).Store(out, values, n);
}

template <class T>
__global__ void reverse(const T* in, T* out, int n) { // through two arrangements of the elements
  using Exchange = cub::BlockExchange<T, threads, items>;
  __shared__ typename Exchange::TempStorage storage;
  T values[items];
  for (int i = 0; i < items; ++i)
    if (const int at = i * threads + threadIdx.x; at < n) values[i] = in[at];
  Exchange(storage).StripedToBlocked(values, values);
  __syncthreads();
  for (int i = 0; i < items; ++i)
    if (const int at = threadIdx.x * items + i; at < n) out[n - 1 - at] = values[i];
}

template <class T>
__global__ void sort(T* keys, int n) {
  using Sort = cub::BlockMergeSort<T, threads, items>;
  __shared__ typename Sort::TempStorage storage;
  T mine[items];
  cub::LoadDirectBlocked(threadIdx.x, keys, mine, n, T(~0ull));
  Sort(storage).Sort(mine, [](T a, T b) { return a < b; });
  cub::StoreDirectBlocked(threadIdx.x, keys, mine, n);
}

template <class T>
__global__ void sort_by_digits(T* keys, int n) {
  using Sort = cub::BlockRadixSort<T, threads, items>;
  __shared__ typename Sort::TempStorage storage;
  T mine[items];
  cub::LoadDirectBlocked(threadIdx.x, keys, mine, n, T(~0ull));
  Sort(storage).Sort(mine);
  cub::StoreDirectBlocked(threadIdx.x, keys, mine, n);
}

template <class T>
__global__ void heads(const T* in, int* out, int n) {
  using Heads = cub::BlockDiscontinuity<T, threads>;
  __shared__ typename Heads::TempStorage storage;
  T values[items];
  int flags[items];
  cub::LoadDirectBlocked(threadIdx.x, in, values, n);
  Heads(storage).FlagHeads(flags, values, [](const T& a, const T& b) { return a != b; });
  cub::StoreDirectBlocked(threadIdx.x, out, flags, n);
}

template <class T>
void try_all(std::mt19937_64& random, int n) {
  const auto in = random_elements<T>(random, n, 200);
  std::vector<T> sums(n), turned(in.rbegin(), in.rend()), sorted = in;
  std::vector<int> is_head(n);
  T sum = element<T>(0);
  for (int i = 0; i < n; ++i) sum = Plus()(sum, in[i]), sums[i] = sum, is_head[i] = !i || in[i] != in[i - 1];
  Buffer<T> input(in);
  const auto holds = [&](const char* what, const auto& expected, auto run) {
    Buffer<std::decay_t<decltype(expected[0])>> output(expected.size());
    run(output.data());
    need(cudaDeviceSynchronize());
    check(what, output, expected);
  };
  const int some = std::min(n, threads), few = std::min(n, 32);
  const std::vector<T> of_some{sums[some - 1]}, of_few{sums[few - 1]};
  holds("raking reduction", of_some,
        [&](T* out) { reduce<T, cub::BLOCK_REDUCE_RAKING><<<1, threads>>>(input.data(), out, some); });
  holds("reduction by warps", of_some, [&](T* out) {
    reduce<T, cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, threads>>>(input.data(), out, some);
  });
  holds("reduction of a warp", of_few, [&](T* out) { reduce_warp<<<1, 32>>>(input.data(), out, few); });
  holds("scan", sums, [&](T* out) {
    scan<T, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT, cub::BLOCK_SCAN_RAKING>
        <<<1, threads>>>(input.data(), out, n);
  });
  holds("scan, transposed", sums, [&](T* out) {
    scan<T, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE, cub::BLOCK_SCAN_WARP_SCANS>
        <<<1, threads>>>(input.data(), out, n);
  });
  holds("reverse", turned, [&](T* out) { reverse<<<1, threads>>>(input.data(), out, n); });
  holds("heads", is_head, [&](int* out) { heads<<<1, threads>>>(input.data(), out, n); });
  if constexpr (sizeof(T) <= 8) {
    std::sort(sorted.begin(), sorted.end());
    const auto from_input = [&](T* keys) {
      need(cudaMemcpy(keys, input.data(), n * sizeof(T), cudaMemcpyDeviceToDevice));
    };
    holds("merge sort", sorted, [&](T* keys) { from_input(keys), sort<<<1, threads>>>(keys, n); });
    holds("radix sort", sorted, [&](T* keys) { from_input(keys), sort_by_digits<<<1, threads>>>(keys, n); });
  }
}

int main(int argc, char** argv) {
  return run_rounds("primitives of a block", argc, argv, [](auto& random, int n) {
    n = 1 + n % tile;
    try_all<std::uint8_t>(random, n);
    try_all<std::uint32_t>(random, n);
    try_all<std::uint64_t>(random, n);
    try_all<Bytes12>(random, n);
    try_all<Bytes16>(random, n);
  });
}
